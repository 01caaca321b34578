/**
 * Does a consolidation cycle hold anybody up? A client searches every 50 ms, first alone, then beside a cycle that has everything to do: every
 * observation fades, sessions relate entities, words of names are compared. Then a cycle with nobody beside it and a twentieth of the fading to do, which
 * tells how long each phase keeps the thread to itself. Words alone.
 *
 *   bun bench/consolidation.ts [--entities 10000] [--relations 50000] [--observations 100000] [--due 1] [--server postgres://admin@host/postgres]
 *
 * `--due`: share of the observations that fade. All of them are 100,000 rewritten rows: some minutes on a quiet machine, a quarter of an hour on a busy one.
 */
import { loadavg } from "node:os";
import { percentile } from "../src/domain/retrieval/metrics.ts";
import { silentLogger } from "../src/kernel/logger.ts";
import { createNodeMetrics } from "../src/services/analytics/node-metrics.ts";
import { createMeasureRunner } from "../src/services/analytics/run.ts";
import { createChunks } from "../src/services/chunks.ts";
import { createBuilds } from "../src/services/codegraph/build.ts";
import { createFading } from "../src/services/maintenance/fading.ts";
import { createPace } from "../src/services/pace.ts";
import { createAutolink } from "../src/services/relations/autolink.ts";
import { createRem } from "../src/services/rem/cycle.ts";
import { phases } from "../src/services/rem/registry.ts";
import { withoutModel } from "./retrieval/bench-database.ts";
import { createSearcher, meter, shownMeter, shownTimes } from "./support/beside.ts";
import { openLargeMemory } from "./support/large-memory.ts";

/** Of the observations, what fades in the cycle with nobody beside it. */
const SECOND_SHARE = 0.05;

const memory = await openLargeMemory(process.argv.slice(2));
const { db } = memory;
const args = process.argv.slice(2);
await memory.makeDue(args.includes("--due") ? Number(args[args.indexOf("--due") + 1]) : 1);
const searcher = createSearcher(db, memory.observations);
const watch = meter(db);
const alone = await searcher.alone(watch.take);
const aloneP50 = percentile(alone, 0.5);
console.log(`alone        ${shownTimes(alone)}; ${shownMeter(watch.take())}`);

const rem = createRem({
  db: watch.db,
  phases,
  pace: createPace(searcher.calls),
  log: silentLogger,
  embedder: withoutModel,
  vectors: { backfill: async () => 0 },
  chunks: createChunks({ thresholdChars: 1_800, sizeChars: 1_400 }),
  autolink: createAutolink({ db: watch.db }),
  fading: createFading({ db: watch.db }),
  builds: createBuilds(watch.db),
  nodeMetrics: createNodeMetrics({ db: watch.db, run: createMeasureRunner() }),
  ladder: () => ({ chats: [], problem: undefined }),
  extractor: () => ({ extract: () => Promise.reject(new Error("nobody is asked")) }),
  nonce: () => "nonce",
  settings: {
    autolink: true,
    backfillLimit: 100,
    relationBatch: 0,
    extractionBatch: 0,
    scanTimeoutMs: 90_000,
    llmDailyCap: 0,
    chunkThresholdChars: 1_800,
  },
});

/** One cycle; `during` runs beside it. */
async function cycle(onPhase: (name: string) => void, during: (isRunning: () => boolean) => Promise<void>) {
  const startedAt = performance.now();
  let running = true;
  const ran = rem.run({ signal: new AbortController().signal, onPhase: (_done, _total, name) => onPhase(name) }).finally(() => {
    running = false;
  });
  await during(() => running);
  const outcome = await ran;
  if (outcome.kind !== "ran") throw new Error(`the cycle did not run: ${outcome.kind}`);
  const { phases: done, error } = outcome.cycle;
  console.log(`             the cycle took ${((performance.now() - startedAt) / 1_000).toFixed(1)} s${error === null ? "" : `: ${error}`}`);
  return done;
}

const times = new Map<string, number[]>();
let phase = "";
const done = await cycle(
  (name) => {
    phase = name;
  },
  (isRunning) =>
    searcher.during(isRunning, (ms) => {
      const name = phase;
      times.set(name, [...(times.get(name) ?? []), ms]);
    }),
);
const heldUp = (found: readonly number[]) => {
  const by = found.map((ms) => Math.max(0, ms - aloneP50));
  return `held up p95 ${percentile(by, 0.95).toFixed(1)} most ${Math.max(...by).toFixed(1)} ms`;
};
const all = [...times.values()].flat();
console.log(`beside       ${shownTimes(all)}; ${heldUp(all)} (load ${loadavg()[0]?.toFixed(1)})`);
for (const { name } of phases) {
  const found = times.get(name);
  const entry = done[name];
  const what =
    entry === undefined ? "not reached" : `${entry.ms} ms, count ${entry.count}${entry.skipped === undefined ? "" : `, ${entry.skipped}`}`;
  console.log(`  ${name.padEnd(12)} ${what}${found === undefined ? "" : `; ${shownTimes(found)}; ${heldUp(found)}`}`);
}

await memory.makeDue(SECOND_SHARE);
console.log("by itself");
let before = "";
watch.take();
await cycle(
  (name) => {
    if (before !== "") console.log(`  ${before.padEnd(12)} ${shownMeter(watch.take())}`);
    before = name;
  },
  async () => {},
);
watch.stop();
await db[Symbol.asyncDispose]();
