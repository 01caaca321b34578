/**
 * Does forgetting hold anybody up? The plan and the erasure of an entity, each by itself and beside a client that searches every 50 ms. Words alone.
 *
 *   bun bench/forget.ts [--entities 10000] [--relations 50000] [--observations 100000] [--server postgres://admin@host/postgres]
 */
import { percentile } from "../src/domain/retrieval/metrics.ts";
import { newId } from "../src/kernel/ids.ts";
import { createForgetting } from "../src/services/forgetting.ts";
import { paceBehind } from "../src/services/pace.ts";
import { benchContext } from "./retrieval/bench-database.ts";
import { compared, createSearcher, meter, shownMeter, shownTimes } from "./support/beside.ts";
import { openLargeMemory } from "./support/large-memory.ts";

const { db, observations } = await openLargeMemory(process.argv.slice(2));
const searcher = createSearcher(db, observations);
const watch = meter(db);
const alone = await searcher.alone(watch.take);
console.log(`alone        ${shownTimes(alone)}; ${shownMeter(watch.take())}`);

const forgetting = createForgetting({
  db: watch.db,
  audit: { record: async () => ({ id: 1, hash: "" }) },
  onErased: () => undefined,
  paceOf: paceBehind(searcher.calls),
});
/** As the dispatcher does it: the call is counted until it stands back. */
const asCalled = async <T>(work: (ctx: ReturnType<typeof benchContext>) => Promise<T>): Promise<T> => {
  const ctx = { ...benchContext({ kind: "none" }), id: newId() };
  const leave = searcher.calls.enter(ctx.id);
  return await work(ctx).finally(leave);
};
const names = (await db.asOwner((owner) => owner.query("select name from brain_entities order by name limit 2"))).rows.map(({ name }) =>
  String(name),
);
const shown = (counts: Readonly<Record<string, number>>) => `${Object.values(counts).reduce((sum, each) => sum + each, 0)} rows`;
const median = percentile(alone, 0.5);
await compared("plan", { searcher, watch }, median, async () =>
  shown((await asCalled((ctx) => forgetting.plan(ctx, names[0] ?? ""))).counts),
);
let at = 0;
await compared("confirm", { searcher, watch }, median, async () =>
  shown((await asCalled((ctx) => forgetting.forget(ctx, names[at++] ?? "", undefined))).counts),
);
watch.stop();
await db[Symbol.asyncDispose]();
