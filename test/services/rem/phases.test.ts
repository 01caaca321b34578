/** The phases that neither fade nor ask a model: what each makes up, counts or takes away. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { testEmbedder } from "../../support/embedder.ts";
import { eachEngine, type TestDatabase } from "../../support/engines.ts";
import { only, ran, remOver } from "../../support/rem.ts";
import { entity, observation, project, row, rows } from "../../support/statements.ts";

const session = async (db: TestDatabase, projectId: string | null = null) =>
  String((await row(db, sql`insert into brain_sessions (session_name, project_id) values ('s', ${projectId}::uuid) returning id`)).id);
const worked = async (db: TestDatabase, sessionId: string, ...entities: string[]) => {
  for (const id of entities)
    await rows(
      db,
      sql`insert into brain_observations (entity_id, content, session_id, project_id)
          select e.id, 'worked on it', ${sessionId}::uuid, e.project_id from brain_entities as e where e.id = ${id}::uuid returning id`,
    );
};

eachEngine("phases of a cycle", (engine) => {
  beforeEach(() => engine.db.reset());
  const cycle = (names: string[], given: Parameters<typeof remOver>[1] = {}) =>
    ran(remOver(engine.db, { phases: only(...names), ...given }));

  test("entities that meet in sessions are related: both ways, marked as predicted, in their project, and only once", async () => {
    const { db } = engine;
    const p = await project(db);
    const [a, b, c] = [await entity(db, p, "api"), await entity(db, p, "broker"), await entity(db, p, "cache")];
    const sessions = [await session(db, p), await session(db, p), await session(db, p)];
    await worked(db, sessions[0] ?? "", a, b);
    await worked(db, sessions[1] ?? "", a, b);
    await worked(db, sessions[2] ?? "", c);
    expect((await cycle(["autolink"])).autolinkEdges).toBe(1);
    expect(
      await rows(
        db,
        sql`select from_entity < to_entity as ordered, relation_type, bidirectional, provenance, project_id from brain_relations`,
      ),
    ).toEqual([{ ordered: true, relation_type: "related_to", bidirectional: true, provenance: "predicted", project_id: p }]);
    expect((await cycle(["autolink"])).autolinkEdges).toBe(0);
    expect((await cycle(["autolink"], { settings: { autolink: false } })).phases["autolink"]?.skipped).toContain("CUBA_REM_AUTOLINK");
  });

  test("a relation that is there in either direction is left as it is, and what nobody vouches for relates nothing", async () => {
    const { db } = engine;
    const [a, b, c, d] = [await entity(db), await entity(db), await entity(db), await entity(db)];
    const [first, second, third] = [await session(db), await session(db), await session(db)];
    for (const id of [first, second]) await worked(db, id, a, b, c, d);
    await worked(db, third, await entity(db));
    await rows(
      db,
      sql`insert into brain_relations (from_entity, to_entity, relation_type, strength) values (${b}::uuid, ${a}::uuid, 'uses', 0.4) returning id`,
    );
    await rows(db, sql`update brain_observations set trust = 'quarantined' where entity_id = ${d}::uuid returning id`);
    await cycle(["autolink"]);
    const edges = await rows(db, sql`select from_entity, to_entity, relation_type, strength from brain_relations order by relation_type`);
    expect(edges.length).toBe(3);
    expect(edges.filter((edge) => edge.relation_type === "uses")).toEqual([
      { from_entity: b, to_entity: a, relation_type: "uses", strength: 0.4 },
    ]);
    expect(edges.some((edge) => edge.from_entity === d || edge.to_entity === d)).toBe(false);
  });

  test("missing vectors are computed, the most important first, up to the limit; 0 and a missing model say why nothing was done", async () => {
    const { db } = engine;
    const about = await entity(db);
    for (const [content, importance] of [
      ["least", 0.2],
      ["most", 0.9],
      ["middle", 0.5],
    ] as const) {
      const id = await observation(db, about, { content });
      await rows(db, sql`update brain_observations set importance = ${importance}::float8 where id = ${id}::uuid returning id`);
    }
    expect((await cycle(["embeddings"], { settings: { backfillLimit: 2 } })).embeddingsBackfilled).toBe(2);
    expect((await row(db, sql`select content from brain_observations where embedding is null`)).content).toBe("least");
    expect((await cycle(["embeddings"], { settings: { backfillLimit: 0 } })).phases["embeddings"]?.skipped).toContain("BACKFILL_LIMIT");
    expect((await cycle(["embeddings"], { embedder: testEmbedder("missing") })).phases["embeddings"]?.skipped).toContain(
      "no embedding model",
    );
  });

  test("long observations get their chunks, the longest first; retired ones and short ones do not", async () => {
    const { db } = engine;
    const about = await entity(db);
    const text = (chars: number) => "long text ".repeat(chars / 10);
    const longer = await observation(db, about, { content: text(4_000) });
    await observation(db, about, { content: text(2_000) });
    await observation(db, about, { content: text(1_000) });
    const retired = await observation(db, about, { content: text(5_000) });
    await rows(db, sql`update brain_observations set observation_type = 'superseded' where id = ${retired}::uuid returning id`);
    const record = await cycle(["chunks"], { settings: { backfillLimit: 1 } });
    expect(record.phases["chunks"]?.count).toBe(1);
    expect(await rows(db, sql`select distinct observation_id from brain_observation_chunks`)).toEqual([{ observation_id: longer }]);
    expect((await cycle(["chunks"])).phases["chunks"]?.count).toBe(1);
    expect((await cycle(["chunks"])).phases["chunks"]?.count).toBe(0);
  });

  test("rows without prepared words get them, in every table that search reads", async () => {
    const { db } = engine;
    const about = await entity(db, null, "HttpClient");
    await observation(db, about, { content: "renewToken expires" });
    await rows(db, sql`insert into brain_episodes (entity_id, content) values (${about}::uuid, 'deployed') returning id`);
    await rows(
      db,
      sql`insert into brain_errors (error_type, error_message, context) values ('TypeError', 'x is undefined', '{"action": "rm -rf dist"}') returning id`,
    );
    expect((await cycle(["words"])).phases["words"]?.count).toBe(4);
    expect(String((await row(db, sql`select lexical from brain_observations`)).lexical)).toContain("renew");
    expect(String((await row(db, sql`select lexical from brain_entities`)).lexical)).toContain("client");
    expect(String((await row(db, sql`select lexical from brain_errors`)).lexical)).toContain("dist");
    expect((await cycle(["words"])).phases["words"]?.count).toBe(0);
  });

  test("statistics are taken on a server where they are missing; the embedded engine does that by itself", async () => {
    const { db } = engine;
    await entity(db);
    const found = (await cycle(["statistics"])).phases["statistics"];
    if (db.traits.concurrent) expect(found?.error).toBeUndefined();
    else expect(found?.skipped).toContain("quiet moments");
  });

  test("names that nearly are one are counted, whatever their case", async () => {
    const { db } = engine;
    for (const name of ["Payment Service", "payment service!", "Billing", "完全不同"]) await entity(db, null, name);
    const record = await cycle(["duplicates"]);
    expect(record.duplicateCandidates).toBe(1);
    expect(record.phases["duplicates"]?.note).toBeUndefined();
    expect((await row(db, sql`select count(*)::int as n from brain_entities`)).n).toBe(4);
    const stranger = await entity(db, null, "payment service?");
    await rows(
      db,
      sql`insert into brain_observations (entity_id, content, trust) values (${stranger}::uuid, 'merge me', 'quarantined') returning id`,
    );
    expect((await cycle(["duplicates"])).duplicateCandidates).toBe(1);
  });

  test("nodes are ranked and grouped beside the graph; importances stay, however often", async () => {
    const { db } = engine;
    const [a, b, c] = [await entity(db), await entity(db), await entity(db)];
    for (const [from, to] of [
      [a, b],
      [b, c],
    ] as const)
      await rows(
        db,
        sql`insert into brain_relations (from_entity, to_entity, relation_type) values (${from}::uuid, ${to}::uuid, 'uses') returning id`,
      );
    const record = await cycle(["pagerank", "communities"]);
    expect([record.phases["pagerank"]?.count, record.communities, record.error]).toEqual([3, 1, null]);
    const metrics = () =>
      rows(db, sql`select node_id, pagerank_score, community_id is not null as tagged from brain_node_metrics order by node_id`);
    const once = await metrics();
    expect(once.length).toBe(3);
    await cycle(["pagerank", "communities"]);
    expect(await metrics()).toEqual(once);
    expect(await rows(db, sql`select distinct importance from brain_entities`)).toEqual([{ importance: 0.5 }]);
  });

  test("what has run out goes, and nothing else", async () => {
    const { db } = engine;
    await rows(
      db,
      sql`insert into brain_wm (client_key, content, ttl_seconds, created_at, expires_at) values
        ('c', 'over', 1, now() - interval '2 seconds', now() - interval '1 second'), ('c', 'lives', 60, now(), now() + interval '1 minute') returning id`,
    );
    await rows(
      db,
      sql`insert into brain_verify_log (claim, confidence, grounding_level, outcome, created_at, resolved_at) values
        ('old', 0.5, 'weak', 'pending', now() - interval '181 days', null), ('young', 0.5, 'weak', 'pending', now() - interval '179 days', null),
        ('resolved', 0.5, 'weak', 'correct', now() - interval '400 days', now()) returning id`,
    );
    expect((await cycle(["purge"])).phases["purge"]?.count).toBe(2);
    expect(await rows(db, sql`select content from brain_wm`)).toEqual([{ content: "lives" }]);
    expect(await rows(db, sql`select claim from brain_verify_log order by claim`)).toEqual([{ claim: "resolved" }, { claim: "young" }]);
  });
});
