/**
 * Which questions the abstention gate refuses. `calibrate` sees half of the questions that a memory answers, and the other half is shown through `cuba_faro`
 * with `abstain_ood`: as the memory stands, and with the memories that answer them left out. Off topic are, on XQuAD-R, the questions about the half of the
 * articles that is not stored; on the public corpus those that are marked so, and those marked `absent` make a column of their own.
 *
 *   bun bench/retrieval/abstention.ts [--sets en,es,zh,harbor,quill] [--splits 3] [--alpha 0.05]
 */
import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { z } from "zod";
import { mean } from "../../src/domain/retrieval/metrics.ts";
import type { Embedder } from "../../src/inference/port.ts";
import type { CallContext } from "../../src/kernel/context.ts";
import { newId } from "../../src/kernel/ids.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { createChunks } from "../../src/services/chunks.ts";
import { createEmbeddingQueue } from "../../src/services/embedding/queue.ts";
import { createVectors } from "../../src/services/embedding/vectors.ts";
import { loadCorpus } from "../../src/services/evaluation/corpus.ts";
import { type Question, readDataset } from "../../src/services/evaluation/dataset.ts";
import { createGate } from "../../src/services/search/gate/gate.ts";
import { createThresholdMeasure } from "../../src/services/search/gate/measure-threshold.ts";
import { createSearch } from "../../src/services/search/search.ts";
import { uuidArray } from "../../src/store/codecs.ts";
import { faroAsAsked } from "../../src/tools/search.ts";
import { type CorpusProject, corpusFile, corpusProjects } from "../support/corpus.ts";
import { benchContext, openBenchDatabase, realEmbedder, withoutModel } from "./bench-database.ts";
import { sharedFolder } from "./eval-sets.ts";

const args = process.argv.slice(2);
const given = (flag: string, otherwise: string) => (args.includes(flag) ? (args[args.indexOf(flag) + 1] ?? otherwise) : otherwise);
const ALPHA = Number(given("--alpha", "0.05"));
const SPLITS = Number(given("--splits", "3"));

/** A memory to load and what is asked of it. */
interface Trial {
  readonly memories: readonly Memory[];
  /** Questions that it answers. */
  readonly about: readonly Question[];
  readonly offTopic: readonly Question[];
  /** Questions that sound like this memory and are answered nowhere. */
  readonly unwritten: readonly Question[];
}
const memory = z.looseObject({ id: z.string(), entity: z.string(), content: z.string() });
type Memory = z.output<typeof memory>;

const linesOf = (file: string) =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "");

/** mulberry32: the same splits each time. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
const shuffled = <T>(items: readonly T[], seed: number): T[] => {
  const random = seeded(seed);
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
};

/** Half of the articles are stored; who asks about the others is off topic. */
function xquad(language: string, split: number): Trial {
  const folder = join(sharedFolder(), "data/eval/xquad-r");
  const memories = linesOf(join(folder, `${language}.corpus.jsonl`)).map((line) => memory.parse(JSON.parse(line)));
  const articles = shuffled([...new Set(memories.map(({ entity }) => entity))], split);
  const stored = new Set(articles.slice(0, Math.ceil(articles.length / 2)));
  const articleOf = new Map(memories.map(({ id, entity }) => [id, entity]));
  const isStored = ({ relevantIds }: Question) => stored.has(articleOf.get(relevantIds[0] ?? "") ?? "");
  const { questions } = readDataset(readFileSync(join(folder, `${language}.questions.jsonl`), "utf8"));
  return {
    memories: memories.filter(({ entity }) => stored.has(entity)),
    about: questions.filter(isStored),
    offTopic: questions.filter((question) => !isStored(question)),
    unwritten: [],
  };
}

function publicCorpus(project: CorpusProject): Trial {
  const { questions } = readDataset(readFileSync(corpusFile(project, "questions"), "utf8"));
  const marked = (ability: string) => questions.filter((question) => question.abstain && question.ability === ability);
  return {
    memories: linesOf(corpusFile(project, "corpus")).map((line) => memory.parse(JSON.parse(line))),
    about: questions.filter(({ abstain, relevantIds }) => !abstain && relevantIds.length > 0),
    offTopic: marked("off_topic"),
    unwritten: marked("absent"),
  };
}

const trialOf = (name: string, split: number): Trial => {
  const project = corpusProjects.find((each) => each === name);
  return project === undefined ? xquad(name, split) : publicCorpus(project);
};

const embedder = await realEmbedder();
const { db } = await openBenchDatabase(`abstention-${given("--sets", "all")}`, { anew: true });
const chunks = createChunks({ thresholdChars: 1_800, sizeChars: 1_400 });
const queue = createEmbeddingQueue({ db, embedder, vectors: createVectors({ db, embedder, log: silentLogger }), log: silentLogger });
const clock = () => performance.now();

/** `cuba_faro` with the gate, as a client asks it; whether the question was refused. */
function asker(model: Embedder) {
  const gate = createGate({ db, threshold: undefined, fitLimit: 5_000, clock });
  const search = createSearch({ db, embedder: model, fusion: "scores", entityLeg: true, gate });
  const ask = faroAsAsked({ search, presentation: { compactChars: 1_200 } });
  return async (ctx: CallContext, query: string): Promise<boolean> => {
    const answer = await ask(ctx, { query, abstain_ood: true, track_access: false }, {});
    if (answer.ood_gate !== undefined) throw new Error(`the gate did not decide: ${String(answer.ood_gate_reason)}`);
    return answer.ood === true;
  };
}

const setTrust = async (ids: readonly string[], trust: string) =>
  db.write(benchContext(), async (tx) => {
    await tx.run(sql`update brain_observations set trust = ${trust}::text where id = any(${uuidArray(ids)})`);
  });

interface Shares {
  readonly answered: number;
  readonly offTopic: number;
  readonly absent: number;
  /** NaN where a set has none. */
  readonly unwritten: number;
}
const figures = new Map<string, Shares[]>();
const note = (name: string, shares: Shares) => figures.set(name, [...(figures.get(name) ?? []), shares]);
const share = (refused: readonly boolean[]) => mean(refused.map((one) => (one ? 1 : 0)));

async function run(name: string, split: number): Promise<void> {
  const trial = trialOf(name, split);
  // The database keeps each trial in a project of its own, so ids must not meet.
  const idOf = new Map(trial.memories.map(({ id }) => [id, newId()]));
  const about = shuffled(trial.about, split + 100).map((question) => ({
    ...question,
    relevantIds: question.relevantIds.map((id) => idOf.get(id) ?? id),
  }));
  const [fit, shown] = [about.filter((_, at) => at % 2 === 0), about.filter((_, at) => at % 2 === 1)];

  const id = newId();
  await db.write(benchContext(), async (tx) => {
    await tx.run(sql`insert into brain_projects (id, name) values (${id}::uuid, ${`${name}-${split}`}::text)`);
  });
  const ctx = benchContext({ kind: "project", id });
  const lines = trial.memories.map((row) => JSON.stringify({ ...row, id: idOf.get(row.id) }));
  await loadCorpus({ db, chunks, queue }, ctx, lines.join("\n"), 3_600_000);
  const thresholdMeasure = createThresholdMeasure({ db, embedder, clock, onApplied: () => {} });
  const startedAt = clock();
  const report = await thresholdMeasure.run(ctx, { questions: fit, alpha: ALPHA, samples: 5_000, lexicalOnly: false, apply: true });
  console.error(
    `${name} split ${split}: ${lines.length} memories, calibrated on ${fit.length} questions in ${Math.round(clock() - startedAt)} ms, ` +
      `own estimate: answer left out refused ${percent(report.meaning?.refusedAbsent ?? 0)} with the model, ${percent(report.words.refusedAbsent)} without`,
  );
  for (const [label, model] of [
    ["e5", embedder],
    ["no model", withoutModel],
  ] as const) {
    const refuses = asker(model);
    const refusedOf = async (questions: readonly Question[]) => {
      const refused: boolean[] = [];
      for (const { query } of questions) refused.push(await refuses(ctx, query));
      return share(refused);
    };
    const answered = 1 - (await refusedOf(shown));
    const offTopic = await refusedOf(trial.offTopic);
    const unwritten = trial.unwritten.length === 0 ? Number.NaN : await refusedOf(trial.unwritten);
    const absent: boolean[] = [];
    for (const { query, relevantIds } of shown) {
      await setTrust(relevantIds, "quarantined");
      absent.push(await refuses(ctx, query));
      await setTrust(relevantIds, "trusted");
    }
    note(`${name} ${label}`, { answered, offTopic, absent: share(absent), unwritten });
  }
}

const percent = (value: number) => `${(100 * value).toFixed(1)} %`;
const git = Bun.spawnSync(["git", "rev-parse", "--short", "HEAD"]).stdout.toString().trim();
console.log(
  `machine ${cpus()[0]?.model ?? "?"} × ${cpus().length}, load ${loadavg()[0]?.toFixed(1)}, bun ${Bun.version}, commit ${git}, engine embedded, ` +
    `model ${embedder.label}, alpha ${ALPHA}, ${SPLITS} splits of the articles`,
);
for (const name of given("--sets", "en,es,zh,harbor,quill").split(","))
  for (let split = 1; split <= SPLITS; split++) await run(name, split);
console.log(
  "\nmean of the splits (least of them): answerable answered | off topic refused | answer left out, refused | sounds like it, refused",
);
for (const [name, runs] of figures) {
  const cell = (pick: (shares: Shares) => number) => {
    const values = runs.map(pick);
    return (values.some(Number.isNaN) ? "–" : `${percent(mean(values))} (${percent(Math.min(...values))})`).padStart(18);
  };
  console.log(
    name.padEnd(16),
    [
      cell(({ answered }) => answered),
      cell(({ offTopic }) => offTopic),
      cell(({ absent }) => absent),
      cell(({ unwritten }) => unwritten),
    ].join(" | "),
  );
}
await queue.stop();
await embedder.close();
await db[Symbol.asyncDispose]();
