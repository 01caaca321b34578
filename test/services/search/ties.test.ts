import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { fusionModes } from "../../../src/domain/retrieval/fusion.ts";
import { textArray, uuidArray } from "../../../src/store/codecs.ts";
import { eachEngine, testScope } from "../../support/engines.ts";
import { embedderOf, faroOver, idsOf, noEmbedder, seedMany, vectorOf } from "../../support/search.ts";

eachEngine("rows that answer a question equally well", (engine) => {
  beforeEach(() => engine.db.reset());

  /** Rows of one form that differ in a number, written a minute apart in a shuffled order of ids. @returns ids, newest first. */
  const seedTied = async (count: number, vector?: Float32Array): Promise<string[]> => {
    const ids = await seedMany(
      engine.db,
      Array.from({ length: count }, (_, at) => `the gateway listens on port ${8_000 + at}`),
      "gateway",
    );
    const instants = ids.map((_, at) => new Date(Date.UTC(2026, 0, 1, 0, at)).toISOString());
    await engine.db.write(testScope(), async (tx) => {
      await tx.run(sql`
        update brain_observations as o set created_at = n.at::timestamptz
        from unnest(${uuidArray(ids)}, ${textArray(instants)}) as n(id, at) where o.id = n.id`);
      if (vector !== undefined)
        await tx.run(sql`
          update brain_observations set embedding = ${`[${vector.join(",")}]`}::vector, embedding_model = ${noEmbedder.label}::text`);
    });
    return ids.reverse();
  };
  const question = "which port does the gateway listen on";

  for (const fusion of fusionModes) {
    test(`come newest first, also where there are more than an arm reads (${fusion})`, async () => {
      const newest = await seedTied(260);
      const { ask } = faroOver(engine.db, { fusion });
      expect(idsOf(await ask({ query: question, limit: 50, scope: "observations" }))).toEqual(newest.slice(0, 50));
      expect(idsOf(await ask({ query: question, limit: 3, scope: "observations" }))).toEqual(newest.slice(0, 3));
    }, 60_000);

    test(`come newest first by meaning (${fusion})`, async () => {
      const newest = await seedTied(140, vectorOf({ 1: 1 }));
      const { ask } = faroOver(engine.db, { fusion, embedder: embedderOf({ "an unrelated sentence": vectorOf({ 1: 1 }) }) });
      expect(idsOf(await ask({ query: "an unrelated sentence", limit: 5 }))).toEqual(newest.slice(0, 5));
    }, 60_000);
  }

  test("written in the same instant come by id", async () => {
    const ids = await seedMany(engine.db, [
      "the gateway listens on port 1",
      "the gateway listens on port 2",
      "the gateway listens on port 3",
    ]);
    expect(idsOf(await faroOver(engine.db).ask({ query: question }))).toEqual([...ids].sort());
  });
});
