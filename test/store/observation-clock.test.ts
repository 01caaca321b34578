import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { eachEngine, testScope } from "../support/engines.ts";
import { entity, observation, project, row, rows, rowsIn } from "../support/statements.ts";

const VECTOR = `[${Array.from({ length: 384 }, (_, index) => (index === 0 ? 1 : 0)).join(",")}]`;

eachEngine("the clock of an observation", (engine) => {
  let id = "";
  beforeEach(async () => {
    id = await observation(engine.db, await entity(engine.db), { content: "first text" });
  });
  const read = () => row(engine.db, sql`select * from brain_observations where id = ${id}::uuid`);
  const update = (assignment: ReturnType<typeof sql>) =>
    rows(engine.db, sql`update brain_observations set ${assignment} where id = ${id}::uuid`);

  test("does not tick for decay, reinforcement, a new vector or a version set by hand", async () => {
    const before = await read();
    await update(sql`importance = 0.1, last_decayed_at = now()`);
    await update(sql`access_count = access_count + 1, last_accessed = now()`);
    await update(sql`embedding = ${VECTOR}::vector, embedding_model = 'm'`);
    await update(sql`version = 99, updated_at = '2020-01-01'::timestamptz`);
    await update(sql`content = 'first text'`);
    const after = await read();
    expect(after.version).toBe(1);
    expect(after.updated_at).toBe(before.updated_at);
  });

  test("ticks once when the content changes and not when the same text comes again", async () => {
    await update(sql`content = 'second text'`);
    await update(sql`content = 'second text'`);
    expect((await read()).version).toBe(2);
    expect((await read()).previous_versions).toMatchObject([{ content: "first text", version: 1, origin_node: "test" }]);
  });

  test("ticks for type, trust, tags and entity, and a move keeps history and vector", async () => {
    await update(sql`embedding = ${VECTOR}::vector, embedding_model = 'm'`);
    await update(sql`observation_type = 'lesson'`);
    await update(sql`trust = 'quarantined'`);
    await update(sql`tags = ${"{a,b}"}::text[]`);
    const other = await entity(engine.db);
    await update(sql`entity_id = ${other}::uuid`);
    const after = await read();
    expect(after).toMatchObject({ version: 5, embedding_model: "m", previous_versions: [], entity_id: other });
  });

  test("keeps the newest 20 of 30 corrections, the last one at the end", async () => {
    for (let count = 1; count <= 30; count++) await update(sql`content = ${`text ${count}`}::text`);
    const { version, previous_versions: history } = await read();
    expect(version).toBe(31);
    expect(history).toHaveLength(20);
    expect(history).toMatchObject({ 0: { content: "text 10" }, 19: { content: "text 29", version: 30 } });
  });

  test("keeps a vector that comes with the new text and drops one that does not", async () => {
    await update(sql`content = 'with vector', embedding = ${VECTOR}::vector, embedding_model = 'm'`);
    expect((await read()).embedding_model).toBe("m");
    await rows(engine.db, sql`insert into brain_observation_chunks (observation_id, chunk_index, content) values (${id}::uuid, 0, 'with')`);
    await update(sql`content = 'without vector'`);
    expect(await read()).toMatchObject({ embedding: null, embedding_model: null });
    expect(await rows(engine.db, sql`select 1 from brain_observation_chunks where observation_id = ${id}::uuid`)).toEqual([]);
  });

  test("counts the raw words while no prepared ones are there, and drops prepared words with their text", async () => {
    await update(sql`content = 'alpha beta gamma'`);
    expect(await read()).toMatchObject({ lexical: null, lexical_length: 3 });
    await update(sql`lexical = 'alpha beta'`);
    expect((await read()).lexical_length).toBe(2);
    const hits = await rows(
      engine.db,
      sql`select 1 from brain_observations where id = ${id}::uuid and search_vector @@ cuba_or_tsquery('beta zeta')`,
    );
    expect(hits).toHaveLength(1);
    await update(sql`content = 'delta'`);
    expect(await read()).toMatchObject({ lexical: null, lexical_length: 1 });
    await update(sql`content = 'delta epsilon', lexical = 'delta eps epsilon'`);
    expect((await read()).lexical_length).toBe(3);
  });

  test("remembers the type under a superseded row and gives it back", async () => {
    const successor = await observation(engine.db, String((await read()).entity_id));
    await update(sql`observation_type = 'decision'`);
    await update(sql`observation_type = 'superseded', superseded_by = ${successor}::uuid`);
    expect(await read()).toMatchObject({ superseded_from: "decision", superseded_by: successor });
    expect((await read()).superseded_at).not.toBeNull();
    await update(sql`observation_type = superseded_from`);
    expect(await read()).toMatchObject({ observation_type: "decision", superseded_from: null, superseded_at: null, superseded_by: null });
  });

  test("lets an import set the clock, forward alone", async () => {
    const importing = (assignment: ReturnType<typeof sql>) =>
      engine.db.write(testScope(), async (tx) => {
        await tx.run(sql`select set_config('app.sync_import', 'on', true)`);
        await tx.run(sql`update brain_observations set ${assignment} where id = ${id}::uuid`);
      });
    await importing(sql`version = 7, updated_at = '2026-01-02T03:04:05.123456Z'::timestamptz`);
    expect(await read()).toMatchObject({ version: 7, updated_at: "2026-01-02 03:04:05.123456+00" });
    await importing(sql`version = 3, content = 'from a peer', previous_versions = '[]'`);
    expect(await read()).toMatchObject({ version: 8, previous_versions: [] });
  });

  test("moves chunks and mirrored facts to the project of the observation", async () => {
    const target = await project(engine.db);
    const entityId = String((await read()).entity_id);
    await rows(
      engine.db,
      sql`insert into brain_observation_chunks (observation_id, chunk_index, content) values (${id}::uuid, 0, 'first')`,
    );
    await rows(
      engine.db,
      sql`insert into brain_facts (subject_entity_id, observation_id, subject, predicate, object) values (${entityId}::uuid, ${id}::uuid, 's', 'p', 'o')`,
    );
    await update(sql`project_id = ${target}::uuid`);
    expect(await rows(engine.db, sql`select project_id from brain_observation_chunks where observation_id = ${id}::uuid`)).toEqual([
      { project_id: target },
    ]);
    expect(await rows(engine.db, sql`select project_id from brain_facts where observation_id = ${id}::uuid`)).toEqual([
      { project_id: target },
    ]);
    expect((await read()).version).toBe(1);
  });

  test("rings the bell for inserts and changes, with an identifier, and stays silent for an import", async () => {
    const heard: string[] = [];
    const arrived = Promise.withResolvers<void>();
    await using _listening = await engine.db.listen("brain_sync_clock", (payload) => {
      heard.push(payload);
      if (payload === "brain_observations:end") arrived.resolve();
    });
    await update(sql`importance = 0.3`);
    await engine.db.write(testScope(), async (tx) => {
      await tx.run(sql`select set_config('app.sync_import', 'on', true)`);
      await tx.run(sql`update brain_observations set content = 'imported' where id = ${id}::uuid`);
    });
    await update(sql`content = 'announced'`);
    await rows(engine.db, sql`select pg_notify('brain_sync_clock', 'brain_observations:end')`);
    await arrived.promise;
    expect(heard).toEqual([`brain_observations:${id}`, "brain_observations:end"]);
  });

  test("deletes cached verdicts about a text that changed", async () => {
    const entityId = String((await read()).entity_id);
    const other = await observation(engine.db, entityId);
    const [a, b] = [id, other].sort();
    await rows(
      engine.db,
      sql`insert into brain_judgments (observation_a, observation_b, verdict, confidence, judge_backend)
          values (${a}::uuid, ${b}::uuid, 'contradicts', 0.9, 'nli')`,
    );
    await update(sql`importance = 0.9`);
    expect(await rows(engine.db, sql`select 1 from brain_judgments where observation_a = ${a}::uuid`)).toHaveLength(1);
    await update(sql`content = 'other words'`);
    expect(await rows(engine.db, sql`select 1 from brain_judgments where observation_a = ${a}::uuid`)).toEqual([]);
  });

  test("does not depend on how often decay runs", async () => {
    const decay = (days: number) => sql`
      update brain_observations
      set importance = greatest(0.01, importance * exp(-ln(2) * extract(epoch from (last_accessed + ${days}::float8 * interval '1 day') - greatest(last_accessed, last_decayed_at)) / 86400 / (30 * (1 + ln(1 + access_count))))),
          last_decayed_at = last_accessed + ${days}::float8 * interval '1 day'
      where id = ${id}::uuid returning importance`;
    await update(sql`importance = 0.5, last_decayed_at = last_accessed`);
    await rows(engine.db, decay(10));
    expect(Number((await row(engine.db, decay(20))).importance)).toBeCloseTo(0.31498, 5);
    await update(sql`importance = 1, last_decayed_at = last_accessed, access_count = 9`);
    expect(Number((await row(engine.db, decay(30))).importance)).toBeCloseTo(0.811, 3);
  });

  test("answers a statement inside its transaction", async () => {
    const seen = await engine.db.write(testScope(), async (tx) => {
      await tx.run(sql`update brain_observations set content = 'inside' where id = ${id}::uuid`);
      return await rowsIn(tx, sql`select content, version from brain_observations where id = ${id}::uuid`);
    });
    expect(seen).toEqual([{ content: "inside", version: 2 }]);
  });
});
