/**
 * Which questions the abstention gate refuses, its rule fitted as `calibrate` fits it on half of the questions that a memory answers and shown on the other half: as
 * the memory stands, and with the memories that answer them left out. Off topic are, on XQuAD-R, the questions about the half of the articles that is not
 * stored; on the public corpus those that are marked so, and those marked `absent` make a column of their own. Beside the answers marked `relevant` an
 * earlier memory may say what held before (`grades` 1), which answers the question too where the newer one is gone: one column leaves those out as well. What a search finds for a question is measured
 * once; only the halves are drawn anew, twenty times a set. Beside it the profile: what each statistic alone could refuse, drawn where 95 % of all answerable
 * questions pass.
 *
 *   bun bench/retrieval/abstention.ts [--sets en,es,zh,harbor,quill] [--stored 2] [--splits 20]
 *   --stored: halves of the articles that are stored by turns, XQuAD-R
 */
import { cpus, loadavg } from "node:os";
import { sql } from "drizzle-orm";
import { z } from "zod";
import { everydayQuestions } from "../../src/domain/retrieval/abstention/everyday-questions.ts";
import {
  matchedStatisticNames,
  meaningStatisticNames,
  type StatisticName,
  wordStatisticNames,
} from "../../src/domain/retrieval/abstention/rule.ts";
import { mean } from "../../src/domain/retrieval/metrics.ts";
import type { CallContext } from "../../src/kernel/context.ts";
import { newId } from "../../src/kernel/ids.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { createChunks } from "../../src/services/chunks.ts";
import { createEmbeddingQueue } from "../../src/services/embedding/queue.ts";
import { createVectors } from "../../src/services/embedding/vectors.ts";
import { loadCorpus } from "../../src/services/evaluation/corpus.ts";
import { argumentsOf, DEFAULT_SETTINGS } from "../../src/services/evaluation/evaluation.ts";
import { byRule } from "../../src/services/search/gate/gate.ts";
import { measured, tokenSpaceOf, withMatch } from "../../src/services/search/gate/measure-threshold.ts";
import { createProbe, type Probe } from "../../src/services/search/gate/probe.ts";
import type { GateStatistics } from "../../src/services/search/gate/statistics.ts";
import { createSearch } from "../../src/services/search/search.ts";
import { faroAsAsked } from "../../src/tools/search.ts";
import { corpusProjects } from "../support/corpus.ts";
import { shuffled, trialOf } from "./abstention-trials.ts";
import { benchContext, openBenchDatabase, realEmbedder } from "./bench-database.ts";

const args = process.argv.slice(2);
const given = (flag: string, otherwise: string) => (args.includes(flag) ? (args[args.indexOf(flag) + 1] ?? otherwise) : otherwise);
const STORED = Number(given("--stored", "2"));
const SPLITS = Number(given("--splits", "20"));
const ALPHAS = [0.03, 0.04, 0.05, 0.06, 0.065, 0.07, 0.08];
/** What the gate is held to: at so many of the answerable answered. */
const ANSWERED = 0.95;

const embedder = await realEmbedder();
const { db } = await openBenchDatabase(`abstention-${given("--sets", "all")}`, { anew: true });
const chunks = createChunks({ thresholdChars: 1_800, sizeChars: 1_400 });
const queue = createEmbeddingQueue({ db, embedder, vectors: createVectors({ db, embedder, log: silentLogger }), log: silentLogger });
const probe = createProbe({ db, embedder });
const ask = faroAsAsked({
  search: createSearch({ db, embedder, fusion: "scores", entityLeg: true }),
  presentation: { compactChars: 1_200 },
});

/** Rows of a default answer. */
const SHOWN_ROWS = 10;
/** Whether a search shows one of the answers at all: one that does not loses nothing by being refused. */
async function reaches(ctx: CallContext, query: string, answers: readonly string[], noVector: boolean): Promise<boolean> {
  const settings = { ...DEFAULT_SETTINGS, k: SHOWN_ROWS, format: "verbose" as const };
  const { results } = await ask(ctx, argumentsOf({ query }, settings), { noVector });
  return z
    .array(z.looseObject({ id: z.string() }))
    .parse(results)
    .some(({ id }) => answers.includes(id));
}
interface Reach {
  readonly words: boolean;
  readonly meaning: boolean;
}

/** What a search finds for each question of a memory. */
interface Found {
  readonly about: readonly Probe[];
  /** By question: whether a search shows its answer. */
  readonly reach: ReadonlyMap<string, Reach>;
  /** By question: with the outdated memories left out too. */
  readonly bare: ReadonlyMap<string, GateStatistics>;
  readonly offTopic: readonly GateStatistics[];
  readonly unwritten: readonly GateStatistics[];
  readonly everyday: readonly GateStatistics[];
}

async function find(name: string, half: number): Promise<Found> {
  const trial = trialOf(name, half);
  // The database keeps each trial in a project of its own, so ids must not meet.
  const idOf = new Map(trial.memories.map(({ id }) => [id, newId()]));
  const id = newId();
  await db.write(benchContext(), async (tx) => {
    await tx.run(sql`insert into brain_projects (id, name) values (${id}::uuid, ${`${name}-${half}`}::text)`);
  });
  const ctx = benchContext({ kind: "project", id });
  const lines = trial.memories.map((row) => JSON.stringify({ ...row, id: idOf.get(row.id) }));
  await loadCorpus({ db, chunks, queue }, ctx, lines.join("\n"), 3_600_000);
  const space = await tokenSpaceOf({ db, embedder, everyday: everydayQuestions }, ctx);
  const options = { alive: new Set(idOf.values()), distribution: undefined, withMeaning: true, space };
  const foreign = async (queries: readonly string[]) => {
    const found: GateStatistics[] = [];
    for (const query of queries) found.push((await probe(ctx, { query, relevantIds: [], abstain: true }, options)).present);
    return found;
  };
  const about: Probe[] = [];
  const bare = new Map<string, GateStatistics>();
  const reach = new Map<string, Reach>();
  const stored = (ids: readonly string[]) => ids.map((each) => idOf.get(each) ?? each);
  for (const { query, relevantIds } of trial.about) {
    about.push(await probe(ctx, { query, relevantIds: stored(relevantIds), abstain: false }, options));
    reach.set(query, {
      words: await reaches(ctx, query, stored(relevantIds), true),
      meaning: await reaches(ctx, query, stored(relevantIds), false),
    });
    const also = trial.alsoAbout.get(query);
    const { absent } = also === undefined ? {} : await probe(ctx, { query, relevantIds: stored(also), abstain: false }, options);
    if (absent !== undefined) bare.set(query, absent);
  }
  const reached = [...reach.values()];
  console.error(
    `${name} ${half}: ${lines.length} memories, ${about.length} questions that they answer (${bare.size} of them by an outdated one too), ${trial.offTopic.length} off topic; ` +
      `a search shows the answer of ${reached.filter(({ meaning }) => meaning).length}, one without a model of ${reached.filter(({ words }) => words).length}`,
  );
  return {
    about,
    reach,
    bare,
    offTopic: await foreign(trial.offTopic.map(({ query }) => query)),
    unwritten: await foreign(trial.unwritten.map(({ query }) => query)),
    everyday: await foreign(everydayQuestions),
  };
}

const kinds = ["shown", "answered", "offTopic", "absent", "bare", "unwritten"] as const;
const models = ["e5", "e5 pooled", "no model"] as const;
type Shares = Readonly<Record<(typeof kinds)[number], number>>;
const share = (refused: readonly boolean[]) => (refused.length === 0 ? Number.NaN : mean(refused.map((one) => (one ? 1 : 0))));
const absentOf = ({ absent }: Probe) => (absent === undefined ? [] : [absent]);

/** Fitted on half of the answerable questions, shown on the others and on all that have no answer. */
function shown(found: Found, split: number, alpha: number, model: (typeof models)[number]): Shares {
  const about = shuffled(found.about, split + 100);
  const isReached = ({ question }: Probe) => found.reach.get(question.query)?.[model === "no model" ? "words" : "meaning"] === true;
  const [fit, rest] = [about.filter((_, at) => at % 2 === 0), about.filter((_, at) => at % 2 === 1)];
  const words = measured(wordStatisticNames, fit, found.everyday, (each) => each.words, alpha)?.rule;
  const meaning = measured(meaningStatisticNames, fit, found.everyday, (each) => each.meaning, alpha)?.rule;
  const read = model === "e5" ? measured(matchedStatisticNames, fit, found.everyday, withMatch, alpha)?.rule : undefined;
  const matched = read && { rule: read, space: { mean: new Float32Array(), axes: [] } };
  const thresholds = { words, meaning: model === "no model" ? undefined : meaning, matched, distance: undefined, outdated: undefined };
  const isRefused = (each: GateStatistics) =>
    byRule(each, thresholds, { distance: undefined, distanceThreshold: undefined, sawAll: true }).kind === "abstained";
  return {
    shown: 1 - share(rest.filter(isReached).map(({ present }) => isRefused(present))),
    answered: 1 - share(rest.map(({ present }) => isRefused(present))),
    offTopic: share(found.offTopic.map(isRefused)),
    absent: share(rest.flatMap(absentOf).map(isRefused)),
    bare:
      found.bare.size === 0
        ? Number.NaN
        : share(rest.flatMap((each) => found.bare.get(each.question.query) ?? absentOf(each)).map(isRefused)),
    unwritten: share(found.unwritten.map(isRefused)),
  };
}

/** What one statistic refuses of each kind where {@link ANSWERED} of all answerable questions pass: no fit, nothing held out. */
function alone(founds: readonly Found[], name: StatisticName): Omit<Shares, "shown" | "answered" | "bare"> {
  const figureOf = (found: GateStatistics) =>
    name === "coverage" || name === "known" ? found.words[name] : name === "match" ? (found.match ?? 0) : (found.meaning?.[name] ?? 0);
  const present = founds.flatMap(({ about }) => about.map((each) => figureOf(each.present))).sort((a, b) => a - b);
  const line = present[Math.floor(present.length * (1 - ANSWERED))] ?? 0;
  const refused = (of: (found: Found) => readonly GateStatistics[]) => share(founds.flatMap(of).map((found) => figureOf(found) < line));
  return {
    offTopic: refused(({ offTopic }) => offTopic),
    absent: refused(({ about }) => about.flatMap(absentOf)),
    unwritten: refused(({ unwritten }) => unwritten),
  };
}

const percent = (value: number) => `${(100 * value).toFixed(1)}`;
const cell = (values: readonly number[]) =>
  values.some(Number.isNaN) ? "–" : `${percent(mean(values))} (${percent(Math.min(...values))}–${percent(Math.max(...values))})`;
const git = Bun.spawnSync(["git", "rev-parse", "--short", "HEAD"]).stdout.toString().trim();
console.log(
  `machine ${cpus()[0]?.model ?? "?"} × ${cpus().length}, load ${loadavg()[0]?.toFixed(1)}, bun ${Bun.version}, commit ${git}, engine embedded, ` +
    `model ${embedder.label}, ${SPLITS} splits a set, mean (least–most) in %`,
);
for (const name of given("--sets", "en,es,zh,harbor,quill").split(",")) {
  const halves = corpusProjects.some((each) => each === name) ? 1 : STORED;
  const founds: Found[] = [];
  for (let half = 1; half <= halves; half++) founds.push(await find(name, half));
  console.log(
    `\n${"set".padEnd(17)} alpha | shown, answered | stored, answered | off topic refused | answer left out, refused | the outdated too | sounds like it, refused`,
  );
  for (const model of models)
    for (const alpha of ALPHAS) {
      const runs = Array.from({ length: SPLITS }, (_, at) => founds[at % founds.length]).flatMap((found, at) =>
        found === undefined ? [] : [shown(found, at, alpha, model)],
      );
      console.log(
        `${`${name} ${model}`.padEnd(17)} ${alpha.toFixed(3)} | ${kinds.map((kind) => cell(runs.map((run) => run[kind]))).join(" | ")}`,
      );
    }
  for (const statistic of matchedStatisticNames) {
    const { offTopic, absent, unwritten } = alone(founds, statistic);
    console.log(
      `${name} ${statistic} alone, ${percent(ANSWERED)} of all answered: off topic ${percent(offTopic)}, left out ${percent(absent)}` +
        (Number.isNaN(unwritten) ? "" : `, sounds like it ${percent(unwritten)}`),
    );
  }
}
await queue.stop();
await embedder.close();
await db[Symbol.asyncDispose]();
