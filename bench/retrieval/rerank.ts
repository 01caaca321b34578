/**
 * Which rows a reranker should read: the whole pool, or only those that no word of the question found.
 *
 *   bun bench/retrieval/rerank.ts [--sets LoCoMo,en,…]
 *
 * A cross-encoder's weights are not needed to ask what each rule can gain and costs: a reader that knows the answers shows the ceiling, an English
 * embedding model of another maker stands for a real, fallible reader, and pairs are what the time of a real one grows with.
 */
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { adoptModel } from "../../scripts/adopt-model.ts";
import { mean } from "../../src/domain/retrieval/metrics.ts";
import { comparePaired } from "../../src/domain/retrieval/statistics.ts";
import { createEmbedder } from "../../src/inference/embedder.ts";
import { locateEmbeddingModel } from "../../src/inference/models/locate.ts";
import type { Embedder, Reranker } from "../../src/inference/port.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { VERSION } from "../../src/kernel/version.ts";
import { createEvaluation, DEFAULT_SETTINGS } from "../../src/services/evaluation/evaluation.ts";
import { createSearch } from "../../src/services/search/search.ts";
import { faroAsAsked } from "../../src/tools/search.ts";
import { benchContext, benchFolder, openBenchDatabase, realEmbedder } from "./bench-database.ts";
import { type DevelopmentSet, datasetOf, developmentSets, loadDevelopmentSets, memoriesOf, projectName } from "./development-sets.ts";
import { sharedFolder } from "./eval-sets.ts";
import { remembering } from "./remembering.ts";
import { counted } from "./rerankers.ts";
import { dot } from "./vectors.ts";

const args = process.argv.slice(2);
const listed = args.includes("--sets") ? (args[args.indexOf("--sets") + 1]?.split(",") ?? []) : undefined;
const sets = developmentSets.filter(({ name }) => listed === undefined || listed.includes(name));
/** The stand-in reads English. */
const ENGLISH = new Set(["LoCoMo", "en", "CoSQA"]);

type Reader = Pick<Reranker, "score" | "status">;
const ready =
  (model: string): Reader["status"] =>
  () => ({ state: "ready", model });

/** Knows which memories answer. */
function perfect(set: DevelopmentSet): Reader {
  const answers = new Map<string, Set<string>>();
  for (const part of set.parts) {
    const contents = new Map(memoriesOf(part).map(({ id, content }) => [id, content]));
    for (const { query, relevantIds } of datasetOf(part.questions).questions)
      answers.set(query, new Set([...(answers.get(query) ?? []), ...relevantIds.flatMap((id) => contents.get(id) ?? [])]));
  }
  return {
    status: ready("perfect"),
    score: async (query, passages) => {
      const wanted = [...(answers.get(query) ?? [])];
      // A passage is "entity: text", or a piece of the text in its place.
      const holds = (passage: string) => {
        const text = passage.slice(passage.indexOf(": ") + 2);
        return wanted.some((content) => passage.endsWith(content) || (text.length > 200 && content.includes(text)));
      };
      return { kind: "answered", values: passages.map((passage) => (holds(passage) ? 1 : 0)) };
    },
  };
}

/** An embedding model in a reader's place: cosine of question and passage, each text read once. */
function byMeaning(model: Embedder): Reader {
  const known = new Map<string, Promise<Float32Array>>();
  const vectorOf = (text: string) => {
    const vector =
      known.get(text) ??
      model.embed([text], "passage", new AbortController().signal).then(([only]) => only ?? new Float32Array(model.dimensions));
    known.set(text, vector);
    return vector;
  };
  return {
    status: ready(model.label),
    score: async (query, passages) => {
      const asked = await vectorOf(query);
      const values: number[] = [];
      for (const passage of passages) values.push((1 + dot(asked, await vectorOf(passage))) / 2);
      return { kind: "answered", values };
    },
  };
}

const models = await realEmbedder();
const { db } = await openBenchDatabase("eval");
const projects = await loadDevelopmentSets(db, models, sets);
const directory = join(benchFolder(), "minilm");
await adoptModel(join(sharedFolder(), "models/all-minilm-l6-v2"), directory);
const second = await createEmbedder({
  find: () => locateEmbeddingModel({ explicitPath: directory, overrides: {} }),
  threads: 1,
  log: silentLogger,
});
const git = Bun.spawnSync(["git", "rev-parse", "--short", "HEAD"]).stdout.toString().trim();
console.log(
  `machine ${cpus()[0]?.model ?? "?"} × ${cpus().length}, load ${loadavg()[0]?.toFixed(1)}, bun ${Bun.version}, commit ${git}, engine embedded, ` +
    `settings default, limit 10, pool 20, model ${models.label}, second reader ${second.label}`,
);
console.log("nDCG@10 and its difference from the fused order [95 % paired interval]; pairs read a question");

const remembered = remembering(db);
async function ndcgOf(set: DevelopmentSet, reader: Reader | undefined, unfoundOnly: boolean) {
  const { stage, count } = counted(reader ?? { status: ready("none"), score: async () => ({ kind: "answered", values: [] }) });
  const search = createSearch({ db: remembered.db, embedder: models, fusion: "scores", entityLeg: true, rerank: stage });
  const ask = faroAsAsked({ search, presentation: { compactChars: 1_200 } });
  const evaluation = createEvaluation({
    db,
    ask: (ctx, given, ablation) => ask(ctx, given, { ...ablation, rerankUnfound: unfoundOnly }),
    clock: () => performance.now(),
    facts: { version: VERSION, commit: git, fusion: "scores", models: { embedder: models.label } },
  });
  const scores: number[] = [];
  for (const part of set.parts) {
    const ctx = benchContext({ kind: "project", id: projects.get(projectName(part)) ?? "" });
    const { metrics } = await evaluation.run(ctx, datasetOf(part.questions), { ...DEFAULT_SETTINGS, rerank: reader !== undefined });
    scores.push(...metrics.perQuery.map(({ ndcg }) => ndcg));
  }
  // Questions without an answer are asked too, and each part warms up with one more.
  const asked = set.parts.reduce((sum, part) => sum + datasetOf(part.questions).questions.length + 1, 0);
  return { scores, pairs: count.pairs / asked };
}

const short = (value: number) => value.toFixed(3).replace(/^(-?)0/, "$1");
for (const set of sets) {
  const fused = await ndcgOf(set, undefined, false);
  console.log(`\n${set.name}: fused ${short(mean(fused.scores))}`);
  const readers: readonly (readonly [string, Reader])[] = [
    ["knows the answers", perfect(set)],
    ...(ENGLISH.has(set.name) ? [["another model's cosine", byMeaning(second)] as const] : []),
  ];
  for (const [name, reader] of readers)
    for (const unfoundOnly of [false, true]) {
      const { scores, pairs } = await ndcgOf(set, reader, unfoundOnly);
      const c = comparePaired(fused.scores, scores);
      console.log(
        `  ${`${name}, ${unfoundOnly ? "rows that no word found" : "the whole pool"}`.padEnd(48)} ${short(mean(scores))}  ` +
          `${short(c.difference)} [${short(c.interval.low)}, ${short(c.interval.high)}]${c.touchesZero ? " " : "*"}  ${pairs.toFixed(1)} pairs`,
      );
    }
  remembered.forget();
}
await second.close();
await models.close();
await db[Symbol.asyncDispose]();
