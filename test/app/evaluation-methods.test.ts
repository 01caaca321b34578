import { afterAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CorpusProject, corpusFile, readMemories, readQuestions } from "../../bench/support/corpus.ts";
import { evaluationMethods } from "../../src/app/evaluation-methods.ts";
import { thresholdMethods } from "../../src/app/threshold-methods.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { createChunks } from "../../src/services/chunks.ts";
import { createThresholdMeasure } from "../../src/services/search/gate/measure-threshold.ts";
import { createSearch } from "../../src/services/search/search.ts";
import { eachEngine } from "../support/engines.ts";
import { noEmbedder } from "../support/search.ts";

const folder = mkdtempSync(join(tmpdir(), "mi-eval-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const call = {
  signal: new AbortController().signal,
  progress: () => {},
  log: silentLogger,
  scope: async () => ({ kind: "none" }) as const,
};

/** Memories of each corpus that are loaded: enough to be found among. */
const ROWS = 30;
function headOf(project: CorpusProject): string {
  const file = join(folder, `${project}.jsonl`);
  writeFileSync(file, readFileSync(corpusFile(project, "corpus"), "utf8").split("\n").slice(0, ROWS).join("\n"));
  return file;
}

eachEngine("eval in a project", (engine) => {
  beforeEach(() => engine.db.reset());

  const ask = async (method: string, params: Record<string, unknown>) => {
    const { db } = engine;
    const methods = new Map(
      evaluationMethods({
        db,
        services: {
          search: createSearch({ db, embedder: noEmbedder, fusion: "scores", entityLeg: true }),
          presentation: { compactChars: 1_200 },
        },
        chunks: createChunks({ thresholdChars: 1_800, sizeChars: 1_400 }),
        queue: { poke: () => {}, drain: async () => 0 },
        embedder: noEmbedder,
        reranker: noEmbedder,
        fusion: "scores",
      }),
    );
    return methods.get(method)?.(params, call);
  };

  test("loads two corpora side by side, and measures each as if the other were not there", async () => {
    for (const project of ["harbor", "quill"] as const)
      expect(await ask("owner/load", { project, corpus: headOf(project) })).toMatchObject({ observations: ROWS });
    const [foreign = ""] = readMemories("quill").map(({ id }) => id);
    const own = new Set(
      readMemories("harbor")
        .slice(0, ROWS)
        .map(({ id }) => id),
    );
    const questions = [
      ...readQuestions("harbor")
        .filter(({ relevant_ids = [] }) => relevant_ids.some((id) => own.has(id)))
        .slice(0, 5),
      // Whatever is asked, the other project's rows count as gone.
      { query: "which language is quill-core written in", relevant_ids: [foreign], gold_entities: ["quill-core"] },
    ];
    const dataset = join(folder, "q.jsonl");
    writeFileSync(dataset, questions.map((question) => JSON.stringify(question)).join("\n"));
    const answer = await ask("owner/evaluate", { project: "harbor", dataset, settings: { lexicalOnly: true } });
    expect(answer).toMatchObject({
      report: { metrics: { sample_count: 5, recall_at_k: 1, missing_relevant_ids: 1, unmeasurable_questions: 1 } },
    });
    expect(await ask("owner/coverage", { project: "quill", dataset })).toMatchObject({ present_in_kg: 1 });
    expect(await ask("owner/coverage", { project: "harbor", dataset })).toMatchObject({ present_in_kg: 1, gold_entities: 2 });
  });

  test("refuses a dataset with nothing to measure, saying how many rows it left out", async () => {
    const dataset = join(folder, "empty.jsonl");
    writeFileSync(dataset, '{"query":"a"}\n\n{"query":"b"}\n');
    await expect(ask("owner/evaluate", { dataset })).rejects.toThrow("holds no question that could be measured (2 rows name nothing");
  });

  test("refuses to measure in a project that does not exist, and to load into one that holds rows", async () => {
    await ask("owner/load", { project: "harbor", corpus: headOf("harbor") });
    await expect(ask("owner/evaluate", { project: "harbor-2" })).rejects.toThrow("Close names: harbor");
    await expect(ask("owner/load", { project: "harbor", corpus: headOf("harbor") })).rejects.toThrow("holds rows already");
  });

  test("calibrate measures the project that is named, refuses one that is not there, and writes only when told to", async () => {
    const { db } = engine;
    const thresholdMeasure = createThresholdMeasure({ db, embedder: noEmbedder, clock: () => 0, everyday: [], onApplied: () => {} });
    const [[name, calibrate] = ["", undefined]] = thresholdMethods({ db, thresholdMeasure });
    expect(name).toBe("owner/calibrate");
    await ask("owner/load", { project: "quill", corpus: corpusFile("quill", "corpus") });
    const dataset = join(folder, "calibrate.jsonl");
    writeFileSync(dataset, readFileSync(corpusFile("quill", "questions"), "utf8").split("\n").slice(0, ROWS).join("\n"));
    const given = { dataset, alpha: 0.05, samples: 100, lexicalOnly: true, apply: false };
    const report = await calibrate?.({ ...given, project: "quill" }, call);
    expect(report).toMatchObject({
      project: "quill",
      embedding_dim: null,
      conformal_threshold: null,
      corpus_rows: 190,
      guaranteed: true,
      applied: false,
    });
    expect(report).toMatchObject({ meaning: null, words: { answered: expect.any(Number), refused_answer_left_out: expect.any(Number) } });
    await expect(calibrate?.({ ...given, project: "quil" }, call)).rejects.toThrow("Close names: quill");
    await expect(calibrate?.({ ...given, lexicalOnly: false }, call)).rejects.toThrow("Nothing was measured or written");
    writeFileSync(dataset, "\n");
    await expect(calibrate?.(given, call)).rejects.toThrow("The dataset holds no question. Nothing was measured or written.");
  });
});
