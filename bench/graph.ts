/**
 * Do measures of the whole graph hold anybody up? A client searches every 50 ms, first alone, then beside each measure, its loading and its storing.
 * Words alone.
 *
 *   bun bench/graph.ts [--entities 10000] [--relations 50000] [--observations 100000] [--server postgres://admin@host/postgres]
 */
import { cpus, loadavg } from "node:os";
import { percentile } from "../src/domain/retrieval/metrics.ts";
import { deadlineIn } from "../src/kernel/deadline.ts";
import { createAnalytics } from "../src/services/analytics/analytics.ts";
import { createNodeMetrics } from "../src/services/analytics/node-metrics.ts";
import { createMeasureRunner } from "../src/services/analytics/run.ts";
import { callPace } from "../src/services/rem/pace.ts";
import { createSearch } from "../src/services/search/search.ts";
import { faroAsAsked } from "../src/tools/search.ts";
import { benchContext, openBenchDatabase, openBenchServer, withoutModel } from "./retrieval/bench-database.ts";

const args = process.argv.slice(2);
const option = (name: string, fallback: string) => (args.includes(name) ? (args[args.indexOf(name) + 1] ?? fallback) : fallback);
const entities = Number(option("--entities", "10000"));
const relations = Number(option("--relations", "50000"));
const observations = Number(option("--observations", "100000"));
const server = args.includes("--server") ? option("--server", "") : undefined;
const SEARCH_EVERY_MS = 50;
const ALONE_SEARCHES = 100;
/** A call's own limit (`CUBA_HANDLER_TIMEOUT_SECS`) is 30 s; on a busy machine the figure would be its busyness. */
const LIMIT_MS = 300_000;
const FILLED_AT_ONCE = 2_000;

const name = `graph-${entities}-${relations}-${observations}`;
const { db, fresh } = server === undefined ? await openBenchDatabase(name) : await openBenchServer(server, name);
console.log(
  `machine ${cpus()[0]?.model ?? "?"} × ${cpus().length}, load ${loadavg()[0]?.toFixed(1)}, bun ${Bun.version}, engine ${server === undefined ? "embedded" : "server"}, ` +
    `${entities} entities, ${relations} relations, ${observations} observations`,
);

const words = "gateway broker cache queue token session replica index payment invoice customer order cluster release pipeline".split(" ");
const word = (at: string) => `(array[${words.map((each) => `'${each}'`).join(",")}])[1 + (${at}) % ${words.length}]`;

if (fresh) {
  const startedAt = performance.now();
  const run = (text: string) => db.asOwner((owner) => owner.script(text));
  await run(`
    insert into brain_entities (name, lexical)
      select md5(i::text) || ' ' || ${word("i")}, md5(i::text) || ' ' || ${word("i")} from generate_series(1, ${entities}) as i;
    create table bench_entities as select id, row_number() over (order by id) as n from brain_entities;
    create index on bench_entities (n); analyze bench_entities;`);
  for (let at = 0; at < observations; at += FILLED_AT_ONCE)
    await run(`
      insert into brain_observations (entity_id, content, lexical)
      select e.id, t.words, t.words
      from generate_series(${at + 1}, ${Math.min(observations, at + FILLED_AT_ONCE)}) as i
      join bench_entities as e on e.n = 1 + (i * 7919) % ${entities}
      cross join lateral (select ${word("i")} || ' ' || ${word("i / 7")} || ' ' || ${word("i / 91")} || ' number ' || i as words) as t`);
  // Groups of a hundred, dense inside; every tenth edge leaves its group.
  await run(`
    insert into brain_relations (from_entity, to_entity, relation_type, strength)
      select a.id, b.id, 'uses', 0.2 + (i % 8) * 0.1
      from generate_series(1, ${relations}) as i
      join bench_entities as a on a.n = 1 + i % ${entities}
      join bench_entities as b on b.n = 1 + case when i % 10 = 0 then (i::bigint * 7907) % ${entities}
        else least(${entities} - 1, (i % ${entities}) / 100 * 100 + (i::bigint * 31 + i / ${entities}) % 100) end
      where a.id <> b.id on conflict do nothing;
    drop table bench_entities;`);
  for (const table of ["brain_postings", "brain_observations", "brain_entities", "brain_relations"])
    await db.asOwner((owner) => owner.query(`vacuum analyze ${table}`));
  console.error(`filled in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
}

const ask = faroAsAsked({
  search: createSearch({ db, embedder: withoutModel, fusion: "scores", entityLeg: true }),
  presentation: { compactChars: 1_200 },
});
const ctx = benchContext({ kind: "none" });
let asked = 0;
const search = async () => {
  const startedAt = performance.now();
  await ask(ctx, { query: `${words[asked % words.length]} ${words[(asked * 7 + 3) % words.length]}`, track_access: false }, {});
  asked++;
  return performance.now() - startedAt;
};
const shown = (times: readonly number[]) =>
  `${times.length} searches, p50 ${percentile(times, 0.5).toFixed(1)}, p95 ${percentile(times, 0.95).toFixed(1)}, most ${Math.max(...times).toFixed(1)} ms`;

/** Searches every 50 ms until `work` is done. */
async function beside(label: string, work: () => Promise<string>): Promise<void> {
  const times: number[] = [];
  let running = true;
  const startedAt = performance.now();
  const other = work().finally(() => {
    running = false;
  });
  while (running) {
    times.push(await search());
    await Bun.sleep(SEARCH_EVERY_MS);
  }
  const what = await other;
  console.log(`${label.padEnd(12)} ${((performance.now() - startedAt) / 1_000).toFixed(1)} s (${what}); beside it ${shown(times)}`);
}

for (let warm = 0; warm < 20; warm++) await search();
const alone: number[] = [];
for (let at = 0; at < ALONE_SEARCHES; at++) {
  alone.push(await search());
  await Bun.sleep(SEARCH_EVERY_MS);
}
console.log(`alone        ${shown(alone)}`);

const runner = createMeasureRunner();
const stored = createNodeMetrics({ db, run: runner });
const analytics = createAnalytics({ db, embedder: withoutModel, run: runner });
const request = () => ({ signal: new AbortController().signal, deadline: deadlineIn(LIMIT_MS), pace: callPace() });
const call = () => ({ ...benchContext({ kind: "none" }), deadline: deadlineIn(LIMIT_MS) });
await beside("pagerank", async () => {
  const done = await stored.rank(request());
  return `${done.updated} ranks, ${done.energyRefreshed} rows stored`;
});
await beside("communities", async () => {
  const done = await stored.tag(request());
  return `${done.communities} communities of ${done.nodes} nodes, Q ${done.modularity.toFixed(3)}`;
});
await beside("bridges", async () => ((await analytics.bridges(call())).kind === "found" ? "betweenness from pivots" : "counts instead"));
await beside("structural", async () => `${(await analytics.structure(call())).closeness.length} shown`);
await db[Symbol.asyncDispose]();
