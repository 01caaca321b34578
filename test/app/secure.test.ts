import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { announcePassword, finishPasswords, passwordFiles } from "../../src/app/password-files.ts";
import { secure, shownAddress } from "../../src/app/secure.ts";
import { loadConfig } from "../../src/config/load.ts";
import { requirePath } from "../../src/config/paths.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { newPassword, withCredentials } from "../../src/store/server/scram.ts";
import { openTestServerDatabase, testAppPassword } from "../support/engines.ts";
import { temporaryDirectory } from "../support/temporary.ts";

const server = process.env.MEMORY_INDUSTRY_TEST_PG ?? "";

test("the address to run with holds the password while that is new, and never again; the admin's never", () => {
  expect(shownAddress("postgres://admin:root@h:5433/d?sslmode=require", "s3/cret", true)).toBe(
    "postgres://cuba_app:s3%2Fcret@h:5433/d?sslmode=require",
  );
  expect(shownAddress("postgres://admin:root@h:5433/d?sslmode=require", "s3/cret", false)).toBe(
    "postgres://cuba_app:PASSWORD@h:5433/d?sslmode=require",
  );
});

/** A home whose password of the app role is the one that all tests share, so that securing keeps it. */
async function home(): Promise<{
  run(url: string): ReturnType<typeof secure>;
  files: ReturnType<typeof passwordFiles>;
  directory: string;
}> {
  const config = (url: string) =>
    loadConfig({
      environment: { HOME: place, DATABASE_URL: url },
      machine: { platform: process.platform, workingDirectory: place },
    });
  const place = temporaryDirectory("secure");
  const directory = requirePath(config("").paths, "configDir");
  const files = passwordFiles(directory);
  await Bun.write(files.app, `${testAppPassword}\n`);
  const paths = () => {
    throw new Error("a server has no files of a daemon");
  };
  const run = (url: string) => secure({ config: config(url), log: silentLogger, paths }, { rotate: false }, new AbortController().signal);
  return { run, files, directory };
}

/** A superuser of one test, who may be given another password. */
async function withSuperuser(work: (login: { name: string; address(password: string): string }, password: string) => Promise<void>) {
  const db = await openTestServerDatabase(server);
  const name = `rotating ${newPassword().slice(0, 8)}`;
  const password = newPassword();
  try {
    await db.asOwner((connection) => connection.script(`create role "${name}" superuser login password '${password}'`));
    await work({ name, address: (given) => withCredentials(db.url, name, given) }, password);
  } finally {
    await db.asOwner((connection) => connection.script(`drop owned by "${name}"; drop role "${name}"`));
    await db[Symbol.asyncDispose]();
  }
}

test.skipIf(server === "")(
  "a rotation killed after the server had taken the password is finished by the next run, which says what to log in with",
  () =>
    withSuperuser(async ({ name, address }, password) => {
      const { run, files, directory } = await home();
      announcePassword(files.admin, password, address(password));
      const refusal: Error = await run(address("the old one")).then(
        () => new Error("it ran"),
        (error: Error) => error,
      );
      expect(refusal).toMatchObject({ code: "refused" });
      expect(refusal.message).toContain(`the login ${name} a new password, which lies in ${files.admin} now`);
      expect(refusal.message).toContain(`Set DATABASE_URL to ${address("PASSWORD")} with that`);
      expect(refusal.message).not.toContain(password);
      expect(readFileSync(files.admin, "utf8")).toBe(`${password}\n`);
      if (process.platform !== "win32") expect(statSync(files.admin).mode & 0o777).toBe(0o600);
      expect(readdirSync(directory).sort()).toEqual(["pgpass", "pgpass_app"]);
    }),
  60_000,
);

test.skipIf(server === "")(
  "of one killed before the server was told nothing is left by the next run",
  () =>
    withSuperuser(async ({ address }, password) => {
      const { run, directory, files } = await home();
      const never = newPassword();
      announcePassword(files.admin, never, address(never));
      announcePassword(files.app, never, withCredentials(address(never), "cuba_app", never));
      expect(await run(address(password))).toMatchObject({ kind: "server", admin: undefined });
      expect(readdirSync(directory)).toEqual(["pgpass_app"]);
      expect(readFileSync(files.app, "utf8")).toBe(`${testAppPassword}\n`);
    }),
  60_000,
);

test.skipIf(server === "")(
  "a start keeps the app role's new password where the server has it, and takes none away that a running secure may be about to set",
  () =>
    withSuperuser(async ({ name, address }, password) => {
      const { files } = await home();
      const start = () => finishPasswords([files.app], { nodeName: "test", mayWithdraw: false });
      const notYet = newPassword();
      announcePassword(files.app, notYet, address(notYet));
      expect(await start()).toEqual([]);
      expect(existsSync(`${files.app}.new`)).toBe(true);
      announcePassword(files.app, password, address(password));
      expect(await start()).toEqual([{ login: name, file: files.app, password }]);
      expect(existsSync(`${files.app}.new`)).toBe(false);
      expect(await start()).toEqual([]);
    }),
  60_000,
);

test("a server that does not answer tells nothing: what was begun stays", async () => {
  const { files, directory } = await home();
  announcePassword(files.admin, "new", `postgres://root:new@127.0.0.1/d?host=${join(directory, "no-socket")}&connect_timeout=2`);
  expect(await finishPasswords(Object.values(files), { nodeName: "test", mayWithdraw: true })).toEqual([]);
  expect(readFileSync(`${files.admin}.new`, "utf8")).toStartWith("new\n");
});
