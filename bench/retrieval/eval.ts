/**
 * Quality of the real `cuba_faro` on the development sets and the public corpus, arm by arm and fused, with paired intervals.
 *
 *   bun bench/retrieval/eval.ts [--no-model] [--sets LoCoMo,en,…] [--variants scores,rrf,…] [--anew] [--timed]
 *
 * Statements that a variant before asked already are answered from memory, so times are shown with --timed alone, which asks each anew.
 * What was measured at a commit is kept, so that a run that is cut short goes on where it was, and the tables show all of it.
 */

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { z } from "zod";
import { mean } from "../../src/domain/retrieval/metrics.ts";
import { comparePaired, type PairedComparison } from "../../src/domain/retrieval/statistics.ts";
import type { Embedder } from "../../src/inference/port.ts";
import type { CallContext } from "../../src/kernel/context.ts";
import { newId } from "../../src/kernel/ids.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { VERSION } from "../../src/kernel/version.ts";
import { createChunks } from "../../src/services/chunks.ts";
import { createEmbeddingQueue } from "../../src/services/embedding/queue.ts";
import { createVectors } from "../../src/services/embedding/vectors.ts";
import { loadCorpus } from "../../src/services/evaluation/corpus.ts";
import { type Dataset, readDataset } from "../../src/services/evaluation/dataset.ts";
import { createEvaluation, DEFAULT_SETTINGS } from "../../src/services/evaluation/evaluation.ts";
import type { EvaluationSettings } from "../../src/services/evaluation/report.ts";
import { createSearch } from "../../src/services/search/search.ts";
import type { Database } from "../../src/store/port.ts";
import { faroAsAsked } from "../../src/tools/search.ts";
import { corpusFile, corpusProjects } from "../support/corpus.ts";
import { benchContext, benchFolder, openBenchDatabase, realEmbedder, withoutModel } from "./bench-database.ts";
import { sharedFolder } from "./eval-sets.ts";
import { remembering } from "./remembering.ts";

interface Part {
  readonly corpus: string;
  readonly questions: string;
}
const SETS: readonly { readonly name: string; readonly parts: readonly Part[] }[] = [
  {
    name: "LoCoMo",
    parts: ["26", "30", "41", "42", "43"].map((chat) => ({ corpus: `locomo/conv-${chat}`, questions: `locomo/conv-${chat}` })),
  },
  { name: "en", parts: [{ corpus: "xquad-r/en", questions: "xquad-r/en" }] },
  { name: "es", parts: [{ corpus: "xquad-r/es", questions: "xquad-r/es" }] },
  { name: "zh", parts: [{ corpus: "xquad-r/zh", questions: "xquad-r/zh" }] },
  { name: "es>en", parts: [{ corpus: "xquad-r/en", questions: "xquad-r/es-to-en" }] },
  { name: "zh>en", parts: [{ corpus: "xquad-r/en", questions: "xquad-r/zh-to-en" }] },
  { name: "CoSQA", parts: [{ corpus: "cosqa/", questions: "cosqa/" }] },
  { name: "public", parts: corpusProjects.map((project) => ({ corpus: project, questions: project })) },
];
function fileOf(stem: string, kind: "corpus" | "questions"): string {
  const project = corpusProjects.find((name) => name === stem);
  if (project !== undefined) return corpusFile(project, kind);
  return join(sharedFolder(), "data/eval", stem.endsWith("/") ? `${stem}${kind}.jsonl` : `${stem}.${kind}.jsonl`);
}

interface Variant {
  readonly name: string;
  readonly settings?: Partial<EvaluationSettings>;
  /** A session is open whose goal names the corpus's first entity. */
  readonly session?: boolean;
  readonly needsModel?: boolean;
}
const BASE = "scores";
/** One arm alone: nothing else speaks. */
const SINGLE_ARMS: readonly Variant[] = [
  { name: "text alone", settings: { bm25: false, vector: false, entityLeg: false } },
  { name: "BM25 alone", settings: { text: false, vector: false, entityLeg: false } },
  { name: "vector alone", settings: { text: false, bm25: false, entityLeg: false }, needsModel: true },
];
const VARIANTS: readonly Variant[] = [
  ...SINGLE_ARMS,
  { name: BASE },
  { name: "scores without text", settings: { text: false } },
  { name: "rrf", settings: { fusion: "rrf" } },
  { name: "rrf without text", settings: { fusion: "rrf", text: false } },
  { name: "scores without entities", settings: { entityLeg: false } },
  { name: "rrf without entities", settings: { fusion: "rrf", entityLeg: false } },
  { name: "scores in a session", session: true },
  { name: "scores diversified", settings: { diversify: true } },
  { name: "scores by cover density", settings: { coverDensity: true } },
];

const args = process.argv.slice(2);
const listed = (flag: string) => args[args.indexOf(flag) + 1]?.split(",") ?? [];
const chosen = <T extends { readonly name: string }>(all: readonly T[], flag: string) =>
  args.includes(flag) ? all.filter(({ name }) => listed(flag).includes(name)) : all;

const idRow = z.object({ id: z.string() });

const projectName = (part: Part) => part.corpus;

/** Every corpus in a project of its own; what is there already is not loaded again. */
async function loadAll(db: Database, embedder: Embedder, sets: typeof SETS): Promise<Map<string, string>> {
  const projects = new Map<string, string>();
  const chunks = createChunks({ thresholdChars: 1_800, sizeChars: 1_400 });
  const queue = createEmbeddingQueue({ db, embedder, vectors: createVectors({ db, embedder, log: silentLogger }), log: silentLogger });
  for (const part of sets.flatMap(({ parts }) => parts)) {
    const name = projectName(part);
    if (projects.has(name)) continue;
    const id = newId();
    const made = await db.write(benchContext(), async (tx) =>
      tx.run(sql`
      insert into brain_projects (id, name) values (${id}::uuid, ${name}::text) on conflict (name) do nothing`),
    );
    if (made === 0) {
      const found = await db.read(benchContext(), (tx) =>
        tx.first({ schema: idRow, statement: sql`select id from brain_projects where name = ${name}::text` }),
      );
      projects.set(name, found?.id ?? "");
      continue;
    }
    projects.set(name, id);
    const startedAt = performance.now();
    const text = readFileSync(fileOf(part.corpus, "corpus"), "utf8");
    const loaded = await loadCorpus({ db, chunks, queue }, benchContext({ kind: "project", id }), text, 3_600_000);
    console.error(
      `${name}: ${loaded.observations} rows, ${loaded.entities} entities, ${loaded.chunks} pieces, ${loaded.withoutVector} without vector, ${Math.round(performance.now() - startedAt)} ms`,
    );
  }
  await queue.drain(3_600_000);
  await queue.stop();
  return projects;
}

const models = args.includes("--no-model") ? withoutModel : await realEmbedder();
const lexicalOnly = models === withoutModel;
const { db } = await openBenchDatabase(lexicalOnly ? "eval-words" : "eval", { anew: args.includes("--anew") });
const sets = chosen(SETS, "--sets");
const projects = await loadAll(db, models, sets);
await db.asOwner((connection) => connection.query("vacuum analyze brain_postings"));
await db.asOwner((connection) => connection.query("vacuum analyze brain_observations"));

const git = Bun.spawnSync(["git", "rev-parse", "--short", "HEAD"]).stdout.toString().trim();
const variants = chosen(VARIANTS, "--variants").filter(({ needsModel }) => !lexicalOnly || needsModel !== true);
console.log(
  `machine ${cpus()[0]?.model ?? "?"} × ${cpus().length}, load ${loadavg()[0]?.toFixed(1)}, bun ${Bun.version}, commit ${git}, engine embedded, ` +
    `corpus data/eval (development halves), settings default, limit 10, model ${lexicalOnly ? "none" : models.label}`,
);

/** Opens a session whose goal names an entity. */
async function sessionOf(projectId: string): Promise<{ id: string; startedAt: string }> {
  const id = newId();
  await db.write(benchContext(), async (tx) => {
    await tx.run(sql`
      insert into brain_sessions (id, session_name, goals, project_id)
      select ${id}::uuid, 'bench', jsonb_build_array('finish what concerns ' || e.name), ${projectId}::uuid
      from brain_entities as e where e.project_id = ${projectId}::uuid order by e.name limit 1`);
  });
  return { id, startedAt: "9999-01-01T00:00:00.000000+00:00" };
}

const datasets = new Map<string, Dataset>();
const datasetOf = (stem: string): Dataset => {
  const known = datasets.get(stem) ?? readDataset(readFileSync(fileOf(stem, "questions"), "utf8"));
  datasets.set(stem, known);
  return known;
};

/** One number a question, in the order of the questions. */
interface Scores {
  readonly ndcg: readonly number[];
  readonly recallAtOne: readonly number[];
  readonly reciprocalRank: readonly number[];
}
interface Cost {
  readonly tokens: number;
  readonly p50: number;
  readonly p95: number;
}

const timed = args.includes("--timed");
const { db: asked, forget } = timed ? { db, forget: () => {} } : remembering(db);
const service = createSearch({ db: asked, embedder: models, fusion: "scores", entityLeg: true });
const evaluation = createEvaluation({
  db,
  ask: faroAsAsked({ search: service, presentation: { compactChars: 1_200 } }),
  clock: () => performance.now(),
  facts: { version: VERSION, commit: git, fusion: "scores", models: { embedder: models.label } },
});

async function measure(set: (typeof SETS)[number], variant: Variant): Promise<{ scores: Scores; cost: Cost }> {
  const reports = [];
  for (const part of set.parts) {
    const id = projects.get(projectName(part)) ?? "";
    const ctx: CallContext = {
      ...benchContext({ kind: "project", id }),
      session: variant.session === true ? await sessionOf(id) : undefined,
    };
    const { metrics } = await evaluation.run(ctx, datasetOf(part.questions), { ...DEFAULT_SETTINGS, ...variant.settings, lexicalOnly });
    if (metrics.missingIds > 0 || metrics.unmeasurable > 0) throw new Error(`${part.corpus}: ${metrics.missingIds} ids are missing`);
    reports.push(metrics);
  }
  const perQuery = reports.flatMap((metrics) => metrics.perQuery);
  return {
    scores: {
      ndcg: perQuery.map(({ ndcg }) => ndcg),
      recallAtOne: perQuery.map(({ recallAtOne }) => recallAtOne),
      reciprocalRank: perQuery.map(({ reciprocalRank }) => reciprocalRank),
    },
    cost: {
      tokens: mean(reports.map(({ meanTokens }) => meanTokens)),
      p50: mean(reports.map(({ latencyP50Ms }) => latencyP50Ms)),
      p95: mean(reports.map(({ latencyP95Ms }) => latencyP95Ms)),
    },
  };
}

const keptPath = join(benchFolder(), `eval-${git}-${lexicalOnly ? "words" : "e5"}${timed ? "-timed" : ""}.jsonl`);
const keptRow = z.object({
  set: z.string(),
  variant: z.string(),
  scores: z.object({ ndcg: z.array(z.number()), recallAtOne: z.array(z.number()), reciprocalRank: z.array(z.number()) }),
  cost: z.object({ tokens: z.number(), p50: z.number(), p95: z.number() }),
});
const kept = (existsSync(keptPath) ? readFileSync(keptPath, "utf8").trim().split("\n") : []).map((line) => keptRow.parse(JSON.parse(line)));
async function keptOrMeasured(set: (typeof SETS)[number], variant: Variant): Promise<{ scores: Scores; cost: Cost }> {
  const known = kept.find((row) => row.set === set.name && row.variant === variant.name);
  if (known !== undefined) return known;
  const measured = await measure(set, variant);
  appendFileSync(keptPath, `${JSON.stringify({ set: set.name, variant: variant.name, ...measured })}\n`);
  return measured;
}

const found = new Map<string, Map<string, Scores>>();
const costs = new Map<string, Cost[]>();
for (const set of sets) {
  const ofSet = new Map<string, Scores>();
  found.set(set.name, ofSet);
  for (const variant of variants) {
    const { scores, cost } = await keptOrMeasured(set, variant);
    ofSet.set(variant.name, scores);
    costs.set(variant.name, [...(costs.get(variant.name) ?? []), cost]);
    console.error(`${set.name} ${variant.name} ${mean(scores.ndcg).toFixed(4)}`);
  }
  forget();
}

const short = (value: number) => value.toFixed(3).replace(/^(-?)0/, "$1");
const scoresOf = (set: string, variant: string): Scores =>
  found.get(set)?.get(variant) ?? { ndcg: [], recallAtOne: [], reciprocalRank: [] };

function table(title: string, pick: (scores: Scores) => readonly number[]): void {
  console.log(`\n${title}; * = differs from '${BASE}' (paired 95 % interval)`);
  console.log("".padEnd(24), ...sets.map(({ name }) => name.padStart(8)));
  for (const { name } of variants) {
    const cells = sets.map((set) => {
      const [mine, base] = [pick(scoresOf(set.name, name)), pick(scoresOf(set.name, BASE))];
      const mark = base.length > 0 && name !== BASE && !comparePaired(base, mine).touchesZero ? "*" : " ";
      return `${short(mean(mine))}${mark}`.padStart(8);
    });
    console.log(name.padEnd(24), ...cells);
  }
}
table("nDCG@10 (first position undiscounted)", ({ ndcg }) => ndcg);
table("recall@1", ({ recallAtOne }) => recallAtOne);
table("MRR", ({ reciprocalRank }) => reciprocalRank);

console.log("\ncost of an answer, mean over the sets (tokens of the verbose form; p50 and p95 in milliseconds)");
const columns = timed ? (["tokens", "p50", "p95"] as const) : (["tokens"] as const);
console.log("".padEnd(24), ...columns.map((name) => name.padStart(8)));
for (const { name } of variants) {
  const mine = costs.get(name) ?? [];
  const cells = columns.map((column) => mean(mine.map((cost) => cost[column])).toFixed(column === "tokens" ? 0 : 1));
  console.log(name.padEnd(24), ...cells.map((cell) => cell.padStart(8)));
}

const interval = (c: PairedComparison) => `${short(c.difference)} [${short(c.interval.low)}, ${short(c.interval.high)}]`;
const verdict = (c: PairedComparison) => (c.touchesZero ? "equal" : c.difference > 0 ? "above" : "BELOW");
for (const fused of [BASE, "rrf"].filter((name) => variants.some((variant) => variant.name === name))) {
  const arms = SINGLE_ARMS.filter(({ name }) => variants.some((variant) => variant.name === name));
  if (arms.length === 0) continue;
  console.log(`\n'${fused}' against each single arm, nDCG@10: difference [95 % paired interval]`);
  for (const { name: set } of sets) {
    const cells = arms.map(({ name }) => {
      const c = comparePaired(scoresOf(set, name).ndcg, scoresOf(set, fused).ndcg);
      return `${name}: ${interval(c)} ${verdict(c)}`;
    });
    console.log(set.padEnd(8), cells.join("   "));
  }
}

const ablations = variants.filter(({ name }) => name !== BASE && !SINGLE_ARMS.some((arm) => arm.name === name));
if (variants.some(({ name }) => name === BASE) && ablations.length > 0) {
  console.log(`\neach variant against '${BASE}', nDCG@10: difference [95 % paired interval]`);
  for (const { name } of ablations) {
    const cells = sets.map(({ name: set }) => {
      const c = comparePaired(scoresOf(set, BASE).ndcg, scoresOf(set, name).ndcg);
      return `${set} ${interval(c)}${c.touchesZero ? "" : "*"}`;
    });
    console.log(`${name}: ${cells.join(" · ")}`);
  }
}
await models.close();
await db[Symbol.asyncDispose]();
