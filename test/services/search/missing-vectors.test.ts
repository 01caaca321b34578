/** Vectors of another model that appear while this process runs: another daemon on the same server, with a model that was exchanged. */
import { expect, test } from "bun:test";
import { embeddingLabel } from "../../../src/domain/embedding-text.ts";
import { createMissingVectors } from "../../../src/services/search/missing-vectors.ts";
import { eachEngine, testScope } from "../../support/engines.ts";
import { LABEL, seedObservation, vectorOf } from "../../support/search.ts";

eachEngine("vectors of another model", (engine) => {
  const filters = { scope: { kind: "none" }, includeUnscoped: false, after: undefined, before: undefined, tag: undefined } as const;

  test("that come while the process runs are told within seconds, and not looked for with every question", async () => {
    const { db } = engine;
    let clock = 0;
    // Each look at the clock is 10 ms later: a look at the rows takes as long.
    const seen = createMissingVectors(() => (clock += 10));
    const foreign = () => db.read(testScope(), async (tx) => (await seen.of(tx, filters, LABEL)).foreign);
    const id = await seedObservation(db, { content: "the feline sleeps", vector: vectorOf({ 1: 1 }) });
    const give = (label: string) =>
      db.asOwner((owner) => owner.query("update brain_observations set embedding_model = $2 where id = $1::uuid", [id, label]));
    expect(await foreign()).toBe(false);
    await give(embeddingLabel("exchanged"));
    expect(await foreign()).toBe(false);
    clock += 3_000;
    expect(await foreign()).toBe(true);
    await give(LABEL);
    expect(await foreign()).toBe(false);
  });
});
