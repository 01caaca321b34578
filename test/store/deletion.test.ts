import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { newId } from "../../src/kernel/ids.ts";
import { eachEngine, testScope } from "../support/engines.ts";
import { entity, observation, project, row, rows } from "../support/statements.ts";

eachEngine("tombstones", (engine) => {
  beforeEach(() => engine.db.reset());
  const graves = () => rows(engine.db, sql`select table_name, row_id, origin_node from brain_tombstones order by table_name, row_id`);

  test("an entity with two observations and a fact leaves four, each with its own key", async () => {
    const id = await entity(engine.db);
    const [first, second] = [await observation(engine.db, id), await observation(engine.db, id)];
    const fact = await row(
      engine.db,
      sql`insert into brain_facts (subject_entity_id, observation_id, subject, predicate, object) values (${id}::uuid, ${first}::uuid, 's', 'p', 'o') returning fact_id`,
    );
    await rows(engine.db, sql`delete from brain_entities where id = ${id}::uuid`);
    expect(await graves()).toEqual([
      { table_name: "brain_entities", row_id: id, origin_node: "test" },
      { table_name: "brain_facts", row_id: fact.fact_id, origin_node: "test" },
      ...[first, second].sort().map((row_id) => ({ table_name: "brain_observations", row_id, origin_node: "test" })),
    ]);
  });

  test("stand for every table of the list and hold no text", async () => {
    const owner = await project(engine.db);
    const id = await entity(engine.db);
    const other = await entity(engine.db);
    await observation(engine.db, id);
    await rows(engine.db, sql`insert into brain_episodes (entity_id, content) values (${id}::uuid, 'secret')`);
    await rows(engine.db, sql`insert into brain_errors (error_type, error_message) values ('t', 'secret')`);
    await rows(
      engine.db,
      sql`insert into brain_relations (from_entity, to_entity, relation_type) values (${id}::uuid, ${other}::uuid, 'uses')`,
    );
    await rows(engine.db, sql`insert into brain_procedures (name) values ('secret')`);
    await rows(engine.db, sql`insert into brain_facts (subject, predicate, object) values ('secret', 'p', 'o')`);
    await rows(engine.db, sql`insert into brain_artifacts (path, content_hash) values ('secret', repeat('0', 64))`);
    for (const table of ["relations", "facts", "observations", "episodes", "errors", "procedures", "artifacts", "entities", "projects"]) {
      await rows(engine.db, sql`delete from ${sql.identifier(`brain_${table}`)}`);
    }
    expect(await rows(engine.db, sql`select table_name, count(*)::int as n from brain_tombstones group by 1 order by 1`)).toEqual([
      { table_name: "brain_artifacts", n: 1 },
      { table_name: "brain_entities", n: 2 },
      { table_name: "brain_episodes", n: 1 },
      { table_name: "brain_errors", n: 1 },
      { table_name: "brain_facts", n: 1 },
      { table_name: "brain_observations", n: 1 },
      { table_name: "brain_procedures", n: 1 },
      { table_name: "brain_projects", n: 1 },
      { table_name: "brain_relations", n: 1 },
    ]);
    expect(JSON.stringify(await graves())).not.toContain("secret");
    expect(owner).toBeDefined();
  });

  test("are not written for a deletion that was rolled back, and renewed by a second one", async () => {
    const id = await entity(engine.db);
    const attempt = engine.db.write(testScope(), async (tx) => {
      await tx.run(sql`delete from brain_entities where id = ${id}::uuid`);
      throw new Error("changed my mind");
    });
    await expect(attempt).rejects.toThrow("changed my mind");
    expect(await graves()).toEqual([]);
    await rows(engine.db, sql`delete from brain_entities where id = ${id}::uuid`);
    await rows(engine.db, sql`insert into brain_entities (id, name) values (${id}::uuid, ${newId()}::text)`);
    await rows(engine.db, sql`delete from brain_entities where id = ${id}::uuid`);
    expect(await graves()).toHaveLength(1);
  });
});

eachEngine("deleting a row", (engine) => {
  test("an observation takes chunks, facts, verdicts and conflicts along; rows it superseded lose the pointer only", async () => {
    const id = await entity(engine.db);
    const gone = await observation(engine.db, id);
    const kept = await observation(engine.db, id);
    await rows(engine.db, sql`insert into brain_observation_chunks (observation_id, chunk_index, content) values (${gone}::uuid, 0, 'c')`);
    await rows(engine.db, sql`insert into brain_facts (observation_id, subject, predicate, object) values (${gone}::uuid, 's', 'p', 'o')`);
    await rows(
      engine.db,
      sql`insert into brain_sync_conflicts (observation_id, local_content, incoming_content) values (${gone}::uuid, 'a', 'b')`,
    );
    const [a, b] = [gone, kept].sort();
    await rows(
      engine.db,
      sql`insert into brain_judgments (observation_a, observation_b, verdict, confidence, judge_backend) values (${a}::uuid, ${b}::uuid, 'unrelated', 1, 'x')`,
    );
    await rows(
      engine.db,
      sql`update brain_observations set observation_type = 'superseded', superseded_by = ${gone}::uuid where id = ${kept}::uuid`,
    );
    await rows(engine.db, sql`delete from brain_observations where id = ${gone}::uuid`);
    const left = await row(
      engine.db,
      sql`select (select count(*) from brain_observation_chunks where observation_id = ${gone}::uuid)
               + (select count(*) from brain_facts where observation_id = ${gone}::uuid)
               + (select count(*) from brain_sync_conflicts where observation_id = ${gone}::uuid)
               + (select count(*) from brain_judgments where ${gone}::uuid in (observation_a, observation_b)) as n`,
    );
    expect(left.n).toBe("0");
    expect(await row(engine.db, sql`select superseded_by, observation_type from brain_observations where id = ${kept}::uuid`)).toEqual({
      superseded_by: null,
      observation_type: "superseded",
    });
  });

  test("a session takes notes and snapshots along and leaves observations and episodes", async () => {
    const { id: session } = await row(engine.db, sql`insert into brain_sessions default values returning id`);
    const owner = await entity(engine.db);
    const id = await observation(engine.db, owner);
    await rows(engine.db, sql`update brain_observations set session_id = ${session}::uuid where id = ${id}::uuid`);
    await rows(
      engine.db,
      sql`insert into brain_wm (session_id, content, expires_at) values (${session}::uuid, 'n', now() + interval '1 h')`,
    );
    await rows(engine.db, sql`insert into brain_compaction_snapshots (session_id, summary_md) values (${session}::uuid, 's')`);
    await rows(engine.db, sql`delete from brain_sessions where id = ${session}::uuid`);
    expect(await rows(engine.db, sql`select 1 from brain_wm where session_id = ${session}::uuid`)).toEqual([]);
    expect(await rows(engine.db, sql`select 1 from brain_compaction_snapshots where session_id = ${session}::uuid`)).toEqual([]);
    expect(await row(engine.db, sql`select session_id from brain_observations where id = ${id}::uuid`)).toEqual({ session_id: null });
  });
});

eachEngine("tables that cap themselves", (engine) => {
  beforeEach(() => engine.db.reset());
  const count = async (table: string, where = sql`true`) =>
    Number((await row(engine.db, sql`select count(*) as n from ${sql.identifier(table)} where ${where}`)).n);

  test("keep the newest 1000 failures and 500 cycles", async () => {
    await rows(
      engine.db,
      sql`insert into brain_handler_failures (tool, error, elapsed_ms, created_at) select 't', n::text, 1, now() + n * interval '1 ms' from generate_series(1, 1005) n`,
    );
    expect(await count("brain_handler_failures")).toBe(1000);
    expect(await count("brain_handler_failures", sql`error in ('1', '5')`)).toBe(0);
    await rows(
      engine.db,
      sql`insert into brain_rem_cycles (started_at, finished_at, duration_ms) select now(), now() + n * interval '1 ms', n from generate_series(1, 501) n`,
    );
    expect(await count("brain_rem_cycles")).toBe(500);
  });

  test("keep 200 notes between agents and leave other triggers alone", async () => {
    const add = (condition: string, many: number) =>
      rows(
        engine.db,
        sql`insert into brain_triggers (entity_pattern, condition_type, message) select 'p', ${condition}::text, 'm' from generate_series(1, ${many}::int)`,
      );
    await add("on_access", 205);
    await add("on_session_start", 203);
    expect(await count("brain_triggers", sql`condition_type = 'on_session_start'`)).toBe(200);
    expect(await count("brain_triggers", sql`condition_type = 'on_access'`)).toBe(205);
  });

  test("keep 200 notices of a node and 1000 in all, however many ids a peer invents", async () => {
    const add = (node: ReturnType<typeof sql>, many: number) =>
      rows(engine.db, sql`insert into brain_peer_notices (node_id, summary) select ${node}, 's' from generate_series(1, ${many}::int)`);
    await add(sql`'00000000-0000-4000-8000-000000000001'::uuid`, 205);
    expect(await count("brain_peer_notices")).toBe(200);
    await add(sql`gen_random_uuid()`, 1005);
    expect(await count("brain_peer_notices")).toBe(1000);
  });
});
