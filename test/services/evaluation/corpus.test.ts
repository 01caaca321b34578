import { beforeEach, expect, test } from "bun:test";
import { createChunks } from "../../../src/services/chunks.ts";
import { loadCorpus } from "../../../src/services/evaluation/corpus.ts";
import { eachEngine, type TestEngine } from "../../support/engines.ts";
import { callContext, faroOver, idsOf, seedObservation, seedProject } from "../../support/search.ts";

const id = (at: number) => `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`;
const corpus = [
  { id: id(1), entity: "Caroline", content: "Caroline painted a sunrise over the lake", created_at: "2023-05-08T13:56:00Z" },
  { id: id(2), entity: "Caroline", entity_type: "person", content: "Caroline painted a sunrise over the lake" },
  { id: id(3), entity: "parser", content: "x".repeat(2_000) },
]
  .map((row) => JSON.stringify(row))
  .join("\n");

const parts = (engine: TestEngine) => ({
  db: engine.db,
  chunks: createChunks({ thresholdChars: 1_800, sizeChars: 1_400 }),
  queue: { poke: () => {}, drain: async () => 0 },
});

eachEngine("a corpus", (engine) => {
  beforeEach(() => engine.db.reset());

  test("goes into an empty memory row by row, under the ids it brings, repetitions included, and words find it", async () => {
    const loaded = await loadCorpus(parts(engine), callContext(), corpus, 0);
    expect(loaded).toEqual({ observations: 3, entities: 2, chunks: 2, withoutVector: 0 });
    const { rows } = await engine.db.asOwner((connection) =>
      connection.query(
        "select o.id, e.name, e.name_key, o.lexical is not null as prepared, o.tags, o.created_at < '2024-01-01' as old, o.importance from brain_observations o join brain_entities e on e.id = o.entity_id order by o.id",
      ),
    );
    expect(rows[0]).toEqual({
      id: id(1),
      name: "Caroline",
      name_key: "caroline",
      prepared: true,
      tags: ["caroline", "painted", "sunrise", "lake"],
      old: true,
      importance: 0.6,
    });
    expect(rows).toHaveLength(3);
    // Of two rows that say the same about the same, the newest is answered.
    expect(idsOf(await faroOver(engine.db).ask({ query: "who painted the sunrise" }))).toContain(id(2));
  });

  test("is refused whole by a memory that holds rows in the scope, and by a line that does not fit", async () => {
    const project = await seedProject(engine.db, "P");
    await seedObservation(engine.db, { content: "a row of nobody" });
    expect(loadCorpus(parts(engine), callContext(), corpus, 0)).rejects.toThrow("holds rows already");
    const scoped = callContext({ scope: { kind: "project", id: project } });
    expect(loadCorpus(parts(engine), scoped, `${corpus}\n{"id":"7"}`, 0)).rejects.toThrow("line 4: id is no UUID. Nothing was loaded.");
    expect(loadCorpus(parts(engine), scoped, `${corpus}\n${corpus}`, 0)).rejects.toThrow("line 4: the id stands there a second time");
    expect((await loadCorpus(parts(engine), scoped, corpus, 0)).observations).toBe(3);
  });
});
