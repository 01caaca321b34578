import { beforeAll, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { z } from "zod";
import { newId } from "../../../src/kernel/ids.ts";
import { createSigns } from "../../../src/services/embedding/signs.ts";
import { uuidArray, vectorArray } from "../../../src/store/codecs.ts";
import type { Query } from "../../../src/store/port.ts";
import { embeddedTexts, formsInRows } from "../../../src/store/queries/abstention.ts";
import { observationsOfMentioned } from "../../../src/store/queries/search-context.ts";
import type { Filters } from "../../../src/store/queries/search-filters.ts";
import { foundRows } from "../../../src/store/queries/search-rows.ts";
import { nearestBySigns, waitingOf, withoutVector } from "../../../src/store/queries/search-vectors.ts";
import {
  packedPostings,
  rowsWithWords,
  scoresInRows,
  textScores,
  visibleRows,
  wordStatistics,
  wordsBeginning,
} from "../../../src/store/queries/search-words.ts";
import { eachEngine, inProject } from "../../support/engines.ts";
import { LABEL, seedMany, seedProject, vectorOf } from "../../support/search.ts";

const ROWS = 10_000;
const WORDS = Array.from({ length: 400 }, (_, at) => `word${at}`);

eachEngine("no search reads a whole table at 10,000 rows, as the runtime role", (engine) => {
  let project = "";
  let ids: string[] = [];
  beforeAll(async () => {
    await engine.db.reset();
    project = await seedProject(engine.db, "P");
    for (let at = 0; at < ROWS; at += 1_000)
      ids = await seedMany(
        engine.db,
        Array.from({ length: 1_000 }, (_, row) => `${WORDS[row % 400]} ${WORDS[(row * 7) % 400]} common ${at + row}`),
        `entity ${at}`,
        project,
      );
    for (const table of ["brain_postings", "brain_observations", "brain_entities"])
      await engine.db.asOwner((connection) => connection.query(`vacuum analyze ${table}`));
  }, 240_000);

  const filters = (): Filters => ({
    scope: { kind: "project", id: project },
    includeUnscoped: false,
    after: undefined,
    before: undefined,
    tag: undefined,
  });
  const planOf = async (query: Pick<Query<unknown>, "statement">): Promise<string> => {
    const explain = { schema: z.record(z.string(), z.string()), statement: sql`explain ${query.statement}` };
    const rows = await engine.db.read(inProject(project), (tx) => tx.all(explain), { byKey: true });
    return rows.map((row) => Object.values(row)[0]).join("\n");
  };
  const LARGE = /Seq Scan on brain_(postings|vector_signs|observations|observation_chunks)\b/;

  test("vectors are found by a range of signs and by key, in a window too", async () => {
    const unit = (at: number) => vectorOf({ [at % 384]: 1, [(at * 7) % 384]: 0.5 });
    await engine.db.write(inProject(project), (tx) =>
      tx.run(sql`update brain_observations as o set embedding = v.vector, embedding_model = ${LABEL}::text
        from unnest(${uuidArray(ids)}, ${vectorArray(ids.map((_, at) => unit(at)))}) as v(id, vector) where o.id = v.id`),
    );
    await createSigns(engine.db).refit(LABEL);
    for (const after of [undefined, "2020-01-01T00:00:00Z"]) {
      const q = { vector: unit(3), label: LABEL, depth: 100, pool: 400, withEpisodes: true, filters: { ...filters(), after } };
      const plan = await planOf(nearestBySigns(q));
      expect(plan).not.toMatch(LARGE);
      expect(plan).toMatch(/Index Only Scan using brain_vector_signs_pkey/);
      const found = await engine.db.read(inProject(project), (tx) => tx.all(nearestBySigns(q)), { byKey: true });
      expect(found).toHaveLength(100);
      expect(found[0]?.distance).toBeCloseTo(0, 5);
    }
  }, 60_000);

  test("statistics, postings, spellings, scores and rows are found by index", async () => {
    const forms = ["word1", "word2", "common"];
    const weighed = forms.map((term, at) => ({ term, word: at >> 1, weight: 1 }));
    const norm = { base: 0.3, perWord: 0.1 };
    for (const query of [
      wordStatistics({ forms, kinds: ["observation", "entity", "error", "episode"], packUpTo: 4_000, filters: filters() }),
      rowsWithWords({ forms, kinds: ["observation", "entity"], most: 200, filters: filters() }),
      packedPostings({ kind: "observation", forms, filters: filters() }),
      visibleRows({ kind: "observation", ids: ids.slice(0, 400), filters: { ...filters(), after: "2020-01-01T00:00:00Z" } }),
      scoresInRows({ kind: "observation", forms: weighed, norm, ids: ids.slice(0, 50) }),
      wordsBeginning({ prefix: "wor", limit: 400, filters: filters() }),
      textScores({ found: { observation: ids.slice(0, 40) }, text: forms.join(" "), name: "x", coverDensity: false, filters: filters() }),
      foundRows({ ids: { observation: ids.slice(0, 15) }, filters: filters() }),
      formsInRows({ kind: "observation", terms: forms, ids: ids.slice(0, 30) }),
      embeddedTexts({ ids: ids.slice(0, 2), chunks: [-1, 0] }),
      withoutVector({ filters: filters(), most: 1_000 }),
      waitingOf({ ids: ids.slice(0, 200), label: LABEL }),
      observationsOfMentioned({ entityIds: [newId()], text: "word1", limit: 20, filters: filters() }),
    ]) {
      const plan = await planOf(query);
      expect(plan).not.toMatch(LARGE);
      expect(plan).toMatch(/Index/);
    }
  });
});
