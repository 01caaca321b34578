/** The signs of vectors follow the vectors that search may serve, whatever happens to a row; and what they find is what comparing every vector finds. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { z } from "zod";
import { createSigns } from "../../src/services/embedding/signs.ts";
import { query, vectorParam } from "../../src/store/codecs.ts";
import { signCounts } from "../../src/store/queries/diagnosis.ts";
import type { Filters } from "../../src/store/queries/search-filters.ts";
import { nearestBySigns, nearestRows } from "../../src/store/queries/search-vectors.ts";
import { changeVectorWidth } from "../../src/store/vectors.ts";
import { eachEngine, inProject, testScope } from "../support/engines.ts";
import { LABEL, seedEpisode, seedMany, seedObservation, seedProject } from "../support/search.ts";

const everywhere: Filters = { scope: { kind: "none" }, includeUnscoped: false, after: undefined, before: undefined, tag: undefined };

/** Unit vectors that share a large common part, as those of real models do. */
function vectorsOf(seed: number): () => Float32Array {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
  return () => {
    const vector = Float32Array.from({ length: 384 }, (_, at) => next() + (at % 3 === 0 ? 1 : -0.4));
    const norm = Math.hypot(...vector);
    return vector.map((value) => value / norm);
  };
}

const Sign = z.object({ kind: z.int(), key: z.string(), id: z.string(), signs: z.string() });
const stored = query(
  Sign,
  () =>
    sql`select s.kind, s.project_key as key, s.row_id as id, s.signs::text as signs from brain_vector_signs as s order by s.kind, s.row_id`,
);
/** What should be there: every served vector signed afresh. */
const expected = query(
  Sign,
  () => sql`
  select v.kind, v.project_key as key, v.id, binary_quantize(v.embedding - c.mean::vector)::text as signs
  from brain_vector_centers as c cross join lateral (
    select 1 as kind, coalesce(o.project_id, '00000000-0000-0000-0000-000000000000') as project_key, o.id, o.embedding, o.embedding_model as label
    from brain_observations as o where o.embedding is not null and o.trust = 'trusted' and o.observation_type <> 'superseded'
    union all
    select 5, coalesce(p.project_id, '00000000-0000-0000-0000-000000000000'), p.id, p.embedding, p.embedding_model
    from brain_observation_chunks as p join brain_observations as o on o.id = p.observation_id
    where p.embedding is not null and o.trust = 'trusted' and o.observation_type <> 'superseded'
    union all
    select 4, coalesce(e.project_id, '00000000-0000-0000-0000-000000000000'), e.id, e.embedding, e.embedding_model
    from brain_episodes as e where e.embedding is not null and e.trust = 'trusted'
  ) as v
  where v.label = c.label
  order by v.kind, v.id`,
);

eachEngine("the signs of vectors", (engine) => {
  beforeEach(() => engine.db.reset());
  const everything = testScope({ scope: { kind: "everything" } });
  const change = (statement: string) => engine.db.asOwner((connection) => connection.script(statement));
  const read = async () => engine.db.read(everything, async (tx) => ({ is: await tx.all(stored({})), should: await tx.all(expected({})) }));
  const expectTrue = async () => {
    const { is, should } = await read();
    expect(is).toEqual(should);
    expect(await engine.db.read(everything, (tx) => tx.first(signCounts({ model: LABEL })))).toEqual({
      signed: should.length,
      missing: 0,
      strange: 0,
    });
  };
  /** Many observations with vectors, stored as one statement. */
  const fill = async (count: number, project: string | null, next: () => Float32Array) => {
    const ids = await seedMany(
      engine.db,
      Array.from({ length: count }, (_, at) => `filler ${at}`),
      "filler",
      project,
    );
    for (const id of ids)
      await engine.db.write(everything, (tx) =>
        tx.run(
          sql`update brain_observations set embedding = ${vectorParam(next())}, embedding_model = ${LABEL}::text where id = ${id}::uuid`,
        ),
      );
    return ids;
  };

  test("are taken once a model has 64 vectors, and follow every way in which a row changes", async () => {
    const { db } = engine;
    const next = vectorsOf(3);
    const [a, b] = [await seedProject(db, "A"), await seedProject(db, "B")];
    const signs = createSigns(db);
    const long = await seedObservation(db, {
      entity: "Long",
      content: "a long text",
      project: a,
      vector: next(),
      chunks: [{ content: "head", vector: next() }, { content: "tail", vector: next() }, { content: "waits" }],
    });
    await seedObservation(db, { content: "in quarantine", project: a, vector: next(), trust: "quarantined" });
    await seedEpisode(db, { content: "an episode", project: a, vector: next() });
    await fill(40, a, next);
    await signs.stored(LABEL, 45);
    expect((await read()).is).toEqual([]);
    await fill(20, null, next);
    await signs.stored(LABEL, 32);
    expect((await read()).is).toHaveLength(64);
    await expectTrue();

    const vector = `'[${[...next()].join(",")}]'::vector`;
    for (const statement of [
      `update brain_observations set embedding = ${vector}, embedding_model = '${LABEL}' where id = '${long}'`,
      `update brain_observations set access_count = access_count + 1, importance = 0.9`,
      `update brain_observations set observation_type = 'superseded' where id = '${long}'`,
      `update brain_observation_chunks set embedding = ${vector}, embedding_model = '${LABEL}' where content = 'waits'`,
      `update brain_observations set observation_type = 'fact' where id = '${long}'`,
      `update brain_observations set trust = 'trusted'`,
      `update brain_entities set project_id = '${b}' where name = 'Long'; update brain_observations set project_id = '${b}' where id = '${long}'`,
      `update brain_observations set trust = 'quarantined' where id = '${long}'`,
      `update brain_observations set trust = 'trusted' where id = '${long}'`,
      `update brain_observations set embedding_model = 'another' where id = '${long}'`,
      `update brain_observations set embedding_model = '${LABEL}' where id = '${long}'`,
      `update brain_episodes set trust = 'quarantined'`,
      `update brain_episodes set trust = 'trusted'`,
      `update brain_observations set content = 'new words' where id = '${long}'`,
      `delete from brain_episodes`,
      `delete from brain_entities where name = 'Long'`,
      `delete from brain_observations where content like 'filler 1%'`,
    ]) {
      await change(statement);
      await expectTrue();
    }
    await signs.refit(LABEL);
    await expectTrue();
  }, 120_000);

  test("that are missing or strange are counted, and made anew by a new mean", async () => {
    const counts = () => engine.db.read(everything, (tx) => tx.first(signCounts({ model: LABEL })));
    expect(await counts()).toBeUndefined();
    await fill(70, null, vectorsOf(9));
    const signs = createSigns(engine.db);
    await signs.refit(LABEL);
    await change(`delete from brain_vector_signs where row_id in (select row_id from brain_vector_signs order by row_id limit 2);
      insert into brain_vector_signs select c.id, 1, gen_random_uuid(), gen_random_uuid(), '1' from brain_vector_centers as c`);
    expect(await counts()).toEqual({ signed: 69, missing: 2, strange: 1 });
    await signs.refit(LABEL);
    await expectTrue();
  }, 60_000);

  test("of another project are not seen, nor found", async () => {
    const { db } = engine;
    const next = vectorsOf(5);
    const [a, b] = [await seedProject(db, "A"), await seedProject(db, "B")];
    await fill(70, a, next);
    const [mine] = await fill(1, b, next);
    await createSigns(db).refit(LABEL);
    const seen = await db.read(inProject(b), (tx) => tx.all(stored({})));
    expect(seen.map(({ id }) => id)).toEqual([mine ?? ""]);
    const query = { vector: next(), label: LABEL, depth: 10, withEpisodes: true, pool: 400 };
    const found = await db.read(inProject(b), (tx) =>
      tx.all(nearestBySigns({ ...query, filters: { ...everywhere, scope: { kind: "project", id: b } } })),
    );
    expect(found.map(({ id }) => id)).toEqual([mine ?? ""]);
  }, 60_000);

  test("find what comparing every vector finds where the pool holds all, in the same order, in a window too", async () => {
    const { db } = engine;
    const next = vectorsOf(11);
    const ids = await fill(120, null, next);
    await seedEpisode(db, { content: "an episode", vector: next() });
    await seedObservation(db, { content: "long", vector: next(), chunks: [{ content: "head", vector: next() }] });
    await change(`update brain_observations set created_at = '2020-01-01' where id in ('${ids.slice(0, 60).join("','")}')`);
    await createSigns(db).refit(LABEL);
    for (const filters of [everywhere, { ...everywhere, after: "2024-01-01T00:00:00Z" }]) {
      const asked = { vector: next(), label: LABEL, depth: 20, withEpisodes: true, filters };
      const [all, signed] = await db.read(
        everything,
        async (tx) => [await tx.all(nearestRows(asked)), await tx.all(nearestBySigns({ ...asked, pool: 200 }))],
        { byKey: true },
      );
      expect(all.length).toBeGreaterThan(20);
      expect(signed).toEqual(all);
    }
    // With a pool of a sixth the nearest five are still nearly all there.
    let kept = 0;
    for (let round = 0; round < 10; round++) {
      const asked = { vector: next(), label: LABEL, depth: 5, withEpisodes: false, filters: everywhere };
      const [all, signed] = await db.read(everything, async (tx) => [
        await tx.all(nearestRows(asked)),
        await tx.all(nearestBySigns({ ...asked, pool: 20 })),
      ]);
      kept += all.slice(0, 5).filter(({ id }) => signed.some((hit) => hit.id === id)).length;
    }
    expect(kept).toBeGreaterThan(30);
  }, 120_000);

  test("go with the vectors when the width changes", async () => {
    await fill(70, null, vectorsOf(7));
    await createSigns(engine.db).refit(LABEL);
    await engine.db.asOwner((owner) => changeVectorWidth(owner, 512));
    const left = await engine.db.asOwner((owner) =>
      owner.query("select (select count(*) from brain_vector_signs)::int + (select count(*) from brain_vector_centers)::int as n"),
    );
    expect(left.rows[0]?.n).toBe(0);
    await engine.db.asOwner((owner) => changeVectorWidth(owner, 384));
  }, 60_000);
});
