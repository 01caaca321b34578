import { expect, test } from "bun:test";
import { runCli } from "../../../src/cli/run.ts";
import { fakeHost } from "../fake-host.ts";

const server = {
  kind: "server",
  role: "cuba_app",
  created: true,
  passwordSet: true,
  granted: true,
  file: "/c/pgpass_app",
  url: "postgres://cuba_app:x@h/d",
  admin: undefined,
} as const;

test("secure tells what it did and what the product runs with", async () => {
  const host = fakeHost({ secured: server });
  expect(await runCli(["secure"], host)).toBe(0);
  expect(host.life).toEqual(["secured"]);
  expect(host.out()).toContain("DATABASE_URL=postgres://cuba_app:x@h/d\n  CUBA_SKIP_MIGRATIONS=1");
  await runCli(["secure", "--rotate"], host);
  expect(host.life).toEqual(["secured", "rotated"]);
});

test("a password that is not new is named by its file", async () => {
  const host = fakeHost({ secured: { ...server, created: false, passwordSet: false, url: "postgres://cuba_app:PASSWORD@h/d" } });
  expect(await runCli(["secure"], host)).toBe(0);
  expect(host.out()).toContain("Its password was kept; it lies in /c/pgpass_app. What the product runs with, with that for PASSWORD:");
  expect(host.out()).toContain("DATABASE_URL=postgres://cuba_app:PASSWORD@h/d\n  CUBA_SKIP_MIGRATIONS=1");
});

test("a password that is not known here is kept and no address is made up; tables that are missing are no success", async () => {
  const unknown = fakeHost({ secured: { ...server, created: false, passwordSet: false, url: undefined } });
  expect(await runCli(["secure"], unknown)).toBe(0);
  expect(unknown.out()).not.toContain("DATABASE_URL");
  expect(unknown.out()).toContain("secure --rotate sets a new one");
  expect(await runCli(["secure"], fakeHost({ secured: { ...server, granted: false } }))).toBe(1);
});

test("any other argument is refused before anything is done; the embedded database has nothing to secure", async () => {
  const host = fakeHost();
  for (const words of [
    ["secure", "now"],
    ["secure", "--force"],
  ])
    expect(await runCli(words, host)).toBe(2);
  expect(host.life).toEqual([]);
  expect(await runCli(["secure"], host)).toBe(0);
  expect(host.out()).toContain("nothing to secure");
});

test("--rotate says that the admin's password is new and where it lies, never what it is; a login without one is left alone", async () => {
  const admin = { login: "root", file: "/c/pgpass", url: "postgres://root:PASSWORD@h/d" };
  const host = fakeHost({ secured: { ...server, admin } });
  expect(await runCli(["secure", "--rotate"], host)).toBe(0);
  expect(host.out()).toContain("The login root has a new password too; it lies in /c/pgpass");
  expect(host.out()).toContain("DATABASE_URL=postgres://root:PASSWORD@h/d");
  const trusted = fakeHost({ secured: server });
  await runCli(["secure", "--rotate"], trusted);
  expect(trusted.out()).toContain("comes in without a password; it was left as it is");
});
