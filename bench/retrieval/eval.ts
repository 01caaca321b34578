/**
 * Quality of the real `cuba_faro` on the development sets and the public corpus, arm by arm and fused, with paired intervals.
 *
 *   bun bench/retrieval/eval.ts [--no-model] [--sets LoCoMo,en,…] [--variants scores,rrf,…] [--anew] [--timed]
 *
 * Statements that a variant before asked already are answered from memory, so times are shown with --timed alone, which asks each anew.
 * What was measured at a state of `src` is kept, so that a run that is cut short goes on where it was, and the tables show all of it.
 */

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { z } from "zod";
import { mean } from "../../src/domain/retrieval/metrics.ts";
import { comparePaired, type PairedComparison } from "../../src/domain/retrieval/statistics.ts";
import type { CallContext } from "../../src/kernel/context.ts";
import { newId } from "../../src/kernel/ids.ts";
import { VERSION } from "../../src/kernel/version.ts";
import type { Dataset } from "../../src/services/evaluation/dataset.ts";
import { createEvaluation, DEFAULT_SETTINGS } from "../../src/services/evaluation/evaluation.ts";
import type { EvaluationSettings } from "../../src/services/evaluation/report.ts";
import { createSearch } from "../../src/services/search/search.ts";
import { faroAsAsked } from "../../src/tools/search.ts";
import { benchContext, benchFolder, openBenchDatabase, realEmbedder, withoutModel } from "./bench-database.ts";
import {
  type DevelopmentSet,
  datasetOf,
  developmentSets,
  entitiesOf,
  loadDevelopmentSets,
  type Part,
  projectName,
} from "./development-sets.ts";
import { remembering } from "./remembering.ts";
import { counted, randomReranker } from "./rerankers.ts";

interface Variant {
  readonly name: string;
  readonly settings?: Partial<EvaluationSettings>;
  /** A session is open whose goal names the corpus's first entity, or that of the memory which answers. */
  readonly session?: "elsewhere" | "asked";
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
  { name: "session about another", session: "elsewhere" },
  { name: "session about the same", session: "asked" },
  { name: "scores diversified", settings: { diversify: true } },
  { name: "scores by cover density", settings: { coverDensity: true } },
  // Random weights: its order is noise, its time and its fallbacks are what the stage costs without a model's own work.
  { name: "tiny reranker", settings: { rerank: true } },
];

const args = process.argv.slice(2);
const listed = (flag: string) => args[args.indexOf(flag) + 1]?.split(",") ?? [];
const chosen = <T extends { readonly name: string }>(all: readonly T[], flag: string) =>
  args.includes(flag) ? all.filter(({ name }) => listed(flag).includes(name)) : all;

const models = args.includes("--no-model") ? withoutModel : await realEmbedder();
const lexicalOnly = models === withoutModel;
const { db } = await openBenchDatabase(lexicalOnly ? "eval-words" : "eval", { anew: args.includes("--anew") });
const sets = chosen(developmentSets, "--sets");
const projects = await loadDevelopmentSets(db, models, sets);
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
  /** Processor time of a question in milliseconds, the embedded engine's included: what a busy machine does not falsify. */
  readonly cpu: number;
  /** Pairs that the reranker read a question, and questions that it gave back unread. */
  readonly pairs: number;
  readonly unranked: number;
}

const timed = args.includes("--timed");
const { db: asked, forget } = timed ? { db, forget: () => {} } : remembering(db);
const reranker = await randomReranker();
const { stage, count } = counted(reranker);
const service = createSearch({ db: asked, embedder: models, fusion: "scores", entityLeg: true, rerank: stage });
const evaluation = createEvaluation({
  db,
  ask: faroAsAsked({ search: service, presentation: { compactChars: 1_200 } }),
  clock: () => performance.now(),
  facts: { version: VERSION, commit: git, fusion: "scores", models: { embedder: models.label } },
});

/** The questions of a part as they are asked together: all of them, or each with a goal of its own. */
function asksOf(part: Part, { session }: Variant): { dataset: Dataset; goal: string | undefined }[] {
  const dataset = datasetOf(part.questions);
  if (session !== "asked") return [{ dataset, goal: undefined }];
  const entityOf = entitiesOf(part);
  return dataset.questions.map((question) => {
    const entity = question.relevantIds.map((id) => entityOf.get(id)).find((name) => name !== undefined);
    return { dataset: { ...dataset, questions: [question] }, goal: entity === undefined ? undefined : `finish what concerns ${entity}` };
  });
}

async function measure(set: DevelopmentSet, variant: Variant): Promise<{ scores: Scores; cost: Cost }> {
  const reports = [];
  count.reset();
  const before = process.cpuUsage();
  for (const part of set.parts) {
    const id = projects.get(projectName(part)) ?? "";
    const ctx: CallContext = {
      ...benchContext({ kind: "project", id }),
      session: variant.session === "elsewhere" ? await sessionOf(id) : undefined,
    };
    for (const { dataset, goal } of asksOf(part, variant)) {
      const { metrics } = await evaluation.run(ctx, dataset, { ...DEFAULT_SETTINGS, ...variant.settings, goal, lexicalOnly });
      if (metrics.missingIds > 0 || metrics.unmeasurable > 0) throw new Error(`${part.corpus}: ${metrics.missingIds} ids are missing`);
      reports.push(metrics);
    }
  }
  const { user, system } = process.cpuUsage(before);
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
      cpu: (user + system) / 1_000 / Math.max(perQuery.length, 1),
      pairs: count.asked === 0 ? 0 : count.pairs / count.asked,
      unranked: count.unranked,
    },
  };
}

const sources = Bun.spawnSync(["git", "rev-parse", "--short", "HEAD:src"]).stdout.toString().trim();
const keptPath = join(benchFolder(), `eval-${sources}-${lexicalOnly ? "words" : "e5"}${timed ? "-timed" : ""}.jsonl`);
const keptRow = z.object({
  set: z.string(),
  variant: z.string(),
  scores: z.object({ ndcg: z.array(z.number()), recallAtOne: z.array(z.number()), reciprocalRank: z.array(z.number()) }),
  cost: z.object({ tokens: z.number(), p50: z.number(), p95: z.number(), cpu: z.number(), pairs: z.number(), unranked: z.number() }),
});
const kept = (existsSync(keptPath) ? readFileSync(keptPath, "utf8").trim().split("\n") : []).map((line) => keptRow.parse(JSON.parse(line)));
async function keptOrMeasured(set: DevelopmentSet, variant: Variant): Promise<{ scores: Scores; cost: Cost }> {
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

console.log(
  "\ncost of an answer, mean over the sets (tokens of the verbose form; p50, p95 and processor time in milliseconds, the question's vector remembered)",
);
const columns = timed ? (["tokens", "p50", "p95", "cpu", "pairs", "unranked"] as const) : (["tokens", "pairs", "unranked"] as const);
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
await reranker.close();
await models.close();
await db[Symbol.asyncDispose]();
