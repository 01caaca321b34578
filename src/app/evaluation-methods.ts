/** What `eval` asks of the owner of the memories: measure, count which entities exist, fill an empty database. */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { type FusionMode, fusionModes } from "../domain/retrieval/fusion.ts";
import type { Embedder, Reranker } from "../inference/port.ts";
import type { CallContext, Scope } from "../kernel/context.ts";
import { noDeadline } from "../kernel/deadline.ts";
import { invalid, notFound, unavailable } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import { COMMIT, VERSION } from "../kernel/version.ts";
import type { OwnerMethod } from "../mcp/server.ts";
import type { Chunks } from "../services/chunks.ts";
import type { EmbeddingQueue } from "../services/embedding/queue.ts";
import { loadCorpus } from "../services/evaluation/corpus.ts";
import { builtInQuestions, type Dataset, readDataset } from "../services/evaluation/dataset.ts";
import { createEvaluation, DEFAULT_SETTINGS } from "../services/evaluation/evaluation.ts";
import { reportJson, reportText } from "../services/evaluation/report.ts";
import { projectNamed } from "../services/identity/project-names.ts";
import type { Database } from "../store/port.ts";
import { upsertProject } from "../store/queries/projects.ts";
import { faroAsAsked } from "../tools/search.ts";
import type { Services } from "../tools/services.ts";
import { everything } from "./owner-scope.ts";

export interface EvaluationMethodParts {
  readonly db: Database;
  readonly services: Pick<Services, "search" | "presentation">;
  readonly chunks: Chunks;
  readonly queue: Pick<EmbeddingQueue, "poke" | "drain">;
  readonly embedder: Embedder;
  /** How the arms are fused (`CUBA_FUSION`), for the report. */
  readonly fusion: FusionMode;
  readonly reranker: Pick<Reranker, "status">;
}

/** Vectors of a corpus are waited for: what is measured without them is another search. An hour is 20,000 texts on a slow machine. */
const VECTORS_LIMIT_MS = 3_600_000;

const settingsSchema = z
  .object({
    k: z.number().int(),
    format: z.enum(["verbose", "compact"]),
    maxTokens: z.number().int().positive(),
    associative: z.boolean(),
    abstain: z.boolean(),
    rerank: z.boolean(),
    bm25: z.boolean(),
    text: z.boolean(),
    vector: z.boolean(),
    coverDensity: z.boolean(),
    entityLeg: z.boolean(),
    fusion: z.enum(fusionModes),
    goal: z.string(),
    diversify: z.boolean(),
    mmrLambda: z.number().min(0).max(1),
    lexicalOnly: z.boolean(),
  })
  .partial();

function rerankerName(reranker: Pick<Reranker, "status">): string {
  const status = reranker.status();
  return status.state === "missing" ? "none" : status.model;
}

type Call = Parameters<OwnerMethod>[1];

/** Whoever measures sees the rows of the project that was named; without a name every row, as a client without a project does. */
export async function scopeOf(db: Database, project: unknown, signal: AbortSignal, missing: "make" | "refuse"): Promise<Scope> {
  if (typeof project !== "string") return { kind: "none" };
  const found =
    missing === "make"
      ? await db.write(everything(signal), (tx) => tx.first(upsertProject({ name: project })))
      : await db.read(everything(signal), (tx) => projectNamed(tx, project, "project"));
  if (found === undefined) throw new Error("an upsert returned no row");
  return { kind: "project", id: found.id };
}

export const contextOf = ({ signal, progress, log }: Call, scope: Scope): CallContext => ({
  id: newId().slice(0, 8),
  client: "eval",
  bound: false,
  principal: { kind: "owner" },
  scope,
  session: undefined,
  deadline: noDeadline,
  signal,
  sampling: undefined,
  progress,
  log,
});

export async function textOf(file: unknown): Promise<string> {
  if (typeof file !== "string") throw invalid("The name of a file is missing. Nothing was read.");
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") throw notFound("file", file);
    throw unavailable(`${file} cannot be read. Nothing was done.`, { cause: error });
  }
}

const datasetOf = async (file: unknown): Promise<Dataset> =>
  file === undefined ? { questions: builtInQuestions, dropped: 0 } : readDataset(await textOf(file));

export function evaluationMethods({
  db,
  services,
  chunks,
  queue,
  embedder,
  fusion,
  reranker,
}: EvaluationMethodParts): [string, OwnerMethod][] {
  const ask = faroAsAsked(services);
  /** Made for each run: which model answers is a fact of that moment. */
  const evaluation = () => {
    const model = embedder.status().state === "missing" ? "none" : embedder.label;
    return createEvaluation({
      db,
      ask,
      clock: () => performance.now(),
      facts: { version: VERSION, commit: COMMIT, fusion, models: { embedder: model, reranker: rerankerName(reranker) } },
    });
  };
  return [
    [
      "owner/evaluate",
      async ({ dataset, project, settings }, call) => {
        const given = settingsSchema.parse(settings ?? {});
        const questions = await datasetOf(dataset);
        if (questions.questions.length === 0)
          throw invalid(
            `${String(dataset)} holds no question that could be measured (${questions.dropped} rows name nothing that could be found). Nothing was measured.`,
          );
        const ctx = contextOf(call, await scopeOf(db, project, call.signal, "refuse"));
        const report = await evaluation().run(ctx, questions, { ...DEFAULT_SETTINGS, ...given });
        return { report: reportJson(report), text: reportText(report) };
      },
    ],
    [
      "owner/coverage",
      async ({ dataset, project }, call) => {
        const ctx = contextOf(call, await scopeOf(db, project, call.signal, "refuse"));
        const { samples, goldEntities, present, presentPercent } = await evaluation().presence(ctx, await datasetOf(dataset));
        return {
          dataset,
          samples,
          gold_entities: goldEntities,
          present_in_kg: present,
          coverage_pct: presentPercent,
          note: "Recall over the graph cannot exceed the share of entities that exist.",
        };
      },
    ],
    [
      "owner/load",
      async ({ corpus, project }, call) => {
        const text = await textOf(corpus);
        const ctx = contextOf(call, await scopeOf(db, project, call.signal, "make"));
        return loadCorpus({ db, chunks, queue }, ctx, text, VECTORS_LIMIT_MS);
      },
    ],
  ];
}
