/** What somebody with full rights on the database could do to the audit chain, and that it shows. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { auditHash } from "../../src/domain/audit-chain.ts";
import { eachEngine } from "../support/engines.ts";
import { graphOver, type Reply } from "../support/graph.ts";
import { rows } from "../support/statements.ts";

const SLOW_MS = 60_000;
const KEY = "k3y";

eachEngine("attacks on the audit chain", (engine) => {
  beforeEach(() => engine.db.reset());
  const call = (args: Reply, key: string | undefined = KEY) => graphOver(engine.db, { auditKey: () => key }).caller()("cuba_archivo", args);
  const append = (event_action: string, key?: string) => call({ action: "append", event_action, payload: { of: event_action } }, key);
  const verify = () => call({ action: "verify" });
  const attack = (statement: string) =>
    engine.db.asOwner((owner) => owner.script(`begin; set local app.audit_override = 'on'; ${statement}; commit`));
  const five = async () => {
    for (const name of ["a", "b", "c", "d", "e"]) await append(name);
  };

  test.each([
    ["the action", "update brain_audit_log set action = 'client.x' where id = 3", 3],
    ["the payload", `update brain_audit_log set payload = '{"x":1}', payload_canonical = '{"x":1}' where id = 3`, 3],
    ["the time", "update brain_audit_log set created_at = created_at + interval '1 microsecond' where id = 3", 3],
    ["the hash", "update brain_audit_log set current_hash = sha256('x') where id = 3", 3],
    ["the link", "update brain_audit_log set prev_hash = sha256('x') where id = 3", 3],
    ["the last row", "update brain_audit_log set action = 'client.x' where id = 5", 5],
  ])("a change of %s shows", async (_what, statement, at) => {
    await five();
    await attack(statement);
    expect(await verify()).toMatchObject({ ok: false, first_break_id: at, rows_checked: at - 1 });
  });

  test("a removed row shows at the one behind it, a removed beginning at the first that is left", async () => {
    await five();
    await attack("delete from brain_audit_log where id = 3");
    expect(await verify()).toMatchObject({ ok: false, first_break_id: 4, rows_checked: 2 });
    await attack("delete from brain_audit_log where id <= 2");
    expect(await verify()).toMatchObject({ ok: false, first_break_id: 4, rows_checked: 0 });
  });

  test("a swapped pair shows, its links exchanged or not", async () => {
    await five();
    const swap = (columns: string) => `
      create temporary table pair on commit drop as select * from brain_audit_log where id in (2, 3);
      update brain_audit_log as t set (${columns}) = (select ${columns} from pair as p where p.id = 5 - t.id) where t.id in (2, 3)`;
    await attack(swap("action, payload, payload_canonical, hash_alg, current_hash, created_at"));
    expect(await verify()).toMatchObject({ ok: false, first_break_id: 2 });
    await engine.db.reset();
    await five();
    // The unique index of links is in the way of a plain exchange: out and in again.
    await attack(`
      create temporary table pair on commit drop as select * from brain_audit_log where id in (2, 3);
      delete from brain_audit_log where id in (2, 3);
      insert into brain_audit_log (id, prev_hash, action, payload, payload_canonical, hash_alg, current_hash, created_at) overriding system value
        select 5 - id, prev_hash, action, payload, payload_canonical, hash_alg, current_hash, created_at from pair`);
    expect(await verify()).toMatchObject({ ok: false, first_break_id: 2 });
  });

  test.each(["sha256", "hmac-sha256"])("a tail that was chained anew without the key shows, called %s", async (called) => {
    await five();
    const stored = await rows(
      engine.db,
      sql`select id::int as id, action, payload_canonical as payload, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"') as at,
                 encode(current_hash, 'hex') as hash from brain_audit_log order by id`,
    );
    let previous = new Uint8Array(Buffer.from(String(stored[1]?.hash), "hex"));
    const statements = ["delete from brain_audit_log where id >= 3"];
    for (const row of stored.slice(2)) {
      const payload = row.id === 3 ? '{"forged":true}' : String(row.payload);
      const hash = auditHash({ previousHash: previous, action: String(row.action), payload, at: String(row.at) }, "sha256", "");
      const hex = (bytes: Uint8Array) => `'\\x${Buffer.from(bytes).toString("hex")}'::bytea`;
      statements.push(`insert into brain_audit_log (id, prev_hash, action, payload, payload_canonical, hash_alg, current_hash, created_at) overriding system value
        values (${row.id}, ${hex(previous)}, '${row.action}', '${payload}', '${payload}', '${called}', ${hex(hash)}, '${row.at}')`);
      previous = new Uint8Array(hash);
    }
    await attack(statements.join(";"));
    const verdict = await verify();
    expect(verdict).toMatchObject({ ok: false, first_break_id: 3, rows_checked: 2 });
    expect(String(verdict.reason)).toContain("did not have the key");
  });

  test("rows cut from the end do not show, but in the head that was kept elsewhere", async () => {
    await five();
    const kept = await verify();
    await attack("delete from brain_audit_log where id = 5");
    const verdict = await verify();
    expect(verdict.ok).toBe(true);
    expect(String(verdict.what_this_does_not_establish)).toContain("Rows cut from the end do not show");
    expect([verdict.head_id, verdict.head_hash === kept.head_hash]).toEqual([4, false]);
  });

  test(
    "eight writers at once make one line, and every look at it meanwhile holds",
    async () => {
      let writing = true;
      const writers = Promise.all(
        Array.from({ length: 8 }, async (_, writer) => {
          for (let at = 0; at < 6; at++) await append(`writer ${writer} event ${at}`);
        }),
      ).finally(() => {
        writing = false;
      });
      let looks = 0;
      while (writing) {
        expect(await verify()).toMatchObject({ ok: true });
        looks++;
        // The embedded engine answers without leaving this turn of the loop; the disk's answers to the writers come in the next.
        await new Promise((resolve) => setImmediate(resolve));
      }
      await writers;
      expect(looks).toBeGreaterThan(0);
      expect(await verify()).toMatchObject({ ok: true, rows_checked: 48, total_rows: 48, complete: true, unprotected_rows: 0 });
      // Each writer's events stand in its own order.
      const order = await rows(engine.db, sql`select payload ->> 'of' as of from brain_audit_log order by id`);
      for (let writer = 0; writer < 8; writer++)
        expect(order.map((each) => String(each.of)).filter((of) => of.startsWith(`writer ${writer} `))).toEqual(
          Array.from({ length: 6 }, (_, at) => `writer ${writer} event ${at}`),
        );
    },
    SLOW_MS,
  );
});
