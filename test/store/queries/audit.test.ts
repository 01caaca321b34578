import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { createAuditVerifier } from "../../../src/domain/audit-chain.ts";
import { isDuplicate } from "../../../src/store/failures.ts";
import { AUDIT_LINEAR, type AuditEntry, appendAudit, auditCount, auditPage, auditTail } from "../../../src/store/queries/audit.ts";
import { eachEngine, testScope } from "../../support/engines.ts";
import { rows, stateOf } from "../../support/statements.ts";

const at = new Date(Date.UTC(2026, 7, 3));

eachEngine("the audit chain in the database", (engine) => {
  beforeEach(() => engine.db.reset());
  const append = (given: Partial<AuditEntry> = {}) =>
    engine.db.write(testScope(), (tx) => appendAudit(tx, { action: "test", payload: { a: 1 }, at, key: undefined, ...given }));
  const verify = async (key?: string) => {
    const verifier = createAuditVerifier(key);
    for (let afterId = 0; ; ) {
      const page = await engine.db.read(testScope(), (tx) => tx.all(auditPage({ afterId, limit: 2 })));
      verifier.take(page);
      const last = page.at(-1);
      if (last === undefined) return verifier.state;
      afterId = last.id;
    }
  };

  test("stores the hash of the specification", async () => {
    expect(await append()).toEqual({ id: 1, hash: "fbdcb37026cacc5df1f28251d3eba3aa1653d2950e0a7c530b2a8fa92709540d" });
    await engine.db.reset();
    expect((await append({ key: "k3y" })).hash).toBe("aca9cd75adc8e6606a0a3406c18a5748a86f48cd6969f3da3ddeb88e371eed80");
  });

  test("verifies what it stored: keys out of order, fractions, every script, deep values", async () => {
    await append({ payload: { z: 1, a: { ключ: [1.5, -0, 1e-7, null, true], 名前: "é😀\u2028" } } });
    await append({ payload: {} });
    await append({ key: "later" });
    expect(await verify("later")).toMatchObject({ checked: 3, unprotected: 2, firstBreak: undefined });
    expect(await engine.db.read(testScope(), (tx) => tx.first(auditCount()))).toEqual({ rows: 3 });
    const [newest] = await engine.db.read(testScope(), (tx) => tx.all(auditTail({ limit: 1, offset: 0 })));
    expect(newest).toMatchObject({ id: 3, hash_alg: "hmac-sha256", created_at: "2026-08-03T00:00:00.000000+00:00", payload: { a: 1 } });
  });

  test.each([{ n: Number.NaN }, { n: 2 ** 53 }, { t: "a\0b" }, { t: "\ud800" }])(
    "refuses %j, which would not come back as it went in",
    async (payload) => {
      await expect(append({ payload })).rejects.toThrow("payload must be JSON");
      expect(await engine.db.read(testScope(), (tx) => tx.first(auditCount()))).toEqual({ rows: 0 });
    },
  );

  test("is never changed by cuba_app, nor by a superuser without the override", async () => {
    await append();
    for (const statement of [
      sql`update brain_audit_log set action = 'x'`,
      sql`delete from brain_audit_log`,
      sql`truncate brain_audit_log`,
    ]) {
      expect(await stateOf(rows(engine.db, statement))).toBe("42501");
    }
    for (const statement of ["update brain_audit_log set action = 'x'", "delete from brain_audit_log", "truncate brain_audit_log"]) {
      expect(await stateOf(engine.db.asOwner((owner) => owner.query(statement)))).toBe("42501");
    }
  });

  test("lets a lawful rectification through, really stores it, and shows it as a break", async () => {
    await append();
    await append();
    const stored = await engine.db.asOwner(async (owner) => {
      await owner.script("begin; set local app.audit_override = 'on'; update brain_audit_log set action = 'erased' where id = 1; commit");
      return (await owner.query("select action from brain_audit_log where id = 1")).rows;
    });
    expect(stored).toEqual([{ action: "erased" }]);
    expect((await verify()).firstBreak).toEqual({ id: 1, reason: "tampered_or_wrong_key" });
  });

  test("cannot fork", async () => {
    await append();
    const fork = sql`
      insert into brain_audit_log (prev_hash, action, hash_alg, current_hash)
      values (null, 'fork', 'sha256', sha256('x'))`;
    const failure = await rows(engine.db, fork).catch((error: unknown) => error);
    expect(isDuplicate(failure, AUDIT_LINEAR)).toBe(true);
  });

  test("takes six appends at once as a line", async () => {
    await Promise.all(Array.from({ length: 6 }, (_, index) => append({ payload: { index } })));
    expect(await verify()).toMatchObject({ checked: 6, firstBreak: undefined });
  });
});
