/**
 * How the time of a search grows with the memory: `cuba_faro` with default arguments, words alone or with random unit vectors in place of a model
 * (the query's embedding is not part of the figure).
 *
 *   bun bench/growth.ts [--sizes 1000,10000,100000] [--questions 200] [--vectors] [--server postgres://admin@host/postgres]
 */
import { cpus, loadavg } from "node:os";
import { sql } from "drizzle-orm";
import { percentile } from "../src/domain/retrieval/metrics.ts";
import type { Embedder } from "../src/inference/port.ts";
import { createSearch } from "../src/services/search/search.ts";
import { faroAsAsked } from "../src/tools/search.ts";
import { benchContext, openBenchDatabase, openBenchServer, withoutModel } from "./retrieval/bench-database.ts";
import { growthCorpus, growthQuestions } from "./retrieval/growth-corpus.ts";
import { bulkLoad } from "./retrieval/growth-load.ts";

const args = process.argv.slice(2);
const option = (name: string, fallback: string) => (args.includes(name) ? (args[args.indexOf(name) + 1] ?? fallback) : fallback);
const sizes = option("--sizes", "1000,10000,100000").split(",").map(Number);
const questions = growthQuestions(Number(option("--questions", "200")));
const server = args.includes("--server") ? option("--server", "") : undefined;
const DIMENSIONS = 384;

/** A unit vector that depends on the text alone; near texts share no direction, which costs the same as real ones. */
const vectorOf = (text: string): Float32Array => {
  let state = Number(Bun.hash.crc32(text)) || 1;
  const vector = Float32Array.from({ length: DIMENSIONS }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
  const norm = Math.hypot(...vector);
  return vector.map((value) => value / norm);
};
const randomModel: Embedder = {
  ...withoutModel,
  label: "random/name-type-1",
  status: () => ({ state: "ready", model: "random" }),
  embed: async (texts) => texts.map(vectorOf),
};
const embedder = args.includes("--vectors") ? randomModel : withoutModel;

console.log(
  `machine ${cpus()[0]?.model ?? "?"} × ${cpus().length}, load ${loadavg()[0]?.toFixed(1)}, bun ${Bun.version}, engine ${server === undefined ? "embedded" : "server"}, ` +
    `${questions.length} questions of the development sets, corpus their rows and joined halves, ${embedder.label}`,
);
for (const size of sizes) {
  const name = `growth-${size}${embedder === randomModel ? "-vectors" : ""}`;
  const { db, fresh } = server === undefined ? await openBenchDatabase(name) : await openBenchServer(server, name);
  if (fresh) {
    const startedAt = performance.now();
    const vectors = embedder === randomModel ? { label: embedder.label, of: vectorOf } : undefined;
    await db.asOwner((connection) => bulkLoad(connection, growthCorpus(size), vectors));
    console.error(`${size} rows loaded in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
  }
  const { rows } = await db.asOwner((connection) => connection.query("select count(*)::int as held from brain_observations", []));
  if (rows[0]?.held !== size)
    throw new Error(`The database ${name} does not hold ${size} rows: its load was broken off. Remove the database, then run again.`);
  const ask = faroAsAsked({
    search: createSearch({ db, embedder, fusion: "scores", entityLeg: true }),
    presentation: { compactChars: 1_200 },
  });
  const ctx = benchContext({ kind: "none" });
  for (const query of questions.slice(0, 20)) await ask(ctx, { query, track_access: false }, {});
  const times: number[] = [];
  const work: number[] = [];
  for (const query of questions) {
    const [startedAt, before] = [performance.now(), process.cpuUsage()];
    await ask(ctx, { query, track_access: false }, {});
    times.push(performance.now() - startedAt);
    const { user, system } = process.cpuUsage(before);
    work.push((user + system) / 1_000);
  }
  const line = (values: readonly number[]) =>
    `p50 ${percentile(values, 0.5).toFixed(1)} p95 ${percentile(values, 0.95).toFixed(1)} least ${Math.min(...values).toFixed(1)}`;
  console.log(`${String(size).padStart(7)} rows: ${line(times)} ms; processor time of this process ${line(work)} ms`);
  await db.read(ctx, async (tx) => tx.run(sql`select 1`));
  await db[Symbol.asyncDispose]();
}
