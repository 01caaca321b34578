/**
 * What a measured rule of the abstention gate does once the memory has grown: fitted as `calibrate` fits it on half of the questions that a quarter of the articles of
 * XQuAD-R answers, and shown on the other half there, then with as many unrelated articles added once and twice. Off topic are the questions about the last quarter, which
 * is never stored. The rule and what all token vectors share stay as they were measured.
 *
 *   bun bench/retrieval/abstention-growth.ts [--set en] [--draws 2] [--splits 10] [--alpha 0.05]
 */
import { cpus, loadavg } from "node:os";
import { sql } from "drizzle-orm";
import { everydayQuestions } from "../../src/domain/retrieval/abstention/everyday-questions.ts";
import { matchedStatisticNames, meaningStatisticNames, wordStatisticNames } from "../../src/domain/retrieval/abstention/rule.ts";
import type { TokenSpace } from "../../src/domain/retrieval/abstention/word-match.ts";
import { mean } from "../../src/domain/retrieval/metrics.ts";
import { newId } from "../../src/kernel/ids.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { createChunks } from "../../src/services/chunks.ts";
import { createEmbeddingQueue } from "../../src/services/embedding/queue.ts";
import { createVectors } from "../../src/services/embedding/vectors.ts";
import { loadCorpus } from "../../src/services/evaluation/corpus.ts";
import { byRule } from "../../src/services/search/gate/gate.ts";
import { measured, tokenSpaceOf, withMatch } from "../../src/services/search/gate/measure-threshold.ts";
import { createProbe, type Probe } from "../../src/services/search/gate/probe.ts";
import type { GateStatistics } from "../../src/services/search/gate/statistics.ts";
import { shuffled, xquadArticles } from "./abstention-trials.ts";
import { benchContext, openBenchDatabase, realEmbedder } from "./bench-database.ts";

const args = process.argv.slice(2);
const given = (flag: string, otherwise: string) => (args.includes(flag) ? (args[args.indexOf(flag) + 1] ?? otherwise) : otherwise);
const LANGUAGE = given("--set", "en");
const DRAWS = Number(given("--draws", "2"));
const SPLITS = Number(given("--splits", "10"));
const ALPHA = Number(given("--alpha", "0.05"));
const SIZES = [1, 2, 3] as const;
const QUARTERS = 4;

const embedder = await realEmbedder();
const { db } = await openBenchDatabase("abstention-growth", { anew: true });
const chunks = createChunks({ thresholdChars: 1_800, sizeChars: 1_400 });
const queue = createEmbeddingQueue({ db, embedder, vectors: createVectors({ db, embedder, log: silentLogger }), log: silentLogger });
const probe = createProbe({ db, embedder });

/** What is found at one size of the memory; the questions stand in one order at all of them. */
interface Found {
  readonly about: readonly Probe[];
  readonly offTopic: readonly GateStatistics[];
  readonly everyday: readonly GateStatistics[];
}

async function find(draw: number): Promise<Found[]> {
  const { articles, memoriesOf, questionsOf } = xquadArticles(LANGUAGE, draw);
  const quarter = Math.floor(articles.length / QUARTERS);
  const about = questionsOf(new Set(articles.slice(0, quarter)));
  const offTopic = questionsOf(new Set(articles.slice((QUARTERS - 1) * quarter)));
  const founds: Found[] = [];
  let space: TokenSpace | undefined;
  for (const size of SIZES) {
    // The database keeps each size in a project of its own, so ids must not meet.
    const memories = memoriesOf(new Set(articles.slice(0, size * quarter))).map((row) => ({ ...row, stored: newId() }));
    const idOf = new Map(memories.map(({ id, stored }) => [id, stored]));
    const id = newId();
    await db.write(benchContext(), async (tx) => {
      await tx.run(sql`insert into brain_projects (id, name) values (${id}::uuid, ${`growth-${draw}-${size}`}::text)`);
    });
    const ctx = benchContext({ kind: "project", id });
    const lines = memories.map(({ stored, ...row }) => JSON.stringify({ ...row, id: stored }));
    await loadCorpus({ db, chunks, queue }, ctx, lines.join("\n"), 3_600_000);
    space ??= await tokenSpaceOf({ db, embedder, everyday: everydayQuestions }, ctx);
    const options = { alive: new Set(idOf.values()), distribution: undefined, withMeaning: true, space };
    const foreign = async (queries: readonly string[]) => {
      const found: GateStatistics[] = [];
      for (const query of queries) found.push((await probe(ctx, { query, relevantIds: [], abstain: true }, options)).present);
      return found;
    };
    const asked: Probe[] = [];
    for (const { query, relevantIds } of about)
      asked.push(await probe(ctx, { query, relevantIds: relevantIds.map((each) => idOf.get(each) ?? each), abstain: false }, options));
    founds.push({
      about: asked,
      offTopic: await foreign(offTopic.map(({ query }) => query)),
      everyday: size === 1 ? await foreign(everydayQuestions) : [],
    });
    console.error(
      `draw ${draw} × ${size}: ${memories.length} memories, ${about.length} questions that they answer, ${offTopic.length} off topic`,
    );
  }
  return founds;
}

const models = ["e5", "e5 pooled", "no model"] as const;
const shareOf = (refused: readonly boolean[]) => mean(refused.map((one) => (one ? 1 : 0)));

/** The rule that is measured on the even of the shuffled questions at the first size, and what it does to the odd ones at each. */
function shown(founds: readonly Found[], split: number, model: (typeof models)[number]) {
  const [first] = founds;
  if (first === undefined) return [];
  const order = shuffled([...first.about.keys()], split + 100);
  const fit = order.flatMap((at, place) => (place % 2 === 0 ? (first.about[at] ?? []) : []));
  const words = measured(wordStatisticNames, fit, first.everyday, (each) => each.words, ALPHA)?.rule;
  const meaning =
    model === "no model" ? undefined : measured(meaningStatisticNames, fit, first.everyday, (each) => each.meaning, ALPHA)?.rule;
  const read = model === "e5" ? measured(matchedStatisticNames, fit, first.everyday, withMatch, ALPHA)?.rule : undefined;
  const matched = read && { rule: read, space: { mean: new Float32Array(), axes: [] } };
  const thresholds = { words, meaning, matched, distance: undefined, outdated: undefined };
  const isRefused = (each: GateStatistics) =>
    byRule(each, thresholds, { distance: undefined, distanceThreshold: undefined, sawAll: true }).kind === "abstained";
  return founds.map(({ about, offTopic }) => {
    const rest = order.flatMap((at, place) => (place % 2 === 1 ? (about[at] ?? []) : []));
    return {
      answered: 1 - shareOf(rest.map(({ present }) => isRefused(present))),
      offTopic: shareOf(offTopic.map(isRefused)),
      absent: shareOf(rest.flatMap(({ absent }) => (absent === undefined ? [] : [isRefused(absent)]))),
    };
  });
}

const percent = (value: number) => `${(100 * value).toFixed(1)}`;
const cell = (values: readonly number[]) => `${percent(mean(values))} (${percent(Math.min(...values))}–${percent(Math.max(...values))})`;
const git = Bun.spawnSync(["git", "rev-parse", "--short", "HEAD"]).stdout.toString().trim();
console.log(
  `machine ${cpus()[0]?.model ?? "?"} × ${cpus().length}, load ${loadavg()[0]?.toFixed(1)}, bun ${Bun.version}, commit ${git}, engine embedded, model ${embedder.label}, ` +
    `XQuAD-R ${LANGUAGE}, ${DRAWS} draws of articles × ${SPLITS} splits, alpha ${ALPHA}, mean (least–most) in %`,
);
const founds: Found[][] = [];
for (let draw = 1; draw <= DRAWS; draw++) founds.push(await find(draw));
console.log("\nset               size | answered | off topic refused | answer left out, refused");
for (const model of models) {
  const runs = founds.flatMap((found) => Array.from({ length: SPLITS }, (_, split) => shown(found, split, model)));
  for (const [at, size] of SIZES.entries()) {
    const cells = (["answered", "offTopic", "absent"] as const).map((kind) => cell(runs.flatMap((run) => run[at]?.[kind] ?? [])));
    console.log(`${`${LANGUAGE} ${model}`.padEnd(17)} × ${size}  | ${cells.join(" | ")}`);
  }
}
await queue.stop();
await embedder.close();
await db[Symbol.asyncDispose]();
