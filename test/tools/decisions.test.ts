import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { tokenCounter } from "../../src/kernel/tokens.ts";
import { eachEngine } from "../support/engines.ts";
import { graphOver, type Reply } from "../support/graph.ts";
import { noDatabase } from "../support/no-database.ts";
import { processOver } from "../support/services.ts";
import { project, row, rows } from "../support/statements.ts";

const SLOW_MS = 60_000;
const items = (reply: Reply, key: string): Reply[] => reply[key] as Reply[];
const vectors = {
  title: "Use pgvector",
  context: "search by meaning",
  alternatives: ["a vector service", "files"],
  chosen: "pgvector in the same database",
  rationale: "one thing to back up",
};

test("refuses a credential in any field, a decision without title or choice, and one that is longer than a memory", async () => {
  const { caller, refusal } = graphOver(noDatabase);
  const record = (more: Reply) => refusal(caller()("cuba_decreto", { action: "record", ...vectors, ...more }));
  const token = "use ghp_abcdefghijklmnop here";
  for (const [field, more] of [
    ["title", { title: token }],
    ["context", { context: token }],
    ["chosen", { chosen: token }],
    ["rationale", { rationale: token }],
    ["alternatives[1]", { alternatives: ["fine", token] }],
  ] as const) {
    const error = await record(more);
    expect(error.message).toStartWith(`refusing to write ${field}: what looks like a github token`);
    expect(error.message).not.toContain("ghp_abc");
    expect((await record({ ...more, allow_secret: true })).code).toBe("unavailable");
  }
  for (const field of ["title", "chosen"]) {
    expect((await record({ [field]: " " })).field).toBe(field);
    expect((await record({ [field]: undefined })).field).toBe(field);
  }
  expect((await record({ context: "x".repeat(6_000), rationale: "y".repeat(6_000) })).code).toBe("invalid");
  expect((await refusal(caller()("cuba_decreto", { action: "query", query: "  " }))).field).toBe("query");
});

eachEngine("cuba_decreto", (engine) => {
  beforeEach(() => engine.db.reset());
  const graph = () => graphOver(engine.db);
  const caller = (id?: string) => graph().caller(id === undefined ? { kind: "none" } : { kind: "project", id });
  const record = (more: Reply = {}, id?: string) => caller(id)("cuba_decreto", { action: "record", ...vectors, ...more });
  const query = async (text: string, id?: string) =>
    items(await caller(id)("cuba_decreto", { action: "query", query: text }), "results").map((each) => each.id);

  test("stores five lines as a decision of the project's own entity, as every write of a memory does", async () => {
    const reply = await record({ title: "  Use\n pgvector " });
    expect(reply).toEqual({ action: "record", id: reply.id, title: "Use pgvector", warnings: [] });
    const stored = await row(
      engine.db,
      sql`select o.content, o.observation_type, o.source, o.importance, o.tags <> '{}' as tagged, o.lexical is not null as prepared, e.name, e.entity_type,
            (select count(*)::int from brain_facts as f where f.observation_id = o.id) as facts
          from brain_observations as o join brain_entities as e on e.id = o.entity_id`,
    );
    expect(stored).toEqual({
      content:
        '**Use pgvector**\nContext: search by meaning\nAlternatives: ["a vector service","files"]\nChosen: pgvector in the same database\nRationale: one thing to back up',
      observation_type: "decision",
      source: "agent",
      importance: 0.8,
      tagged: true,
      prepared: true,
      name: "architecture_decisions",
      entity_type: "concept",
      facts: 1,
    });
  });

  test("the same decision in two projects and in none hangs from three entities, and is found in its own project alone", async () => {
    const [a, b] = [await project(engine.db, "A"), await project(engine.db, "B")];
    const inA = await record({}, a);
    const inB = await record({}, b);
    const inNone = await record();
    expect([inA, inB, inNone].map((reply) => "similar" in reply)).toEqual([false, false, false]);
    expect((await rows(engine.db, sql`select project_id from brain_entities where name = 'architecture_decisions'`)).length).toBe(3);
    expect(await query("pgvector", a)).toEqual([inA.id]);
    expect(await query("pgvector", b)).toEqual([inB.id]);
    expect((await query("pgvector")).sort()).toEqual([inA.id, inB.id, inNone.id].sort());
    expect(await caller(b)("cuba_decreto", { action: "list" })).toMatchObject({ count: 1, decisions: [{ id: inB.id }] });
  });

  test("names decisions of the same title, and stores the new one beside them", async () => {
    const first = await record();
    await record({ title: "Use something else" });
    const again = await record({ title: "USE PGVECTOR", rationale: "decided again after the benchmark" });
    expect(items(again, "similar").map((each) => each.id)).toEqual([first.id]);
    expect(Number(items(again, "similar")[0]?.similarity)).toBeGreaterThan(0.5);
    const letterForLetter = await record();
    expect(items(letterForLetter, "similar").map((each) => each.similarity)).toEqual([
      1,
      Number(items(letterForLetter, "similar")[1]?.similarity),
    ]);
    expect(await caller()("cuba_decreto", { action: "list" })).toMatchObject({ count: 4 });
  });

  test("finds a long decision by its title in any case, by a word inside it, and nothing by signs alone", async () => {
    const long = await record({ context: "the measurements of the winter say little about this ".repeat(60) });
    const other = await record({
      title: "Ship a single binary",
      context: "distribution",
      alternatives: [],
      chosen: "bun compile",
      rationale: "no packages to install",
    });
    expect((await query("use PGVECTOR"))[0]).toBe(long.id);
    expect((await query("compile"))[0]).toBe(other.id);
    expect(await query("%")).toEqual([]);
    expect(await query("_")).toEqual([]);
    expect(await query("%_%")).toEqual([]);
    const scored = await caller()("cuba_decreto", { action: "query", query: "ship a single binary" });
    expect(items(scored, "results")[0]).toMatchObject({ id: other.id });
    expect(Number(items(scored, "results")[0]?.similarity)).toBeGreaterThan(0.1);
  });

  test("shows decisions of other entities with their name, and none that is withheld, superseded or no decision", async () => {
    const own = await record();
    const noted = await caller()("cuba_cronica", {
      action: "add",
      entity_name: "gateway",
      content: "The gateway retries with pgvector queries twice",
      observation_type: "decision",
    });
    await caller()("cuba_cronica", { action: "add", entity_name: "gateway", content: "pgvector is at version 0.8" });
    const list = await caller()("cuba_decreto", { action: "list" });
    expect(items(list, "decisions").map(({ id, entity }) => [id, entity])).toEqual([
      [noted.id, "gateway"],
      [own.id, undefined],
    ]);
    expect((await query("pgvector")).sort()).toEqual([noted.id, own.id].sort());
    await rows(engine.db, sql`update brain_observations set trust = 'quarantined' where id = ${String(noted.id)}::uuid`);
    await rows(engine.db, sql`update brain_observations set observation_type = 'superseded' where id = ${String(own.id)}::uuid`);
    expect(await query("pgvector")).toEqual([]);
    expect(await caller()("cuba_decreto", { action: "list" })).toMatchObject({ count: 0, decisions: [] });
  });

  test("a decision recorded in a session is counted there", async () => {
    const of = processOver(engine.db);
    const window = of.client();
    await of.sessions.start(await window.context(), { name: "work", goals: [], project: undefined });
    const { session } = await window.context();
    await graph().caller({ kind: "none" }, { session })("cuba_decreto", { action: "record", ...vectors });
    const ended = await of.sessions.end(await window.context(), { outcome: "success", summary: "", sessionId: undefined });
    expect(ended).toMatchObject({ kind: "ended", diff: { decision: 1 } });
  });

  test("pages make up the whole: ten of a question, twenty of a list, newest first", async () => {
    const ids: unknown[] = [];
    for (let n = 0; n < 22; n++) ids.push((await record({ title: `Decision number ${n}` })).id);
    const first = await caller()("cuba_decreto", { action: "list" });
    expect(first).toMatchObject({ count: 20, truncated: true, total: 22, next: { offset: 20 } });
    const second = await caller()("cuba_decreto", { action: "list", offset: 20 });
    expect([...items(first, "decisions"), ...items(second, "decisions")].map((each) => each.id)).toEqual(ids.toReversed());
    expect(second).not.toHaveProperty("truncated");
    const found = await caller()("cuba_decreto", { action: "query", query: "decision number" });
    expect(found).toMatchObject({ count: 10, truncated: true, total: 22, next: { offset: 10 } });
  });

  test(
    "no answer is above 10,000 tokens, and a decision that is longer can be read whole",
    async () => {
      const long = "界隈で決めた事は長く残る".repeat(790);
      for (let n = 0; n < 3; n++) await record({ title: `Decision ${n}`, context: long });
      const count = await tokenCounter();
      for (const args of [{ action: "list" }, { action: "query", query: "Decision" }]) {
        const reply = await caller()("cuba_decreto", args);
        expect(count(JSON.stringify(reply))).toBeLessThan(10_000);
        expect(reply).toMatchObject({ truncated: true, total: 3 });
      }
      const [whole] = items(await caller()("cuba_decreto", { action: "list", limit: 1 }), "decisions");
      expect(String(whole?.content)).toContain(long);
    },
    SLOW_MS,
  );
});
