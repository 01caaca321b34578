import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { withoutRepeats } from "../../src/services/context.ts";
import { callersOf, type Who } from "../support/clients.ts";
import { recordedDecision } from "../support/decision.ts";
import { eachEngine } from "../support/engines.ts";
import type { Reply } from "../support/graph.ts";
import { project, row, rows } from "../support/statements.ts";

const layer = (reply: Reply, key: string): Reply[] => (reply.layers as Record<string, Reply[]>)[key] as Reply[];
const snippets = (reply: Reply) => layer(reply, "top_recall").map((each) => each.snippet);

test("one piece of one entity is shown once, whatever its letters' case", () => {
  const piece = (entity: string, snippet: string) => ({ entity, snippet, importance: 0.5 });
  const all = [piece("A", "x"), piece("a", "X"), piece("A", "y"), piece("B", "x"), piece("C", "z")];
  expect(withoutRepeats(all, 3).map(({ entity, snippet }) => entity + snippet)).toEqual(["Ax", "Ay", "Bx"]);
});

eachEngine("cuba_contexto", (engine) => {
  beforeEach(() => engine.db.reset());

  const caller = callersOf(engine, "cursor::chat-9");
  const look = (who: Who = {}, more: Reply = {}) => caller(who)("cuba_contexto", more);
  const open = async () => String((await row(engine.db, sql`insert into brain_sessions (session_name) values ('w') returning id`)).id);
  const note = (who: Who, content: string, entity_name = "gateway") =>
    caller(who)("cuba_cronica", { action: "add", entity_name, content, force: true });

  test("is empty in an empty memory, with all its layers", async () => {
    expect(await look()).toEqual({
      action: "contexto",
      client_id: "cursor",
      session_id: null,
      project_id: null,
      budget_chars: 12_000,
      truncated: false,
      layers: { working_memory: [], agent_notes: [], artifacts: [], top_recall: [] },
      warnings: [],
    });
  });

  test("shows the session's notes, messages to this client, artifacts and memories, and changes nothing", async () => {
    const session = await open();
    const who = { session };
    await caller(who)("cuba_pizarra", { action: "write", content: "look at the gateway", tag: "plan" });
    for (const entity_pattern of ["cursor", "cursor::chat-9", "zed"])
      await caller({ client: "claude" })("cuba_centinela", {
        action: "create",
        entity_pattern,
        condition_type: "on_session_start",
        message: `to ${entity_pattern}`,
      });
    await caller(who)("cuba_artefacto", { action: "put", path: "plan.md", content: "x" });
    await note(who, "The gateway retries twice");
    const before = await row(
      engine.db,
      sql`select (select jsonb_agg(to_jsonb(t) order by id) from brain_triggers as t) as t, (select jsonb_agg(to_jsonb(o)) from brain_observations as o) as o`,
    );
    const reply = await look(who);
    expect(layer(reply, "working_memory")).toEqual([{ content: "look at the gateway", tag: "plan" }]);
    expect(layer(reply, "agent_notes")).toEqual([
      { message: "to cursor", from_agent: "claude" },
      { message: "to cursor::chat-9", from_agent: "claude" },
    ]);
    expect(layer(reply, "artifacts")).toMatchObject([{ path: "plan.md", version: 1 }]);
    expect(layer(reply, "top_recall")).toEqual([{ entity: "gateway", snippet: "The gateway retries twice", importance: 0.6 }]);
    expect(await look(who)).toEqual(reply);
    expect(
      await row(
        engine.db,
        sql`select (select jsonb_agg(to_jsonb(t) order by id) from brain_triggers as t) as t, (select jsonb_agg(to_jsonb(o)) from brain_observations as o) as o`,
      ),
    ).toEqual(before);
    expect(layer(await look({ client: "anonymous", bound: false }), "agent_notes")).toEqual([]);
  });

  test("the session's own writes come first, then entities that its notes mention, then what is most important; fifteen in all", async () => {
    const session = await open();
    await rows(
      engine.db,
      sql`with e as (insert into brain_entities (name, name_key) values ('others', 'others') returning id)
        insert into brain_observations (entity_id, content, importance) select e.id, 'important ' || n, 0.9 - n * 0.01 from e, generate_series(1, 20) as n`,
    );
    await note({}, "Redis holds the queue", "Redis");
    await rows(engine.db, sql`update brain_observations set importance = 0.02 where content like 'Redis%'`);
    for (let n = 1; n <= 9; n++) await note({ session }, `written now ${n}`);
    await rows(engine.db, sql`update brain_observations set importance = 0.01 where content like 'written%'`);
    const own = Array.from({ length: 8 }, (_, n) => `written now ${9 - n}`);
    expect(snippets(await look({ session }))).toEqual([...own, ...Array.from({ length: 7 }, (_, n) => `important ${n + 1}`)]);
    await caller({ session })("cuba_pizarra", { action: "write", content: "ask why redis lags" });
    expect(snippets(await look({ session }))).toEqual([
      ...own,
      "Redis holds the queue",
      ...Array.from({ length: 6 }, (_, n) => `important ${n + 1}`),
    ]);
    expect(snippets(await look())).toEqual(Array.from({ length: 15 }, (_, n) => `important ${n + 1}`));
  });

  test("nothing withheld, superseded or of another project is in any of the three", async () => {
    const [a, b] = [await project(engine.db, "A"), await project(engine.db, "B")];
    const session = await open();
    const inA = { project: a, session };
    await note(inA, "A knows the gateway");
    await note({ project: b, session }, "B knows the gateway");
    await note({ session }, "nobody's gateway", "elsewhere");
    await caller(inA)("cuba_pizarra", { action: "write", content: "the gateway again" });
    await caller({ project: b })("cuba_artefacto", { action: "put", path: "b.md", content: "x" });
    expect(snippets(await look(inA))).toEqual(["A knows the gateway"]);
    expect(layer(await look(inA), "artifacts")).toEqual([]);
    expect((await look(inA)).project_id).toBe(a);
    for (const set of [sql`trust = 'quarantined'`, sql`trust = 'trusted', observation_type = 'superseded'`]) {
      await rows(engine.db, sql`update brain_observations set ${set} where project_id = ${a}::uuid`);
      expect(snippets(await look(inA))).toEqual([]);
    }
  });

  test("texts are cut on code points: pieces at 240, notes at 1500", async () => {
    const session = await open();
    await note({ session }, `${"界".repeat(239)}🙂${"界".repeat(9)}`);
    await caller({ session })("cuba_pizarra", { action: "write", content: "🙂".repeat(1_501) });
    const reply = await look({ session });
    expect(snippets(reply)).toEqual([`${"界".repeat(239)}🙂`]);
    expect(layer(reply, "working_memory")).toEqual([{ content: "🙂".repeat(1_500), content_truncated: true, tag: null }]);
  });

  test("of a recorded decision the choice and its reason are shown, however long the way to it was", async () => {
    await caller({})("cuba_decreto", recordedDecision);
    expect(snippets(await look())).toEqual(["Queue: a table. Why: It runs already."]);
  });

  test("keeps its budget in bytes, whole entries only, the least worth going first, and counts what went", async () => {
    const session = await open();
    for (let n = 0; n < 40; n++) await caller({ session })("cuba_artefacto", { action: "put", path: `docs/${n}-界.md`, content: "x" });
    for (let n = 0; n < 6; n++) await note({ session }, `${n} ${"界".repeat(80)}`);
    await caller({ session })("cuba_pizarra", { action: "write", content: "the one thing to keep" });
    const full = await look({ session });
    expect(full.truncated).toBe(false);
    expect(layer(full, "artifacts")).toHaveLength(30);
    for (const budget_chars of [1_200, 2_000, 3_500]) {
      const { warnings: _, ...reply } = await look({ session }, { budget_chars });
      expect(Buffer.byteLength(JSON.stringify(reply))).toBeLessThanOrEqual(budget_chars);
      expect(reply.truncated).toBe(true);
      expect(layer(reply, "working_memory")).toHaveLength(1);
      for (const key of ["artifacts", "top_recall"]) {
        const gone = (reply.dropped as Record<string, number>)[key] ?? 0;
        expect(layer(reply, key)).toEqual(layer(full, key).slice(0, layer(full, key).length - gone));
      }
    }
    expect(layer(await look({ session }, { budget_chars: 3_500 }), "top_recall")).toHaveLength(6);
    expect((await look({ session }, { budget_chars: 1 })).budget_chars).toBe(1_000);
    expect((await look({ session }, { budget_chars: 999_999 })).budget_chars).toBe(100_000);
  });

  test("a layer that cannot be read is empty and named", async () => {
    await note({}, "still here");
    await engine.db.asOwner((owner) => owner.script("revoke select on brain_artifacts from cuba_app"));
    try {
      const reply = await look();
      expect(reply.incomplete).toEqual(["artifacts"]);
      expect(snippets(reply)).toEqual(["still here"]);
    } finally {
      await engine.db.asOwner((owner) => owner.script("grant select on brain_artifacts to cuba_app"));
    }
  });
});
