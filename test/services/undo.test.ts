import { beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { z } from "zod";
import { createUndo } from "../../src/services/undo.ts";
import { query } from "../../src/store/codecs.ts";
import { eachEngine, testScope } from "../support/engines.ts";

const project = "0a000000-0000-4000-8000-000000000001";
const entity = "0a000000-0000-4000-8000-000000000002";
const observation = "0a000000-0000-4000-8000-000000000003";
const fact = "0a000000-0000-4000-8000-000000000004";
const everything = testScope({ scope: { kind: "everything" } });

/** All rows of the tables that a deletion touches, vectors excepted. */
const state = query(
  z.object({ observations: z.unknown(), chunks: z.unknown(), facts: z.unknown(), tombstones: z.unknown() }),
  () => sql`
  select (select jsonb_agg(to_jsonb(o) - 'embedding' - 'embedding_model' order by o.id) from brain_observations as o) as observations,
         (select jsonb_agg(to_jsonb(c) - 'id' - 'created_at' order by c.chunk_index) from brain_observation_chunks as c) as chunks,
         (select jsonb_agg(to_jsonb(f) order by f.fact_id) from brain_facts as f) as facts,
         (select jsonb_agg(t.table_name order by t.table_name) from brain_tombstones as t) as tombstones`,
);

eachEngine("deleting an observation with a way back", (engine) => {
  let asked = 0;
  const undo = () => createUndo({ db: engine.db, requestEmbedding: () => asked++ });
  const now = () => engine.db.read(everything, (tx) => tx.first(state(undefined)));
  const run = (statement: ReturnType<typeof sql>) => engine.db.write(everything, (tx) => tx.run(statement));

  beforeEach(async () => {
    await engine.db.reset();
    asked = 0;
    await run(sql`insert into brain_projects (id, name) values (${project}::uuid, 'api')`);
    await run(sql`insert into brain_entities (id, name, project_id) values (${entity}::uuid, 'gateway', ${project}::uuid)`);
    await run(sql`
      insert into brain_observations (id, entity_id, project_id, content, observation_type, importance, tags, source, trust, evidence, verification, version, previous_versions, origin_node, created_at, lexical)
      values (${observation}::uuid, ${entity}::uuid, ${project}::uuid, 'listens on 9090', 'decision', 0.7, '{net,port}', 'user', 'quarantined', 'observed', 'read the file',
        3, '[{"content":"listens on 8080","version":2}]', 'laptop', '2026-01-02T03:04:05.123456Z', 'listens on 9090')`);
    await run(sql`insert into brain_observation_chunks (observation_id, chunk_index, content, project_id) values
      (${observation}::uuid, 0, 'first', ${project}::uuid), (${observation}::uuid, 1, 'second', ${project}::uuid)`);
    await run(sql`insert into brain_facts (fact_id, subject_entity_id, observation_id, project_id, subject, predicate, object)
      values (${fact}::uuid, ${entity}::uuid, ${observation}::uuid, ${project}::uuid, 'gateway', 'decision', 'listens on 9090')`);
  });

  test("the row, its chunks and its facts come back as they were, the tombstones go, vectors are asked for", async () => {
    const before = await now();
    const seen = await undo().snapshot(everything, observation);
    expect(seen).toMatchObject({ project: "api", chunks: ["first", "second"], entity: { name: "gateway" } });
    await undo().remove(everything, { id: observation, version: 3 });
    expect(await now()).toEqual({ observations: null, chunks: null, facts: null, tombstones: ["brain_facts", "brain_observations"] });
    // As a file holds it.
    const restored = await undo().restore(everything, JSON.parse(JSON.stringify(seen)));
    expect(restored).toEqual({ id: observation, sameId: true, entity: "gateway" });
    expect(await now()).toEqual(before);
    expect(asked).toBe(1);
  });

  test("what has changed since it was looked at is not deleted", async () => {
    await undo().snapshot(everything, observation);
    await run(sql`update brain_observations set content = 'listens on 9091' where id = ${observation}::uuid`);
    await expect(undo().remove(everything, { id: observation, version: 3 })).rejects.toThrow("nothing was deleted");
  });

  test("once a bundle has left since, it comes back under a new id and the tombstone stays", async () => {
    const seen = await undo().snapshot(everything, observation);
    await undo().remove(everything, { id: observation, version: 3 });
    await run(sql`insert into brain_sync_exports (directory, manifest_hash) values ('/repo/.memory-industry', 'x')`);
    const restored = await undo().restore(everything, seen);
    expect(restored.sameId).toBe(false);
    expect(restored.id).not.toBe(observation);
    expect((await now())?.tombstones).toEqual(["brain_facts", "brain_observations"]);
    expect((await now())?.chunks).toMatchObject([{ observation_id: restored.id }, { observation_id: restored.id }]);
  });

  test("a bundle that left before the deletion does not matter", async () => {
    await run(sql`insert into brain_sync_exports (directory, manifest_hash, exported_at) values ('/repo', 'x', now() - interval '1 hour')`);
    const seen = await undo().snapshot(everything, observation);
    await undo().remove(everything, { id: observation, version: 3 });
    expect((await undo().restore(everything, seen)).sameId).toBe(true);
  });

  test("with its entity gone too, the entity comes back with it; under its name there may be another by now", async () => {
    const seen = await undo().snapshot(everything, observation);
    await run(sql`delete from brain_entities where id = ${entity}::uuid`);
    expect(await undo().restore(everything, seen)).toMatchObject({ id: observation, sameId: true });
    expect((await now())?.tombstones).toBeNull();

    await run(sql`delete from brain_entities where id = ${entity}::uuid`);
    await run(sql`insert into brain_entities (name, project_id) values ('gateway', ${project}::uuid)`);
    await undo().restore(everything, seen);
    expect((await now())?.observations).toMatchObject([{ id: observation, content: "listens on 9090" }]);
  });

  describe("nothing is written", () => {
    test("for an observation that is there", async () => {
      const seen = await undo().snapshot(everything, observation);
      await expect(undo().restore(everything, seen)).rejects.toThrow("is there already; nothing was written");
    });
    test("where its project is gone", async () => {
      const seen = await undo().snapshot(everything, observation);
      await run(sql`delete from brain_entities`);
      await run(sql`delete from brain_projects`);
      await expect(undo().restore(everything, seen)).rejects.toThrow("Its project 'api' is gone");
    });
    test("for a file that is no undo file", async () => {
      for (const bad of [null, {}, { observation: { id: "x" } }, []])
        await expect(undo().restore(everything, bad)).rejects.toThrow("not an undo file");
    });
  });

  test("an unknown id is not found", async () => {
    await expect(undo().snapshot(everything, "0a000000-0000-4000-8000-0000000000ff")).rejects.toThrow("not found");
  });
});
