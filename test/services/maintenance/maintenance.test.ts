import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { unavailable } from "../../../src/kernel/errors.ts";
import { tokenCounter } from "../../../src/kernel/tokens.ts";
import { createUndo } from "../../../src/services/undo.ts";
import { agedRows } from "../../support/aged.ts";
import { testEmbedder } from "../../support/embedder.ts";
import { eachEngine, testScope } from "../../support/engines.ts";
import { graphOver, type Reply } from "../../support/graph.ts";
import { noDatabase } from "../../support/no-database.ts";
import { entity, project, row, rows } from "../../support/statements.ts";

const SLOW_MS = 60_000;
const items = (reply: Reply, key: string): Reply[] => reply[key] as Reply[];

test("refuses credentials and numbers without meaning before the database is asked", async () => {
  const { caller, refusal } = graphOver(noDatabase);
  const call = (args: Reply) => refusal(caller()("cuba_zafra", args));
  const summary = { action: "summarize", entity_name: "deploy", compressed_summary: "use ghp_abcdefghijklmnop" };
  const error = await call(summary);
  expect(error.message).toStartWith("refusing to write compressed_summary: what looks like a github token");
  expect(error.message).not.toContain("ghp_abc");
  expect((await call({ ...summary, allow_secret: true })).code).toBe("unavailable");
  expect((await call({ action: "summarize", entity_name: "deploy" })).field).toBe("compressed_summary");
  expect((await call({ action: "summarize", compressed_summary: "short" })).field).toBe("entity_name");
  for (const halflife_days of [0, -30, "30"]) expect((await call({ action: "decay", halflife_days })).field).toBe("halflife_days");
  for (const threshold of [-0.1, 1.1, "0.5"]) expect((await call({ action: "prune", threshold })).field).toBe("threshold");
  expect((await call({ action: "prune", confirm: "true" })).field).toBe("confirm");
  expect((await call({ action: "merge", similarity_threshold: 2 })).field).toBe("similarity_threshold");
  for (const c of [0, -1]) expect((await call({ action: "decay_episodes", c })).field).toBe("c");
  expect((await call({ action: "decay_episodes", beta: 0 })).field).toBe("beta");
  expect((await call({ action: "reembed", batch_size: 0 })).field).toBe("batch_size");
});

eachEngine("cuba_zafra", (engine) => {
  beforeEach(() => engine.db.reset());
  const caller = (id?: string) => graphOver(engine.db).caller(id === undefined ? { kind: "none" } : { kind: "project", id });
  const zafra = (args: Reply, id?: string) => caller(id)("cuba_zafra", args);
  const refusal = (work: Promise<unknown>) => graphOver(engine.db).refusal(work);

  const { aged, all, importanceOf, typeOf, reset } = agedRows(engine);
  beforeEach(reset);

  test("prune: without confirm it counts by project and type, and nothing changes", async () => {
    const named = await project(engine.db, "shop");
    await aged({ importance: 0.05 });
    await aged({ importance: 0.05, type: "context" });
    await aged({ importance: 0.01, project: named });
    const before = await all();
    expect(await zafra({ action: "prune" })).toMatchObject({
      action: "prune",
      dry_run: true,
      would_prune: 3,
      threshold: 0.1,
      by_project: [
        { project: "(global)", observations: 2 },
        { project: "shop", observations: 1 },
      ],
      by_type: [
        { type: "fact", observations: 2 },
        { type: "context", observations: 1 },
      ],
      project_scoped: false,
    });
    expect(await all()).toEqual(before);
  });

  test("prune: decisions, lessons, what was retired from them, what waits for review, and the threshold itself survive", async () => {
    const kept = [
      await aged({ importance: 0.001, type: "decision" }),
      await aged({ importance: 0.001, type: "lesson" }),
      await aged({ importance: 0.1 }),
      await aged({ importance: 0.001, trust: "quarantined" }),
    ];
    const retired = await aged({ importance: 0.001, type: "decision" });
    const unknown = await aged({ importance: 0.001 });
    const gone = [await aged({ importance: 0.0999 }), await aged({ importance: 0.001 })];
    for (const id of [retired, unknown, String(gone[1])])
      await rows(engine.db, sql`update brain_observations set observation_type = 'superseded' where id = ${id}::uuid`);
    await rows(engine.db, sql`update brain_observations set superseded_from = null where id = ${unknown}::uuid`);
    expect(await zafra({ action: "prune", confirm: true, scope: "all" })).toMatchObject({ dry_run: false, pruned: 2, remaining: 0 });
    expect((await all()).map((each) => String(each.id)).sort()).toEqual([...kept, retired, unknown].sort());
    expect(await rows(engine.db, sql`select row_id from brain_tombstones where table_name = 'brain_observations' order by row_id`)).toEqual(
      gone.sort().map((id) => ({ row_id: id })),
    );
    expect(await row(engine.db, sql`select action, payload from brain_audit_log`)).toEqual({
      action: "prune.observations",
      payload: { pruned: 2, threshold: 0.1, project_id: null },
    });
  });

  test("prune: one project's call never touches another, and without a project everything must be meant", async () => {
    const mine = await project(engine.db);
    await aged({ importance: 0.01, project: mine });
    const theirs = await aged({ importance: 0.01, project: await project(engine.db) });
    const loose = await aged({ importance: 0.01 });
    const error = await refusal(zafra({ action: "prune", confirm: true }));
    expect([error.code, error.field]).toEqual(["invalid", "scope"]);
    expect(await zafra({ action: "prune", confirm: true, scope: "all" }, mine)).toMatchObject({ pruned: 1, project_scoped: true });
    expect((await all()).map((each) => String(each.id)).sort()).toEqual([theirs, loose].sort());
  });

  test("prune: what went stands in an undo file and comes back; where none can be written nothing goes", async () => {
    let kept: Reply | undefined;
    const keepUndo = async (_kind: string, content: Reply) => {
      kept = content;
      return "/undo/prune-1.json";
    };
    const id = await aged({ importance: 0.01, content: "The port is 8080" });
    const failing = async () => {
      throw unavailable("no place");
    };
    const prune = { action: "prune", confirm: true, scope: "all" };
    expect((await refusal(graphOver(engine.db, { keepUndo: failing }).caller()("cuba_zafra", prune))).message).toBe("no place");
    expect(await typeOf(id)).toBe("fact");
    expect(await graphOver(engine.db, { keepUndo }).caller()("cuba_zafra", prune)).toMatchObject({
      pruned: 1,
      undo_file: "/undo/prune-1.json",
    });
    expect(await all()).toEqual([]);
    const [snapshot] = items(kept ?? {}, "observations");
    const restored = await createUndo({ db: engine.db }).restore(testScope(), JSON.parse(JSON.stringify(snapshot)));
    expect(restored).toMatchObject({ id, sameId: true });
    expect(await row(engine.db, sql`select content from brain_observations`)).toEqual({ content: "The port is 8080" });
    expect(await rows(engine.db, sql`select * from brain_tombstones`)).toEqual([]);
  });

  test("merge: of three texts with the same words one survives, the trusted one, and points are kept", async () => {
    const [loud, plain, unread] = [
      await aged({ content: "The worker retries failed jobs five times.", importance: 0.9 }),
      await aged({ content: "The worker retries failed jobs five times", importance: 0.4 }),
      await aged({ content: "the worker retries failed jobs five times", importance: 1, trust: "quarantined" }),
    ];
    expect(await zafra({ action: "merge" })).toMatchObject({
      action: "merge",
      merged: 2,
      threshold: 0.8,
      skipped_different: 0,
      project_scoped: false,
    });
    expect(await Promise.all([loud, plain, unread].map(typeOf))).toEqual(["fact", "superseded", "superseded"]);
    expect(await importanceOf(loud)).toBe(1);
    expect(
      await rows(
        engine.db,
        sql`select superseded_by as by, superseded_from as was from brain_observations where observation_type = 'superseded'`,
      ),
    ).toEqual([
      { by: loud, was: "fact" },
      { by: loud, was: "fact" },
    ]);
    expect(await zafra({ action: "merge" })).toMatchObject({ merged: 0 });
  });

  test("merge: two texts that differ in a number both stay, and are counted", async () => {
    await aged({ content: "The preview server listens on port 8080" });
    await aged({ content: "The preview server listens on port 9090" });
    expect(await zafra({ action: "merge", similarity_threshold: 0.6 })).toMatchObject({ merged: 0, skipped_different: 1 });
    expect((await all()).map((each) => each.observation_type)).toEqual(["fact", "fact"]);
  });

  test("merge: a decision is not retired for a fact, nor a row of one entity or project for one of another", async () => {
    const text = "Deployments are rolled out region by region";
    const [decision, fact] = [
      await aged({ content: text, type: "decision", importance: 0.1 }),
      await aged({ content: text, importance: 0.9 }),
    ];
    await aged({ content: text, of: await entity(engine.db) });
    await aged({ content: text, project: await project(engine.db) });
    const unread = await aged({ content: "Alerts page the on-call engineer at night", type: "decision", trust: "quarantined" });
    await aged({ content: "Alerts page the on-call engineer at night" });
    expect(await zafra({ action: "merge" })).toMatchObject({ merged: 1 });
    expect([await typeOf(decision), await typeOf(fact), await typeOf(unread)]).toEqual(["decision", "superseded", "decision"]);
  });

  test(
    "merge: more than 100 pairs take a second call, and an entity with many rows is compared by its marks",
    async () => {
      const owner = await entity(engine.db);
      await rows(
        engine.db,
        sql`insert into brain_observations (entity_id, content)
            select ${owner}::uuid, 'Service number ' || n || ' answers on its own port' || dot
            from generate_series(1, 110) as n, unnest(array['', '.']) as dot`,
      );
      expect(await zafra({ action: "merge" })).toMatchObject({ merged: 100, remaining: 10 });
      expect(await zafra({ action: "merge" })).toMatchObject({ merged: 10, remaining: 0 });
      expect((await row(engine.db, sql`select count(*)::int as n from brain_observations where observation_type <> 'superseded'`)).n).toBe(
        110,
      );
    },
    SLOW_MS,
  );

  test("merge: the fact of the retired row ends with that of the survivor in its place", async () => {
    const call = caller();
    const add = async (content: string, more: Reply = {}) =>
      String((await call("cuba_cronica", { action: "add", entity_name: "worker", content, ...more })).id);
    const first = await add("The worker retries failed jobs five times");
    const second = await add("The worker retries failed jobs five times.", { force: true });
    await zafra({ action: "merge" });
    const state = await rows(
      engine.db,
      sql`select observation_id as of, is_current, superseded_by is not null as followed from brain_facts order by is_current`,
    );
    expect(state).toEqual([
      { of: second, is_current: false, followed: true },
      { of: first, is_current: true, followed: false },
    ]);
  });

  test("summarize: one observation in the place of many; decisions, lessons and what nobody reviewed stay", async () => {
    const call = caller();
    const add = (content: string, more: Reply = {}) => call("cuba_cronica", { action: "add", entity_name: "deploy", content, ...more });
    await add("Deployments run at nine");
    await add("Deployments need a green build");
    await add("Deployments go region by region", { observation_type: "decision" });
    await add("Deployments may be paused", { trust: "quarantined" });
    const reply = await zafra({
      action: "summarize",
      entity_name: "deploy",
      compressed_summary: "Deployments run at nine on a green build",
    });
    expect(reply).toMatchObject({
      action: "summarize",
      entity: "deploy",
      superseded: 2,
      kept: 1,
      quarantined_kept: 1,
      project_scoped: false,
    });
    expect(
      await rows(
        engine.db,
        sql`select observation_type as type, source, superseded_by as by, embedding is null as pending from brain_observations order by created_at, id`,
      ),
    ).toEqual([
      { type: "superseded", source: "agent", by: reply.observation_id, pending: true },
      { type: "superseded", source: "agent", by: reply.observation_id, pending: true },
      { type: "decision", source: "agent", by: null, pending: true },
      { type: "fact", source: "agent", by: null, pending: true },
      { type: "fact", source: "consolidation", by: null, pending: true },
    ]);
    expect((await row(engine.db, sql`select count(*)::int as n from brain_facts where is_current`)).n).toBe(2);
    const again = { action: "summarize", entity_name: "deploy", compressed_summary: "Deployments: nine o'clock", include_protected: true };
    expect(await zafra(again)).toMatchObject({ superseded: 2, kept: 0 });
  });

  test("summarize: an entity of another project is not found, and nothing is written", async () => {
    const [mine, theirs] = [await project(engine.db), await project(engine.db)];
    await entity(engine.db, theirs, "deploy");
    const error = await refusal(zafra({ action: "summarize", entity_name: "deploy", compressed_summary: "short" }, mine));
    expect([error.code, error.message.startsWith("Entity 'deploy' not found")]).toEqual(["not_found", true]);
    expect(await all()).toEqual([]);
  });

  test("stats has the abstention gate fit its distributions anew", async () => {
    let forgotten = 0;
    const call = graphOver(engine.db, {
      forgetDistributions: () => {
        forgotten++;
      },
    }).caller();
    await call("cuba_zafra", { action: "stats" });
    expect(forgotten).toBe(1);
  });

  test("stats, find_duplicates and export see the active project alone", async () => {
    const mine = await project(engine.db);
    const owner = await entity(engine.db, mine, "server");
    const [a, b] = [
      await aged({ content: "The preview server listens on port 8080", project: mine, of: owner }),
      await aged({ content: "The preview server listens on port 9090", project: mine, of: owner }),
    ];
    await rows(
      engine.db,
      sql`update brain_observations set observation_type = 'superseded' where id = ${await aged({ project: mine, of: owner })}::uuid`,
    );
    const other = await entity(engine.db);
    for (const port of [1, 2]) await aged({ content: `The preview server listens on port ${port}`, of: other });
    expect(await zafra({ action: "stats" }, mine)).toEqual({
      action: "stats",
      entities: 1,
      observations: 3,
      superseded: 1,
      active: 2,
      project_scoped: true,
      warnings: [],
    });
    const found = await zafra({ action: "find_duplicates" }, mine);
    expect(found).toMatchObject({ count: 1, project_scoped: true });
    const [pair] = items(found, "duplicates");
    expect(pair).toMatchObject({ entity: "server" });
    expect([pair?.id_a, pair?.id_b].sort()).toEqual([a, b].sort());
    expect(Number(pair?.similarity)).toBeGreaterThan(0.7);
    expect((await zafra({ action: "find_duplicates" })).count).toBe(2);
    expect(await zafra({ action: "export" }, mine)).toMatchObject({
      action: "export",
      entities: [{ id: owner, name: "server", type: "concept", importance: 0.5 }],
      count: 1,
      total: 1,
      truncated: false,
      project_scoped: true,
    });
  });

  test("find_duplicates shows no withheld row, few rows or many", async () => {
    const [few, many] = [await entity(engine.db), await entity(engine.db)];
    const add = (of: string, from: number, to: number, trust: string) =>
      rows(
        engine.db,
        sql`insert into brain_observations (entity_id, content, trust)
            select ${of}::uuid, 'The preview server listens on port ' || n, ${trust}::text from generate_series(${from}::int, ${to}::int) as n returning id`,
      );
    await add(few, 1, 2, "trusted");
    await add(few, 3, 5, "quarantined");
    expect((await zafra({ action: "find_duplicates" })).count).toBe(1);
    await add(many, 1, 1, "trusted");
    await add(many, 2, 70, "quarantined");
    expect((await zafra({ action: "find_duplicates" })).count).toBe(1);
    await add(many, 71, 71, "trusted");
    expect((await zafra({ action: "find_duplicates" })).count).toBe(2);
  });

  test(
    "export and find_duplicates stay below the size of an answer and say how to read on",
    async () => {
      await rows(engine.db, sql`insert into brain_entities (name) select repeat('long name ', 15) || n from generate_series(1, 700) as n`);
      await rows(
        engine.db,
        sql`insert into brain_observations (entity_id, content)
            select (select min(id::text)::uuid from brain_entities), repeat('the same beginning of a long text ', 20) || n from generate_series(1, 40) as n`,
      );
      for (const action of ["export", "find_duplicates"]) {
        const reply = await zafra({ action });
        expect((await tokenCounter())(JSON.stringify(reply))).toBeLessThanOrEqual(10_000);
        expect(reply).toMatchObject({ truncated: true, next: { offset: reply.count } });
        expect((await zafra({ action, offset: Number(reply.count) })).count).toBeGreaterThan(0);
      }
    },
    SLOW_MS,
  );

  test("reembed: without a model it is no error and says what is missing", async () => {
    await aged();
    const reply = await zafra({ action: "reembed" });
    expect(reply).toMatchObject({ action: "reembed", updated: 0 });
    expect(String(reply.error)).toContain("model not loaded");
  });

  test("reembed: rows without a vector of the running model get one, the rest next time", async () => {
    const owner = await entity(engine.db, null, "worker");
    for (let at = 0; at < 5; at++) await aged({ content: `The worker has queue number ${at}`, of: owner, importance: 0.1 * at });
    const embedder = testEmbedder();
    const call = graphOver(engine.db, { embedder }).caller();
    const first = await call("cuba_zafra", { action: "reembed", batch_size: 3 });
    expect(first).toMatchObject({ total_fetched: 3, updated: 3, failed: 0, remaining: 2, model: "letters/name-type-1", dim: 384 });
    // The same text as on the write path: name, type and content, the most important first.
    expect(embedder.asked[0]).toBe("worker (concept): The worker has queue number 4");
    expect(await call("cuba_zafra", { action: "reembed" })).toMatchObject({ total_fetched: 2, updated: 2, remaining: 0 });
    expect(await call("cuba_zafra", { action: "reembed" })).toMatchObject({ total_fetched: 0, updated: 0, remaining: 0 });
  });
});
