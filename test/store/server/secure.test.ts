/** The unprivileged login, on a real server. Roles belong to the whole server: the password that tests share is kept. */
import { expect, test } from "bun:test";
import { grants } from "../../../src/store/migrations.ts";
import { openPostgres } from "../../../src/store/postgres.ts";
import { hasPassword, newPassword, withCredentials, withPassword } from "../../../src/store/server/scram.ts";
import { secureServer } from "../../../src/store/server/secure.ts";
import { openTestServerDatabase, testAppPassword } from "../../support/engines.ts";

const admin = process.env.MEMORY_INDUSTRY_TEST_PG ?? "";

test.skipIf(admin === "")(
  "the login gets its rights, keeps a password that it has, may be made again, and cannot touch what is revoked",
  async () => {
    const db = await openTestServerDatabase(admin);
    const options = { password: testAppPassword, rotate: false, adminPassword: undefined, grants };
    try {
      await db.asOwner((connection) => secureServer(connection, { ...options, rotate: true }));
      const again = await db.asOwner((connection) => secureServer(connection, { ...options, password: "another one" }));
      expect(again).toEqual({ created: false, passwordSet: false, granted: true, adminLogin: undefined });
      const app = openPostgres({ url: withCredentials(db.url, "cuba_app", testAppPassword), nodeName: "test" });
      try {
        expect(await app.ping()).toEqual({ role: "cuba_app", bypassesRowSecurity: false });
        await expect(app.asOwner((connection) => connection.query("delete from brain_audit_log"))).rejects.toThrow();
        await expect(app.asOwner((connection) => secureServer(connection, options))).rejects.toThrow("no superuser");
      } finally {
        await app[Symbol.asyncDispose]();
      }
    } finally {
      await db[Symbol.asyncDispose]();
    }
  },
  60_000,
);

test.skipIf(admin === "")(
  "where a part of it fails no password has changed: whoever called it keeps the files it had",
  async () => {
    const db = await openTestServerDatabase(admin);
    const options = { password: testAppPassword, rotate: true, adminPassword: undefined, grants };
    try {
      await db.asOwner((connection) => secureServer(connection, options));
      const failing = { ...options, password: newPassword(), grants: "select 1 / 0" };
      await expect(db.asOwner((connection) => secureServer(connection, failing))).rejects.toThrow();
      const app = openPostgres({ url: withCredentials(db.url, "cuba_app", testAppPassword), nodeName: "test" });
      try {
        expect(await app.ping()).toMatchObject({ role: "cuba_app" });
      } finally {
        await app[Symbol.asyncDispose]();
      }
    } finally {
      // Roles belong to the whole server: whatever became of this one, the other tests find it as it was.
      await db.asOwner((connection) => secureServer(connection, options));
      await db[Symbol.asyncDispose]();
    }
  },
  60_000,
);

test.skipIf(admin === "")(
  "the login that rotates gets its new password, and with the old one nobody comes in",
  async () => {
    const db = await openTestServerDatabase(admin);
    // A superuser of this test's own: the one that all tests share keeps its password.
    const name = `rotating ${newPassword().slice(0, 8)}`;
    const [old, fresh] = [newPassword(), newPassword()];
    const quoted = `"${name}"`;
    try {
      await db.asOwner((connection) => connection.script(`create role ${quoted} superuser login password '${old}'`));
      const using = async <T>(password: string, work: (db: ReturnType<typeof openPostgres>) => Promise<T>): Promise<T> => {
        const own = openPostgres({ url: withCredentials(db.url, name, password), nodeName: "test" });
        try {
          return await work(own);
        } finally {
          await own[Symbol.asyncDispose]();
        }
      };
      const options = { password: testAppPassword, rotate: true, adminPassword: fresh, grants };
      const done = await using(old, (own) => own.asOwner((connection) => secureServer(connection, options)));
      expect(done).toMatchObject({ adminLogin: name });
      expect(await using(fresh, (own) => own.asOwner((connection) => connection.query("select 1 as one")))).toMatchObject({
        rows: [{ one: 1 }],
      });
      await expect(using(old, (own) => own.asOwner((connection) => connection.query("select 1 as one")))).rejects.toThrow();
    } finally {
      await db.asOwner((connection) => connection.script(`drop owned by ${quoted}; drop role ${quoted}`));
      await db[Symbol.asyncDispose]();
    }
  },
  60_000,
);

test("an address holds a password, or it does not", () => {
  for (const url of ["postgres://a:b@h/d", "postgresql://a:p@ss@h1,h2:5433/d", "postgres://a@h/d?password=x"])
    expect(hasPassword(url)).toBe(true);
  for (const url of [
    "postgres://a@h/d",
    "postgres://h:5432/d",
    "postgres://a:@h/d",
    "postgres:///d?host=/run",
    "postgres://a@h/d?password=",
  ])
    expect(hasPassword(url)).toBe(false);
});

test("another password goes where the address has one, and nothing else of it changes", () => {
  expect(withPassword("postgres://a:b@h1,h2:5433/d?sslmode=require", "c/d")).toBe("postgres://a:c%2Fd@h1,h2:5433/d?sslmode=require");
  expect(withPassword("postgresql://a%20b:p@ss@h/d", "x")).toBe("postgresql://a%20b:x@h/d");
  expect(withPassword("postgres://a@h/d?password=old&sslmode=require", "$1&")).toBe("postgres://a@h/d?password=%241%26&sslmode=require");
});
