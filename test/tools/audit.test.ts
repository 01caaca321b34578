import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { deadlineIn } from "../../src/kernel/deadline.ts";
import { tokenCounter } from "../../src/kernel/tokens.ts";
import { createAudit } from "../../src/services/audit.ts";
import { eachEngine, testScope } from "../support/engines.ts";
import { graphOver, type Reply } from "../support/graph.ts";
import { noDatabase } from "../support/no-database.ts";
import { rows } from "../support/statements.ts";

const SLOW_MS = 60_000;
const items = (reply: Reply, key: string): Reply[] => reply[key] as Reply[];

test("refuses what cannot or may not be chained before the database is asked", async () => {
  const { caller, refusal } = graphOver(noDatabase);
  const call = caller();
  const append = (args: Reply) => refusal(call("cuba_archivo", { action: "append", event_action: "deploy", ...args }));
  expect((await append({ payload: { header: "ghp_abcdefghijklmnop" } })).message).toStartWith(
    "refusing to write payload.header: what looks like a github token",
  );
  expect((await append({ event_action: "ghp_abcdefghijklmnop" })).code).toBe("refused");
  expect((await append({ payload: { header: "ghp_abcdefghijklmnop" }, allow_secret: true })).code).toBe("unavailable");
  expect((await append({ event_action: "  " })).field).toBe("event_action");
  expect((await append({ payload: "text" })).field).toBe("payload");
  expect((await append({ payload: { n: 2 ** 53 } })).field).toBe("payload");
  expect((await append({ payload: { t: "x".repeat(8_192) } })).field).toBe("payload");
  expect((await append({ payload: { _client: "somebody else" } })).field).toBe("payload._client");
  for (const event_action of ["memory.promote", "forget.entity", "prune.run", "sync.import", "project.merge", "auth.login"]) {
    const error = await append({ event_action });
    expect([error.code, error.field]).toEqual(["invalid", "event_action"]);
    expect(error.message).toContain("reserved");
  }
  expect((await append({ event_action: "memory" })).code).toBe("unavailable");
  expect((await refusal(call("cuba_archivo", { action: "erase" }))).message).toBe("Invalid action: erase. Use append/verify/tail");
});

eachEngine("cuba_archivo", (engine) => {
  beforeEach(() => engine.db.reset());
  const caller = (key?: string, client = "cursor::chat-9") =>
    graphOver(engine.db, { auditKey: () => key }).caller({ kind: "none" }, { client });
  const append = (call = caller(), event_action = "deploy", payload: Reply = {}) =>
    call("cuba_archivo", { action: "append", event_action, payload });
  const verify = (key?: string, more: Reply = {}) => caller(key)("cuba_archivo", { action: "verify", ...more });
  const rewrite = (statement: string) =>
    engine.db.asOwner((owner) => owner.script(`begin; set local app.audit_override = 'on'; ${statement}; commit`));

  test("appends under client., says who it was, and shows it newest first", async () => {
    const first = await append(caller(), "deploy", { version: "1.2" });
    expect(first).toMatchObject({ action: "append", id: 1, retries: 0 });
    expect(String(first.current_hash)).toMatch(/^[0-9a-f]{64}$/);
    await append(caller(), "client.rollback");
    const tail = await caller()("cuba_archivo", { action: "tail" });
    expect(tail.count).toBe(2);
    expect(items(tail, "entries").map(({ id, action, payload }) => ({ id, action, payload }))).toEqual([
      { id: 2, action: "client.rollback", payload: { _client: "cursor" } },
      { id: 1, action: "client.deploy", payload: { version: "1.2", _client: "cursor" } },
    ]);
    expect(String(items(tail, "entries")[0]?.created_at)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/);
  });

  test("an empty log verifies with nothing in it; three appends verify with their head", async () => {
    expect(await verify()).toMatchObject({ ok: true, rows_checked: 0, total_rows: 0, complete: true, head_id: null, head_hash: null });
    let last: Reply = {};
    for (const name of ["a", "b", "c"]) last = await append(caller("k3y"), name);
    const verdict = await verify("k3y");
    expect(verdict).toMatchObject({
      action: "verify",
      ok: true,
      rows_checked: 3,
      unprotected_rows: 0,
      total_rows: 3,
      complete: true,
      head_id: 3,
    });
    expect(verdict.head_hash).toBe(last.current_hash);
    expect(String(verdict.what_this_does_not_establish)).toStartWith("Rows cut from the end do not show");
  });

  test("rows before the key are counted as unprotected; a well linked row without it afterwards is a downgrade", async () => {
    for (const key of [undefined, undefined, "k3y"]) await append(caller(key));
    const honest = await verify("k3y");
    expect(honest).toMatchObject({ ok: true, unprotected_rows: 2 });
    expect(String(honest.what_this_does_not_establish)).toStartWith("2 of 3 rows are plain SHA-256");
    await append(caller());
    const forged = await verify("k3y");
    expect(forged).toMatchObject({ ok: false, first_break_id: 4, rows_checked: 3 });
    expect(String(forged.reason)).toContain("sealed");
  });

  test("a changed payload, a removed row, a swapped pair and a wrong key all break", async () => {
    for (const name of ["a", "b", "c", "d"]) await append(caller("k3y"), name);
    expect(await verify("other")).toMatchObject({ ok: false, first_break_id: 1 });
    await rewrite(`update brain_audit_log set payload = '{"x":1}', payload_canonical = '{"x":1}' where id = 2`);
    expect(await verify("k3y")).toMatchObject({ ok: false, first_break_id: 2 });
    await rewrite("delete from brain_audit_log where id = 2");
    expect(await verify("k3y")).toMatchObject({ ok: false, first_break_id: 3, rows_checked: 1 });
  });

  test("a limit that ends the walk early is said", async () => {
    for (let n = 0; n < 5; n++) await append(caller(), `event ${n}`);
    expect(await verify(undefined, { limit: 2 })).toMatchObject({ ok: true, rows_checked: 2, total_rows: 5, complete: false, head_id: 2 });
    expect(await verify(undefined, { limit: 5 })).toMatchObject({ rows_checked: 5, complete: true });
    expect(await verify(undefined, { limit: -3 })).toMatchObject({ rows_checked: 1, complete: false });
    const { context, caller: by } = graphOver(engine.db);
    expect(context({ kind: "none" }).deadline.remainingMs()).toBeGreaterThan(1_000);
    const late = await by({ kind: "none" }, { deadline: deadlineIn(500) })("cuba_archivo", { action: "verify" });
    expect(late).toMatchObject({ ok: true, rows_checked: 0, total_rows: 5, complete: false });
  });

  test(
    "walks page by page over more rows than one page holds",
    async () => {
      const audit = createAudit({ db: engine.db, key: () => "k3y", now: () => new Date(0) });
      await engine.db.write(testScope(), async (tx) => {
        for (let n = 0; n < 1_005; n++) await audit.record(tx, "memory.promote", { n });
      });
      expect(await verify("k3y")).toMatchObject({ ok: true, rows_checked: 1_005, complete: true, head_id: 1_005 });
    },
    SLOW_MS,
  );

  test("twenty appends at once make twenty linked rows", async () => {
    const call = caller("k3y");
    const made = await Promise.all(Array.from({ length: 20 }, (_, n) => append(call, `event ${n}`)));
    expect(new Set(made.map((reply) => reply.id)).size).toBe(20);
    expect(await verify("k3y")).toMatchObject({ ok: true, rows_checked: 20 });
  });

  test("an event of ours is kept with what it records, or not at all", async () => {
    const audit = createAudit({ db: engine.db, key: () => undefined, now: () => new Date(0) });
    const failed = engine.db.write(testScope(), async (tx) => {
      await audit.record(tx, "memory.correct", { id: "x" });
      throw new Error("the correction failed");
    });
    await expect(failed).rejects.toThrow();
    expect(await rows(engine.db, sql`select id from brain_audit_log`)).toEqual([]);
  });

  test("a full page of the largest events stays below 10,000 tokens and reads on", async () => {
    const call = caller();
    for (let n = 0; n < 6; n++) await append(call, `event ${n}`, { text: "界隈".repeat(1_300) });
    const tail = await call("cuba_archivo", { action: "tail", limit: 5_000 });
    expect((await tokenCounter())(JSON.stringify(tail))).toBeLessThan(10_000);
    expect(tail).toMatchObject({ truncated: true, total: 6 });
    const next = (tail.next as Reply).offset;
    expect(next).toBe(tail.count);
    expect(items(await call("cuba_archivo", { action: "tail", offset: next }), "entries")[0]?.id).toBe(6 - Number(next));
  });
});
