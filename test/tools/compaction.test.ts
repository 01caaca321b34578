import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { tokenCounter } from "../../src/kernel/tokens.ts";
import { recordedDecision } from "../support/decision.ts";
import { eachEngine } from "../support/engines.ts";
import { graphOver, type Reply } from "../support/graph.ts";
import { project, row, rows } from "../support/statements.ts";

const SLOW_MS = 60_000;
const items = (reply: unknown, key: string): Reply[] => (reply as Reply)[key] as Reply[];

eachEngine("cuba_pre_compact", (engine) => {
  beforeEach(() => engine.db.reset());

  interface Who {
    readonly project?: string;
    readonly client?: string;
    readonly session?: string;
  }
  const caller = ({ project: id, client = "cursor", session }: Who = {}) =>
    graphOver(engine.db).caller(id === undefined ? { kind: "none" } : { kind: "project", id }, {
      client,
      session: session === undefined ? undefined : { id: session, startedAt: "2026-01-01T00:00:00.000000+00:00" },
    });
  const open = async (goals: unknown[] = ["ship it"], projectId: string | null = null, client = "cursor") =>
    String(
      (
        await row(
          engine.db,
          sql`insert into brain_sessions (session_name, goals, project_id, client_key)
              values ('work', ${JSON.stringify(goals)}::jsonb, ${projectId}::uuid, ${`test/${client}`}::text) returning id`,
        )
      ).id,
    );
  const note = (who: Who, content: string, observation_type = "fact") =>
    caller(who)("cuba_cronica", { action: "add", entity_name: "gateway", content, observation_type, force: true });
  const snapshot = (who: Who) => caller(who)("cuba_pre_compact", { action: "snapshot" });
  const restore = (who: Who = {}, more: Reply = {}) => caller(who)("cuba_pre_compact", { action: "restore", ...more });

  test("without a session there is nothing to freeze and nothing to give back, and that is no error", async () => {
    expect(await snapshot({})).toMatchObject({ action: "snapshot", session_id: null, summary_md: "" });
    expect(await restore()).toMatchObject({ action: "restore", snapshot: null });
    const session = await open();
    expect(await restore({ session })).toMatchObject({ session_id: session, snapshot: null });
  });

  test("freezes what the session wrote, its decisions, open errors, texts without a vector and goals", async () => {
    const session = await open(["ship it", "stay calm"]);
    await note({ session }, "The gateway\n\nretries twice");
    const { id } = await note({ session }, "Retries are enough for now", "decision");
    await note({}, "Written outside of the session");
    const error = await caller({ session })("cuba_alarma", { error_type: "E", error_message: "the gateway stalls" });
    const frozen = await snapshot({ session });
    expect(frozen).toMatchObject({
      action: "snapshot",
      session_id: session,
      obs_count: 2,
      obs_total: 2,
      saved: { observations: 2, decisions: 1, unresolved_errors: 1, pending_embeddings: 2 },
      active_goals: ["ship it", "stay calm"],
      unresolved_errors: [{ id: error.error_id, error_type: "E", message: "the gateway stalls" }],
      decisions: [{ id, entity: "gateway", content: "Retries are enough for now" }],
      discarded: { observations_beyond_limit: "none: all of the session's are in it" },
    });
    expect(frozen.summary_md).toBe(
      "# Session work\n\n2 observations: 1 decision, 1 fact\n\n- [decision] gateway: Retries are enough for now\n- [fact] gateway: The gateway retries twice",
    );
    expect(items(frozen, "key_observations").map(({ type, entity, content }) => [type, entity, content])).toEqual([
      ["decision", "gateway", "Retries are enough for now"],
      ["fact", "gateway", "The gateway\n\nretries twice"],
    ]);
    expect(items(frozen, "pending_embeddings").map((each) => each.content_preview)).toEqual([
      "Retries are enough for now",
      "The gateway\n\nretries twice",
    ]);
    expect(frozen).not.toHaveProperty("truncated");
    expect(frozen).not.toHaveProperty("incomplete");
    const back = await restore({ session });
    expect(back).toMatchObject({ action: "restore", session_id: session, matched_by: "session" });
    const { id: snapshotId, created_at, ...lists } = back.snapshot as Reply;
    expect(snapshotId).toBe(frozen.snapshot_id);
    expect(String(created_at)).toMatch(/^\d{4}-.*\+00:00$/);
    for (const [key, value] of Object.entries(lists)) expect([key, value]).toEqual([key, frozen[key]]);
  });

  test("of sixty observations, one superseded and one withheld, the fifty newest are kept and the true number is told", async () => {
    const session = await open();
    await caller()("cuba_alma", { action: "create", name: "gateway" });
    await rows(
      engine.db,
      sql`insert into brain_observations (entity_id, content, session_id, created_at, observation_type, trust)
        select e.id, 'text ' || n, ${session}::uuid, now() - n * interval '1 second', case when n = 5 then 'superseded' else 'fact' end,
               case when n = 6 then 'quarantined' else 'trusted' end
        from brain_entities as e, generate_series(1, 60) as n`,
    );
    const frozen = await snapshot({ session });
    expect(frozen).toMatchObject({ obs_count: 50, obs_total: 58 });
    const texts = items(frozen, "key_observations").map((each) => each.content);
    expect(texts).toEqual(Array.from({ length: 52 }, (_, n) => `text ${n + 1}`).filter((text) => text !== "text 5" && text !== "text 6"));
    expect(
      String(frozen.summary_md)
        .split("\n")
        .filter((each) => each.startsWith("- ")),
    ).toHaveLength(12);
    expect(items(frozen, "pending_embeddings")).toHaveLength(20);
    expect((frozen.discarded as Reply).observations_beyond_limit).toContain("8 older ones");
  });

  test("of a recorded decision the choice and its reason survive the cut", async () => {
    const session = await open();
    await caller({ session })("cuba_decreto", recordedDecision);
    await snapshot({ session });
    const back = (await restore({ session })).snapshot as Reply;
    expect(items(back, "decisions")[0]?.content).toBe("Queue: a table. Why: It runs already.");
    expect(back.summary_md).toEndWith("- [decision] architecture_decisions: Queue: a table. Why: It runs already.");
  });

  test("texts are cut by characters: 240, 160 and 80 of them, an emoji never in two", async () => {
    const session = await open();
    await note({ session }, `${"界".repeat(239)}🙂${"界".repeat(60)}`, "decision");
    await caller({ session })("cuba_alarma", { error_type: "E", error_message: `${"界".repeat(159)}🙂界` });
    const frozen = await snapshot({ session });
    const cut = `${"界".repeat(239)}🙂`;
    expect(items(frozen, "key_observations")[0]?.content).toBe(cut);
    expect(items(frozen, "decisions")[0]?.content).toBe(cut);
    expect(items(frozen, "unresolved_errors")[0]?.message).toBe(`${"界".repeat(159)}🙂`);
    expect(items(frozen, "pending_embeddings")[0]?.content_preview).toBe("界".repeat(80));
    expect(String(frozen.summary_md)).toEndWith(`gateway: ${"界".repeat(160)}`);
  });

  test("errors are those of the session's own project; nothing of another project is frozen or given back", async () => {
    const [a, b] = [await project(engine.db, "A"), await project(engine.db, "B")];
    const session = await open([], a);
    for (const [id, message] of [
      [a, "in A"],
      [b, "in B"],
      [undefined, "in none"],
    ] as const)
      await caller(id === undefined ? {} : { project: id })("cuba_alarma", { error_type: "E", error_message: message });
    await note({ project: a, session }, "A knows this");
    await note({ project: b, session }, "B knows this");
    const frozen = await snapshot({ project: a, session });
    expect(items(frozen, "unresolved_errors").map((each) => each.message)).toEqual(["in A"]);
    expect(items(frozen, "key_observations").map((each) => each.content)).toEqual(["A knows this"]);
    const id = String(frozen.snapshot_id);
    const { refusal } = graphOver(engine.db);
    expect((await refusal(restore({ project: b }, { snapshot_id: id }))).message).toStartWith(`Snapshot '${id}' not found`);
    expect(await restore({ project: b })).toMatchObject({ snapshot: null });
    expect(await restore({ project: a }, { snapshot_id: id.toUpperCase() })).toMatchObject({ matched_by: "snapshot_id", snapshot: { id } });
    const unscoped = await open([], null, "zed");
    expect(items(await snapshot({ session: unscoped }), "unresolved_errors").map((each) => each.message)).toEqual(["in none"]);
  });

  test("gives back the newest of the session, else of the client, else of the project, and says which", async () => {
    const a = await project(engine.db, "A");
    const session = await open([], a);
    await snapshot({ project: a, session });
    const second = await snapshot({ project: a, session });
    const id = second.snapshot_id;
    expect(await restore({ project: a, session })).toMatchObject({ matched_by: "session", snapshot: { id } });
    expect(await restore({ project: a, client: "cursor" })).toMatchObject({ matched_by: "client", snapshot: { id } });
    expect(await restore({ client: "cursor" })).toMatchObject({ matched_by: "client", snapshot: { id } });
    expect(await restore({ project: a, client: "zed" })).toMatchObject({ matched_by: "project", snapshot: { id } });
    expect(await restore({ client: "zed" })).toMatchObject({ snapshot: null });
    const other = await open([], a, "zed");
    expect(await restore({ project: a, client: "zed", session: other })).toMatchObject({ session_id: other, snapshot: null });
  });

  test("marks what was solved or superseded since, and leaves out what was deleted or withheld", async () => {
    const session = await open();
    const kept = await note({ session }, "This stays");
    const old = await note({ session }, "This is superseded", "decision");
    const withheld = await note({ session }, "This is withheld");
    const deleted = await note({ session }, "This is deleted");
    const error = await caller({ session })("cuba_alarma", { error_type: "E", error_message: "the gateway stalls" });
    await snapshot({ session });
    await caller()("cuba_remedio", { error_id: error.error_id, solution: "restart it" });
    await rows(engine.db, sql`update brain_observations set observation_type = 'superseded' where id = ${String(old.id)}::uuid`);
    await rows(engine.db, sql`update brain_observations set trust = 'quarantined' where id = ${String(withheld.id)}::uuid`);
    await caller()("cuba_cronica", { action: "delete", observation_id: deleted.id });
    const { snapshot: back, note: said } = await restore({ session });
    expect(said).toContain("copies as of created_at");
    expect(back).toMatchObject({ gone_since: 2, obs_count: 2, obs_total: 4 });
    expect(items(back, "key_observations").map(({ id, superseded_since }) => [id, superseded_since])).toEqual([
      [old.id, true],
      [kept.id, undefined],
    ]);
    expect(items(back, "decisions")).toMatchObject([{ id: old.id, superseded_since: true }]);
    expect(items(back, "unresolved_errors")).toMatchObject([{ id: error.error_id, resolved_since: true }]);
    expect(JSON.stringify(back)).not.toContain("This is withheld");
    expect(JSON.stringify(back)).not.toContain("This is deleted");
    expect(String((back as Reply).summary_md)).toContain("This stays");
  });

  test("keeps the newest twenty of a session", async () => {
    const session = await open();
    const other = await open([], null, "zed");
    await snapshot({ session: other });
    const ids: unknown[] = [];
    for (let n = 0; n < 23; n++) ids.push((await snapshot({ session })).snapshot_id);
    const stored = await rows(engine.db, sql`select id from brain_compaction_snapshots where session_id = ${session}::uuid`);
    expect(stored.map(({ id }) => id).sort()).toEqual(ids.slice(-20).sort() as string[]);
    expect((await row(engine.db, sql`select count(*)::int as n from brain_compaction_snapshots`)).n).toBe(21);
  });

  test("a list that cannot be read is named, not stored as empty", async () => {
    const session = await open();
    await note({ session }, "This stays");
    await engine.db.asOwner((owner) => owner.script("revoke select on brain_errors from cuba_app"));
    try {
      expect(await snapshot({ session })).toMatchObject({ obs_count: 1, unresolved_errors: [], incomplete: ["unresolved_errors"] });
    } finally {
      await engine.db.asOwner((owner) => owner.script("grant select on brain_errors to cuba_app"));
    }
    expect((await restore({ session })).snapshot).toMatchObject({ incomplete: ["unresolved_errors"] });
  });

  test(
    "no answer is above 10,000 tokens; the observations that did not fit can be read on",
    async () => {
      const session = await open(Array.from({ length: 50 }, (_, n) => `${n} ${"目標".repeat(490)}`));
      for (let n = 0; n < 50; n++) await note({ session }, `${n} ${"界隈で決めた".repeat(50)}`, n % 2 === 0 ? "decision" : "fact");
      for (let n = 0; n < 20; n++)
        await caller({ session })("cuba_alarma", { error_type: "種類", error_message: `${n} ${"失敗".repeat(100)}` });
      const count = await tokenCounter();
      const frozen = await snapshot({ session });
      expect(count(JSON.stringify(frozen))).toBeLessThan(10_000);
      expect(frozen).toMatchObject({ truncated: true, saved: { observations: 50, decisions: 20, unresolved_errors: 20 } });
      const seen = items(frozen, "key_observations").map((each) => each.id);
      expect((frozen.left_out as Reply).key_observations).toBe(50 - seen.length);
      for (let next = frozen.next as Reply | undefined; next !== undefined; ) {
        const { action, ...more } = next;
        const page = await restore({ session }, more);
        expect(count(JSON.stringify(page))).toBeLessThan(10_000);
        seen.push(...items(page.snapshot, "key_observations").map((each) => each.id));
        next = page.next as Reply | undefined;
      }
      expect(new Set(seen).size).toBe(50);
    },
    SLOW_MS,
  );
});
