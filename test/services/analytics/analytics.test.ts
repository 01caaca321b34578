import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import type { CallContext } from "../../../src/kernel/context.ts";
import { deadlineIn } from "../../../src/kernel/deadline.ts";
import { timedOut } from "../../../src/kernel/errors.ts";
import { tokenCounter } from "../../../src/kernel/tokens.ts";
import { measures, type RunMeasure } from "../../../src/services/analytics/measures.ts";
import { createMeasureRunner } from "../../../src/services/analytics/run.ts";
import { activeTriggers } from "../../../src/store/queries/health.ts";
import { eachEngine } from "../../support/engines.ts";
import { graphOver, type Reply } from "../../support/graph.ts";
import { indexed } from "../../support/indexed-graphs.ts";
import { entity, observation, project, row, rows } from "../../support/statements.ts";

const SLOW_MS = 60_000;
const items = (reply: Reply, key: string): Reply[] => reply[key] as Reply[];
const here: RunMeasure = async (measure, graph) => measures[measure](graph);

test("a measure runs in a thread of its own, and one that takes too long is given up", async () => {
  const run = createMeasureRunner();
  const limits = { remainingMs: 30_000, signal: new AbortController().signal };
  const star = indexed(3, [
    [1, 0],
    [2, 0],
  ]);
  const [first, second] = await Promise.all([run("structure", star, limits), run("communities", star, limits)]);
  expect([...first.harmonic]).toEqual([2, 1.5, 1.5]);
  expect([...second.label]).toEqual([0, 0, 0]);
  await expect(run("structure", star, { ...limits, remainingMs: 0 })).rejects.toThrow("too large to be measured");
  const gone = new AbortController();
  gone.abort();
  await expect(run("structure", star, { ...limits, signal: gone.signal })).rejects.toThrow("cancelled");
  expect([...(await run("structure", star, limits)).cores]).toEqual([1, 1, 1]);
});

eachEngine("cuba_vigia", (engine) => {
  beforeEach(() => engine.db.reset());
  const over = (run: RunMeasure = here) => graphOver(engine.db, { run });
  const caller = (id?: string, more: Partial<CallContext> = {}, run?: RunMeasure) =>
    over(run).caller(id === undefined ? { kind: "none" } : { kind: "project", id }, more);
  const vigia = (metric?: string, id?: string) => caller(id)("cuba_vigia", metric === undefined ? {} : { metric });
  const zafra = (action: string, id?: string) => caller(id)("cuba_zafra", { action });

  /** Entities by name and the relations between them. */
  async function graph(
    links: readonly (readonly [from: string, to: string, strength?: number, bothWays?: boolean])[],
    id: string | null = null,
  ) {
    const ids = new Map<string, string>();
    for (const name of new Set(links.flatMap(([from, to]) => [from, to]))) ids.set(name, await entity(engine.db, id, name));
    for (const [from, to, strength = 1, bothWays = false] of links)
      await rows(
        engine.db,
        sql`insert into brain_relations (from_entity, to_entity, relation_type, strength, bidirectional, project_id)
            values (${ids.get(from) ?? ""}::uuid, ${ids.get(to) ?? ""}::uuid, 'uses', ${strength}::float8, ${bothWays}::bool, ${id}::uuid)`,
      );
    return ids;
  }
  const triangles = [
    ["a", "b"],
    ["b", "c"],
    ["c", "a"],
    ["d", "e"],
    ["e", "f"],
    ["f", "d"],
    ["c", "d", 0.1],
  ] as const;

  test("summary is the default, counts what is live in scope, and an unknown metric names the known ones", async () => {
    const mine = await project(engine.db);
    const home = await entity(engine.db, mine);
    for (const type of ["fact", "fact", "superseded"]) await observation(engine.db, home, { project: mine, type });
    await observation(engine.db, await entity(engine.db));
    expect(await vigia(undefined, mine)).toEqual({
      metric: "summary",
      entities: 1,
      observations: 2,
      episodes: 0,
      relations: 0,
      errors: 0,
      sessions: 0,
      estimated_tokens: 100,
      project_scoped: true,
      warnings: [],
    });
    expect(await vigia()).toMatchObject({ entities: 2, observations: 3, project_scoped: false });
    expect((await over().refusal(vigia("pagerank"))).message).toBe(
      "Invalid metric: pagerank. Use summary/health/drift/communities/bridges/structural",
    );
  });

  test("health: averages, stale rows, entropy and how fast errors are solved", async () => {
    expect(await vigia("health")).toMatchObject({ avg_importance: null, error_metrics: { resolution_rate: 0, mttr_minutes: null } });
    const home = await entity(engine.db);
    for (const type of ["fact", "fact", "decision", "lesson"]) await observation(engine.db, home, { type });
    await rows(engine.db, sql`update brain_observations set last_accessed = now() - interval '31 days' where observation_type = 'lesson'`);
    await rows(
      engine.db,
      sql`insert into brain_errors (error_type, error_message, resolved, created_at, resolved_at)
          values ('T', 'a', true, now() - interval '30 minutes', now()), ('T', 'b', false, now(), null)`,
    );
    const reply = await vigia("health");
    expect(reply).toMatchObject({
      metric: "health",
      avg_importance: 0.5,
      stale_observations: 1,
      unused_entities: 1,
      null_embeddings: 4,
      active_triggers: 0,
      embedding_model: "letters/name-type-1",
      entropy: { entity_types: 0, observation_types: 1.5, knowledge_diversity_score: 0.473 },
      error_metrics: { resolution_rate: 0.5, mttr_minutes: 30 },
    });
    expect(String(reply.database_size)).toMatch(/^\d+ (bytes|kB|MB|GB)$/);
    expect(reply.table_sizes).toHaveProperty("brain_observations");
  });

  test("health counts the reminders that may fire in scope: the project's own and those of no project, not another project's", async () => {
    const [mine, other] = [await project(engine.db), await project(engine.db, "other")];
    for (const of of [mine, other, null])
      await rows(
        engine.db,
        sql`insert into brain_triggers (entity_pattern, condition_type, message, project_id) values ('x', 'on_access', 'm', ${of}::uuid) returning id`,
      );
    expect(await vigia("health", mine)).toMatchObject({ active_triggers: 2 });
    expect(await vigia("health")).toMatchObject({ active_triggers: 3 });
    // The owner skips row security: the statement itself has to know the scope.
    const { sql: text } = new PgDialect().sqlToQuery(activeTriggers({ scope: { kind: "project", id: mine } }).statement);
    const { rows: found } = await engine.db.asOwner((owner) => owner.query(text, [mine]));
    expect(found.map(({ count }) => Number(count))).toEqual([2]);
  });

  test("drift: a new kind of error in scope is found, another project's is not", async () => {
    const mine = await project(engine.db);
    const report = (type: string, days: number, count: number, id: string | null) =>
      rows(
        engine.db,
        sql`insert into brain_errors (error_type, error_message, project_id, created_at)
            select ${type}::text, 'x', ${id}::uuid, now() - ${days}::float8 * interval '1 day' from generate_series(1, ${count}::int)`,
      );
    await report("Timeout", 1, 7, mine);
    await report("Timeout", 20, 30, mine);
    expect(await vigia("drift", mine)).toMatchObject({
      metric: "drift",
      chi_squared: 0,
      degrees_of_freedom: 1,
      p_value: 1,
      categories: 1,
      drift_detected: false,
      error_distribution: [{ error_type: "Timeout", count: 7 }],
      new_types: [],
    });
    await report("OutOfMemory", 1, 6, await project(engine.db));
    expect(await vigia("drift", mine)).toMatchObject({ drift_detected: false });
    await report("OutOfMemory", 1, 6, mine);
    await report("Ancient", 40, 6, mine);
    expect(await vigia("drift", mine)).toMatchObject({ chi_squared: 72, categories: 2, drift_detected: true, new_types: ["OutOfMemory"] });
  });

  test("communities: computed for the scope alone, stored nowhere", async () => {
    const [mine, theirs] = [await project(engine.db), await project(engine.db)];
    await graph(triangles, mine);
    await graph([["x", "y"]], theirs);
    await entity(engine.db, mine, "lonely");
    expect(await vigia("communities", mine)).toMatchObject({
      metric: "communities",
      algorithm: "leiden",
      persisted: false,
      nodes_tagged: 0,
      communities: [
        { community_id: 1, size: 3, members: ["a", "b", "c"] },
        { community_id: 2, size: 3, members: ["d", "e", "f"] },
      ],
      count: 2,
      singletons: 1,
      project_scoped: true,
    });
    expect(await rows(engine.db, sql`select * from brain_communities`)).toEqual([]);
    expect(await vigia("communities")).toMatchObject({ count: 3, project_scoped: false });
  });

  test("an entity that only unreviewed text speaks of is no node", async () => {
    const ids = await graph(triangles);
    const suspect = String(ids.get("f"));
    await rows(
      engine.db,
      sql`insert into brain_observations (entity_id, content, trust) values (${suspect}::uuid, 'planted', 'quarantined')`,
    );
    const members = async () => items(await vigia("communities"), "communities").flatMap((each) => each.members as string[]);
    expect(await members()).not.toContain("f");
    await rows(engine.db, sql`update brain_observations set trust = 'trusted'`);
    expect(await members()).toContain("f");
  });

  test("bridges: what connects two parts comes first; where it cannot be computed, counts stand in and say so", async () => {
    await graph([
      ["left", "middle"],
      ["middle", "right"],
      ["middle", "up"],
    ]);
    expect(await vigia("bridges")).toMatchObject({
      metric: "bridges",
      algorithm: "brandes_betweenness",
      bridge_entities: [{ entity: "middle", centrality: 1 }],
      sampled: false,
    });
    const failing: RunMeasure = async () => {
      throw timedOut("too large");
    };
    const call = caller(undefined, {}, failing);
    expect(await call("cuba_vigia", { metric: "bridges" })).toMatchObject({
      algorithm: "sql_connection_count",
      bridge_entities: [{ entity: "middle", connections: 3 }],
      degraded: true,
      reason: "too large",
    });
    expect(await call("cuba_vigia", { metric: "communities" })).toMatchObject({
      algorithm: "fallback_groupby",
      communities: [{ type: "concept", size: 4 }],
      count: 1,
      persisted: false,
      nodes_tagged: 0,
      degraded: true,
    });
    expect((await over().refusal(call("cuba_vigia", { metric: "structural" }))).code).toBe("timeout");
  });

  test("structural: the centre of a star before its leaves, both by distance and by core", async () => {
    await graph([
      ["l1", "hub"],
      ["l2", "hub"],
      ["l3", "hub"],
      ["l4", "hub"],
    ]);
    const reply = await vigia("structural");
    expect(items(reply, "closeness_harmonic")).toEqual([
      { entity: "hub", harmonic: 4, closeness: 1 },
      ...["l1", "l2", "l3", "l4"].map((name) => ({ entity: name, harmonic: 2.5, closeness: 0.5714 })),
    ]);
    expect(items(reply, "kcore")).toEqual(["hub", "l1", "l2", "l3", "l4"].map((name) => ({ entity: name, kcore: 1 })));
  });

  test("zafra pagerank: stored beside the graph, ten runs are one, and no importance moves", async () => {
    await graph([
      ["a", "b"],
      ["b", "c"],
    ]);
    await entity(engine.db, null, "lonely");
    const stored = () =>
      rows(
        engine.db,
        sql`select e.name, e.importance, e.updated_at::text as at, round(m.pagerank_score::numeric, 4)::float8 as rank, m.betweenness_centrality as between,
                   round(m.energy_score::numeric, 4)::float8 as energy, m.last_calculated::text as calculated
            from brain_entities as e join brain_node_metrics as m on m.node_id = e.id order by e.name`,
      );
    expect(await zafra("pagerank")).toMatchObject({ action: "pagerank", updated: 3, energy_refreshed: 4, project_scoped: false });
    const once = await stored();
    expect(once.map(({ name, importance, rank, between, energy }) => ({ name, importance, rank, between, energy }))).toEqual([
      { name: "a", importance: 0.5, rank: 0, between: 0, energy: 0 },
      { name: "b", importance: 0.5, rank: 0.5405, between: 1, energy: 0.6554 },
      { name: "c", importance: 0.5, rank: 1, between: 0, energy: 0.75 },
      { name: "lonely", importance: 0.5, rank: 0, between: 0, energy: 0.375 },
    ]);
    for (let again = 0; again < 9; again++) await zafra("pagerank");
    expect(await stored()).toEqual(once);
  });

  test("zafra pagerank: a plain cycle says nothing, and nothing is stored", async () => {
    await graph([
      ["a", "b"],
      ["b", "c"],
      ["c", "a"],
    ]);
    expect(await zafra("pagerank")).toMatchObject({ updated: 0, energy_refreshed: 0 });
    expect(await rows(engine.db, sql`select * from brain_node_metrics`)).toEqual([]);
  });

  test("zafra communities: replaced as a whole, by id and not by name, with the modularity", async () => {
    const mine = await project(engine.db);
    await graph(triangles, mine);
    await graph([["a", "z"]]);
    await entity(engine.db, null, "lonely");
    const tagged = () =>
      rows(
        engine.db,
        sql`select string_agg(e.name, ',' order by e.name) as names, e.project_id as project, c.community_name as called, c.algorithm_version as algorithm
            from brain_node_metrics as m join brain_entities as e on e.id = m.node_id join brain_communities as c using (community_id)
            group by e.project_id, c.community_name, c.algorithm_version order by 1`,
      );
    const first = await zafra("communities", mine);
    expect(first).toMatchObject({
      action: "communities",
      communities: 3,
      nodes_tagged: 8,
      algorithm: "leiden_v1",
      singletons: 1,
      project_scoped: false,
    });
    expect(await tagged()).toMatchObject([
      { names: "a,b,c", project: mine, algorithm: "leiden_v1" },
      { names: "a,z", project: null },
      { names: "d,e,f", project: mine },
    ]);
    const before = await rows(engine.db, sql`select community_id from brain_communities`);
    expect((await row(engine.db, sql`select modularity_score as q from brain_communities limit 1`)).q).toBeCloseTo(
      Number(first.modularity),
      3,
    );
    await zafra("communities");
    const after = await rows(engine.db, sql`select community_id from brain_communities`);
    expect(after.length).toBe(3);
    expect(after.some(({ community_id: id }) => before.some((each) => each.community_id === id))).toBe(false);
    await rows(engine.db, sql`delete from brain_relations`);
    expect(await zafra("communities")).toMatchObject({ communities: 0, nodes_tagged: 0 });
    expect(await rows(engine.db, sql`select * from brain_communities`)).toEqual([]);
    expect(await row(engine.db, sql`select count(*)::int as n from brain_node_metrics where community_id is not null`)).toEqual({ n: 0 });
  });

  test(
    "no answer is above its size with 3,000 entities of long names",
    async () => {
      await rows(
        engine.db,
        sql`insert into brain_entities (name) select repeat('a long name ', 15) || n from generate_series(1, 3000) as n`,
      );
      await rows(
        engine.db,
        sql`insert into brain_relations (from_entity, to_entity, relation_type)
            select a.id, b.id, 'uses' from (select id, row_number() over (order by id) as n from brain_entities) as a
            join (select id, row_number() over (order by id) as n from brain_entities) as b on b.n = a.n + 1 and a.n % 3 <> 0`,
      );
      await rows(
        engine.db,
        sql`insert into brain_errors (error_type, error_message) select repeat('T', 100) || n, 'x' from generate_series(1, 900) as n`,
      );
      const count = await tokenCounter();
      for (const metric of ["summary", "health", "drift", "communities", "bridges", "structural"]) {
        const call = caller(undefined, { deadline: deadlineIn(SLOW_MS) });
        expect(count(JSON.stringify(await call("cuba_vigia", { metric })))).toBeLessThanOrEqual(10_000);
      }
    },
    SLOW_MS,
  );
});
