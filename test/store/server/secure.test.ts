/** The unprivileged login, on a real server. Roles belong to the whole server: the password that tests share is kept. */
import { expect, test } from "bun:test";
import { grants } from "../../../src/store/migrations.ts";
import { openPostgres } from "../../../src/store/postgres.ts";
import { withCredentials } from "../../../src/store/server/scram.ts";
import { secureServer } from "../../../src/store/server/secure.ts";
import { openTestServerDatabase, testAppPassword } from "../../support/engines.ts";

const admin = process.env.MEMORY_INDUSTRY_TEST_PG ?? "";

test.skipIf(admin === "")(
  "the login gets its rights, keeps a password that it has, may be made again, and cannot touch what is revoked",
  async () => {
    const db = await openTestServerDatabase(admin);
    const options = { password: testAppPassword, rotate: false, grants };
    try {
      await db.asOwner((connection) => secureServer(connection, { ...options, rotate: true }));
      const again = await db.asOwner((connection) => secureServer(connection, { ...options, password: "another one" }));
      expect(again).toEqual({ created: false, passwordSet: false, granted: true });
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
