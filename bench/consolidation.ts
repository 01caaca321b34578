/**
 * Does a consolidation cycle hold anybody up? A client searches every 50 ms, first alone, then beside a cycle that has everything to do: every
 * observation fades, sessions relate entities, words of names are compared. Embedded database, words alone.
 *
 *   bun bench/consolidation.ts [--entities 10000] [--observations 100000] [--server postgres://admin@host/postgres]
 */
import { cpus, loadavg } from "node:os";
import { percentile } from "../src/domain/retrieval/metrics.ts";
import { silentLogger } from "../src/kernel/logger.ts";
import { createNodeMetrics } from "../src/services/analytics/node-metrics.ts";
import { createMeasureRunner } from "../src/services/analytics/run.ts";
import { createChunks } from "../src/services/chunks.ts";
import { createAutolink } from "../src/services/relations/autolink.ts";
import { createRem } from "../src/services/rem/cycle.ts";
import { createCalls, createPace } from "../src/services/rem/pace.ts";
import { phases } from "../src/services/rem/registry.ts";
import { createSearch } from "../src/services/search/search.ts";
import { faroAsAsked } from "../src/tools/search.ts";
import { benchContext, openBenchDatabase, openBenchServer, withoutModel } from "./retrieval/bench-database.ts";

const args = process.argv.slice(2);
const option = (name: string, fallback: string) => (args.includes(name) ? (args[args.indexOf(name) + 1] ?? fallback) : fallback);
const [entities, observations] = [Number(option("--entities", "10000")), Number(option("--observations", "100000"))];
const server = args.includes("--server") ? option("--server", "") : undefined;
const SEARCH_EVERY_MS = 50;
const ALONE_SEARCHES = 100;
/** Rows of one statement of the filling. */
const FILLED_AT_ONCE = 2_000;

const name = `consolidation-${entities}-${observations}`;
const { db, fresh } = server === undefined ? await openBenchDatabase(name) : await openBenchServer(server, name);
console.log(
  `machine ${cpus()[0]?.model ?? "?"} × ${cpus().length}, load ${loadavg()[0]?.toFixed(1)}, bun ${Bun.version}, engine ${server === undefined ? "embedded" : "server"}, ` +
    `${entities} entities, ${observations} observations`,
);

const words = "gateway broker cache queue token session replica index payment invoice customer order cluster release pipeline".split(" ");
const word = (at: string) => `(array[${words.map((each) => `'${each}'`).join(",")}])[1 + (${at}) % ${words.length}]`;

if (fresh) {
  const startedAt = performance.now();
  const run = (text: string) => db.asOwner((owner) => owner.script(text));
  await run(`
    insert into brain_entities (name, lexical)
      select md5(i::text) || ' ' || ${word("i")}, md5(i::text) || ' ' || ${word("i")} from generate_series(1, ${entities}) as i;
    insert into brain_sessions (session_name, ended_at) select 's' || i, now() from generate_series(1, ${Math.ceil(observations / 100)}) as i;
    create table bench_entities as select id, row_number() over (order by id) as n from brain_entities;
    create table bench_sessions as select id, row_number() over (order by id) as n from brain_sessions;
    create index on bench_entities (n); create index on bench_sessions (n); analyze bench_entities, bench_sessions;`);
  for (let at = 0; at < observations; at += FILLED_AT_ONCE)
    await run(`
      insert into brain_observations (entity_id, session_id, content, lexical, importance)
      select e.id, s.id, t.words, t.words, 0.8
      from generate_series(${at + 1}, ${Math.min(observations, at + FILLED_AT_ONCE)}) as i
      join bench_entities as e on e.n = 1 + (i * 7919) % ${entities}
      join bench_sessions as s on s.n = 1 + i / 100
      cross join lateral (select ${word("i")} || ' ' || ${word("i / 7")} || ' ' || ${word("i / 91")} || ' number ' || i as words) as t`);
  await run(`
    insert into brain_relations (from_entity, to_entity, relation_type)
      select a.id, b.id, 'uses' from generate_series(1, ${entities * 3}) as i
      join bench_entities as a on a.n = 1 + i % ${entities} join bench_entities as b on b.n = 1 + (i * 31) % ${entities}
      where a.id <> b.id on conflict do nothing;
    drop table bench_entities; drop table bench_sessions;`);
  for (const table of ["brain_postings", "brain_observations", "brain_entities", "brain_relations"])
    await db.asOwner((owner) => owner.query(`vacuum analyze ${table}`));
  console.error(`filled in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
}
// Everything is due again. As a replica no trigger runs.
await db.asOwner(async (owner) => {
  await owner.script("set session_replication_role = replica");
  await owner.script(
    "update brain_observations set importance = 0.8, last_accessed = now() - interval '30 days', last_decayed_at = now() - interval '30 days'",
  );
  await owner.script("set session_replication_role = origin");
  await owner.script("delete from brain_relations where provenance = 'predicted'");
  await owner.script("vacuum analyze brain_observations");
});

const calls = createCalls();
const ask = faroAsAsked({
  search: createSearch({ db, embedder: withoutModel, fusion: "scores", entityLeg: true }),
  presentation: { compactChars: 1_200 },
});
const ctx = benchContext({ kind: "none" });
let asked = 0;
const search = async (): Promise<number> => {
  const at = ++asked;
  // A word of one row: questions whose every word is in a third of the rows cost seconds by themselves here, and would hide what is asked.
  const query = String((at * 1_301) % observations);
  const startedAt = performance.now();
  const leave = calls.enter();
  await ask(ctx, { query, track_access: false }, {}).finally(leave);
  return performance.now() - startedAt;
};
const line = (values: readonly number[]) =>
  `${values.length} searches: p50 ${percentile(values, 0.5).toFixed(1)} p95 ${percentile(values, 0.95).toFixed(1)} p99 ${percentile(values, 0.99).toFixed(1)} most ${Math.max(...values).toFixed(1)} ms`;

for (let i = 0; i < 20; i++) await search();
const alone: number[] = [];
for (let i = 0; i < ALONE_SEARCHES; i++) {
  alone.push(await search());
  await Bun.sleep(SEARCH_EVERY_MS);
}
console.log(`alone    ${line(alone)}`);

const byPhase = new Map<string, number[]>();
let phase = "";
let running = true;
const rem = createRem({
  db,
  phases,
  pace: createPace(calls),
  log: silentLogger,
  embedder: withoutModel,
  vectors: { backfill: async () => 0 },
  chunks: createChunks({ thresholdChars: 1_800, sizeChars: 1_400 }),
  autolink: createAutolink({ db }),
  nodeMetrics: createNodeMetrics({ db, run: createMeasureRunner() }),
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
const startedAt = performance.now();
const cycle = rem
  .run({
    signal: new AbortController().signal,
    onPhase: (_done, _total, which) => {
      phase = which;
    },
  })
  .finally(() => {
    running = false;
  });
while (running) {
  const began = phase;
  const took = await search();
  byPhase.set(began, [...(byPhase.get(began) ?? []), took]);
  await Bun.sleep(SEARCH_EVERY_MS);
}
const outcome = await cycle;
console.log(`beside   ${line([...byPhase.values()].flat())}; the cycle took ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
for (const [which, times] of byPhase) console.log(`  ${which.padEnd(12)} ${line(times)}`);
if (outcome.kind === "ran")
  for (const [which, done] of Object.entries(outcome.cycle.phases))
    console.log(`  ${which.padEnd(12)} ${done.ms} ms, count ${done.count}${done.error === undefined ? "" : `, ${done.error}`}`);
await db[Symbol.asyncDispose]();
