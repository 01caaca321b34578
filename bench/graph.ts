/**
 * Do measures of the whole graph hold anybody up? Each measure with its loading and its storing, by itself and beside a client that searches every 50 ms.
 * Words alone.
 *
 *   bun bench/graph.ts [--entities 10000] [--relations 50000] [--observations 100000] [--server postgres://admin@host/postgres]
 */
import { percentile } from "../src/domain/retrieval/metrics.ts";
import { deadlineIn } from "../src/kernel/deadline.ts";
import { newId } from "../src/kernel/ids.ts";
import { createAnalytics } from "../src/services/analytics/analytics.ts";
import { createNodeMetrics } from "../src/services/analytics/node-metrics.ts";
import { createMeasureRunner } from "../src/services/analytics/run.ts";
import { paceBehind } from "../src/services/pace.ts";
import { benchContext, withoutModel } from "./retrieval/bench-database.ts";
import { compared, createSearcher, meter, shownMeter, shownTimes } from "./support/beside.ts";
import { openLargeMemory } from "./support/large-memory.ts";

/** A call's own limit (`CUBA_HANDLER_TIMEOUT_SECS`) is 30 s; on a busy machine the figure would be its busyness. */
const LIMIT_MS = 300_000;

const { db, observations } = await openLargeMemory(process.argv.slice(2));
const searcher = createSearcher(db, observations);
const watch = meter(db);
const alone = await searcher.alone(watch.take);
console.log(`alone        ${shownTimes(alone)}; ${shownMeter(watch.take())}`);

const run = createMeasureRunner();
const paceOf = paceBehind(searcher.calls);
const stored = createNodeMetrics({ db: watch.db, run });
const analytics = createAnalytics({ db: watch.db, embedder: withoutModel, run, paceOf });
const call = () => ({ ...benchContext({ kind: "none" }), id: newId(), deadline: deadlineIn(LIMIT_MS) });
/** As the dispatcher does it: the call is counted until it stands back. */
const asCalled = async <T>(work: (ctx: ReturnType<typeof call>) => Promise<T>): Promise<T> => {
  const ctx = call();
  const leave = searcher.calls.enter(ctx.id);
  return await work(ctx).finally(leave);
};
const measures: Readonly<Record<string, () => Promise<string>>> = {
  pagerank: async () => {
    const done = await asCalled((ctx) => stored.rank({ ...ctx, pace: paceOf(ctx.id) }));
    return `${done.updated} ranks, ${done.energyRefreshed} rows stored`;
  },
  communities: async () => {
    const done = await asCalled((ctx) => stored.tag({ ...ctx, pace: paceOf(ctx.id) }));
    return `${done.communities} communities of ${done.nodes} nodes, Q ${done.modularity.toFixed(3)}`;
  },
  bridges: async () => ((await asCalled(analytics.bridges)).kind === "found" ? "betweenness from pivots" : "counts instead"),
  partition: async () => ((await asCalled(analytics.communities)).kind === "found" ? "shown, not stored" : "types instead"),
  structural: async () => `${(await asCalled(analytics.structure)).closeness.length} shown`,
};
for (const [label, work] of Object.entries(measures)) await compared(label, { searcher, watch }, percentile(alone, 0.5), work);
watch.stop();
await db[Symbol.asyncDispose]();
