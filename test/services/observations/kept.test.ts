/** Nothing that was written is lost (`design.md` §6, "kept"): real chats, encyclopaedia sentences in three languages, functions. */
import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { corpora, crowded, distinctTexts, type Memory } from "../../support/corpora.ts";
import { testEmbedder } from "../../support/embedder.ts";
import { openTestDatabase } from "../../support/engines.ts";
import { graphOver } from "../../support/graph.ts";
import { row } from "../../support/statements.ts";

/** Thousands of writes, on a machine that others use too. */
const LIMIT_MS = 600_000;
/** With a model, one chat is enough: the gate never asks it. */
const WITH_MODEL = "locomo/conv-42";

async function written(memories: readonly Memory[], model: boolean): Promise<Record<string, unknown>> {
  await using db = await openTestDatabase();
  const embedder = testEmbedder(model ? "ready" : "missing");
  const { caller, queue } = graphOver(db, { embedder });
  const call = caller();
  let refused = 0;
  for (const { entity, content } of memories) {
    const answer = await call("cuba_cronica", { action: "add", entity_name: entity, content, allow_secret: true });
    if (answer.id === undefined && answer.existing_id === undefined) refused++;
  }
  expect(await queue.drain(LIMIT_MS)).toBe(0);
  const counts = await row(
    db,
    sql`select count(*)::int as stored, count(*) filter (where observation_type = 'superseded')::int as hidden, count(embedding)::int as embedded from brain_observations`,
  );
  return { refused, ...counts };
}

const sets = corpora();
if (sets.length === 0) test.skip("the development corpora are not here", () => {});
for (const { name, memories } of sets) {
  test(
    `${name}, row by row: every text is there, none hidden`,
    async () => {
      const rows = crowded(memories());
      expect(await written(rows, false)).toEqual({ refused: 0, stored: distinctTexts(rows), hidden: 0, embedded: 0 });
    },
    LIMIT_MS,
  );
  if (name === WITH_MODEL)
    test(
      `${name} with a model: the same, and each with its vector`,
      async () => {
        const rows = memories();
        const distinct = distinctTexts(rows);
        expect(await written(rows, true)).toEqual({ refused: 0, stored: distinct, hidden: 0, embedded: distinct });
      },
      LIMIT_MS,
    );
}
