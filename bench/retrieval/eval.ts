/**
 * Quality of the real `cuba_faro` on the development sets, arm by arm and fused, with paired intervals.
 *
 *   bun bench/retrieval/eval.ts [--no-model] [--sets LoCoMo,en,…] [--variants scores,rrf,…] [--anew]
 */

import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { FusionMode } from "../../src/domain/retrieval/fusion.ts";
import { mean } from "../../src/domain/retrieval/metrics.ts";
import { comparePaired } from "../../src/domain/retrieval/statistics.ts";
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
import { benchContext, openBenchDatabase, realEmbedder, withoutModel } from "./bench-database.ts";
import { sharedFolder } from "./eval-sets.ts";

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
];
const fileOf = (stem: string, kind: "corpus" | "questions") =>
  join(sharedFolder(), "data/eval", stem.endsWith("/") ? `${stem}${kind}.jsonl` : `${stem}.${kind}.jsonl`);

interface Variant {
  readonly name: string;
  readonly fusion?: FusionMode;
  readonly entityLeg?: boolean;
  readonly settings?: Partial<EvaluationSettings>;
  /** A session is open whose goal names the corpus's first entity. */
  readonly session?: boolean;
  readonly needsModel?: boolean;
}
const VARIANTS: readonly Variant[] = [
  { name: "text alone", settings: { bm25: false, vector: false }, entityLeg: false },
  { name: "BM25 alone", settings: { text: false, vector: false }, entityLeg: false },
  { name: "vector alone", settings: { text: false, bm25: false }, entityLeg: false, needsModel: true },
  { name: "scores" },
  { name: "rrf", fusion: "rrf" },
  { name: "scores, no entity leg", entityLeg: false },
  { name: "scores, session", session: true },
  { name: "scores, diversified", settings: { diversify: true } },
  { name: "scores, cover density", settings: { coverDensity: true } },
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

const scores = new Map<string, Map<string, number[]>>();
const latencies = new Map<string, number[]>();
for (const set of sets) {
  const ofSet = new Map<string, number[]>();
  scores.set(set.name, ofSet);
  for (const variant of variants) {
    const service = createSearch({ db, embedder: models, fusion: variant.fusion ?? "scores", entityLeg: variant.entityLeg ?? true });
    const ask = faroAsAsked({ search: service, presentation: { compactChars: 1_200 } });
    const evaluation = createEvaluation({
      db,
      ask,
      clock: () => performance.now(),
      facts: { version: VERSION, commit: git, fusion: variant.fusion ?? "scores", models: { embedder: models.label } },
    });
    const all: number[] = [];
    const times: number[] = latencies.get(variant.name) ?? [];
    for (const part of set.parts) {
      const id = projects.get(projectName(part)) ?? "";
      const ctx: CallContext = {
        ...benchContext({ kind: "project", id }),
        session: variant.session === true ? await sessionOf(id) : undefined,
      };
      const { metrics } = await evaluation.run(ctx, datasetOf(part.questions), { ...DEFAULT_SETTINGS, ...variant.settings, lexicalOnly });
      if (metrics.missingIds > 0 || metrics.unmeasurable > 0) throw new Error(`${part.corpus}: ${metrics.missingIds} ids are missing`);
      all.push(...metrics.perQuery.map(({ ndcg }) => ndcg));
      times.push(metrics.latencyP50Ms);
    }
    ofSet.set(variant.name, all);
    latencies.set(variant.name, times);
    console.error(`${set.name} ${variant.name} ${mean(all).toFixed(4)}`);
  }
}

const short = (value: number) => value.toFixed(3).replace(/^(-?)0/, "$1");
console.log(`\nnDCG@10 (first position undiscounted); * = differs from 'scores' (paired 95 % interval)`);
console.log("".padEnd(24), ...sets.map(({ name }) => name.padStart(8)), "  p50 ms");
for (const { name } of variants) {
  const cells = sets.map((set) => {
    const mine = scores.get(set.name)?.get(name) ?? [];
    const base = scores.get(set.name)?.get("scores");
    const mark = base !== undefined && name !== "scores" && !comparePaired(base, mine).touchesZero ? "*" : " ";
    return `${short(mean(mine))}${mark}`.padStart(8);
  });
  console.log(
    name.padEnd(24),
    ...cells,
    mean(latencies.get(name) ?? [])
      .toFixed(1)
      .padStart(8),
  );
}

const single = ["BM25 alone", "vector alone"].filter((name) => variants.some((variant) => variant.name === name));
if (variants.some(({ name }) => name === "scores") && single.length > 0) {
  console.log("\n'scores' against each single arm: difference [95 % paired interval]");
  for (const set of sets) {
    const ofSet = scores.get(set.name);
    const cells = single.map((name) => {
      const c = comparePaired(ofSet?.get(name) ?? [], ofSet?.get("scores") ?? []);
      const verdict = c.touchesZero ? "equal" : c.difference > 0 ? "above" : "BELOW";
      return `${name}: ${short(c.difference)} [${short(c.interval.low)}, ${short(c.interval.high)}] ${verdict}`;
    });
    console.log(set.name.padEnd(8), cells.join("   "));
  }
}
await models.close();
await db[Symbol.asyncDispose]();
