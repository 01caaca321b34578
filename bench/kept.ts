/**
 * Does every text that is written stay? (`design.md` §6, "kept"): each development corpus written row by row through `cuba_cronica add`,
 * without a model and with one that answers at once, or (`--e5`) with the real multilingual-e5-small alone, whose vectors are made behind the answers.
 * Stored rows = distinct texts, none refused, none dropped, none hidden.
 *
 *   bun run bench/kept.ts [--e5] [name of a corpus …]
 */
import { availableParallelism, cpus, loadavg } from "node:os";
import { sql } from "drizzle-orm";
import type { Embedder } from "../src/inference/port.ts";
import { corpora, distinctTexts } from "../test/support/corpora.ts";
import { testEmbedder } from "../test/support/embedder.ts";
import { openTestDatabase } from "../test/support/engines.ts";
import { graphOver } from "../test/support/graph.ts";
import { row } from "../test/support/statements.ts";
import { realEmbedder } from "./retrieval/bench-database.ts";

/** A corpus of thousands of texts at some 100 ms each on a busy machine. */
const DRAIN_MS = 3_600_000;
const wanted = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const real = process.argv.includes("--e5") ? await realEmbedder() : undefined;
const models: readonly (readonly [name: string, embedder: () => Embedder])[] =
  real === undefined
    ? [
        ["no", () => testEmbedder("missing")],
        ["yes", () => testEmbedder("ready")],
      ]
    : [["e5", () => real]];

console.log(
  `${cpus()[0]?.model ?? "?"}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}, bun ${Bun.version}, embedded database`,
);
console.log("corpus              model   texts distinct  stored  hidden refused   p50 ms  embedded");
for (const { name, memories } of corpora()) {
  if (wanted.length > 0 && !wanted.some((word) => name.includes(word))) continue;
  const rows = memories();
  for (const [model, embedder] of models) {
    await using db = await openTestDatabase();
    const { caller, queue } = graphOver(db, { embedder: embedder() });
    const call = caller();
    const times: number[] = [];
    let refused = 0;
    for (const { entity, content } of rows) {
      const began = performance.now();
      const answer = await call("cuba_cronica", { action: "add", entity_name: entity, content, allow_secret: true }).catch(() => ({
        id: undefined,
        existing_id: undefined,
      }));
      times.push(performance.now() - began);
      if (answer.id === undefined && answer.existing_id === undefined) refused++;
    }
    await queue.drain(DRAIN_MS);
    const stored = await row(
      db,
      sql`select count(*)::int as rows, count(*) filter (where observation_type = 'superseded')::int as hidden, count(embedding)::int as embedded from brain_observations`,
    );
    const p50 = times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
    const cells = [rows.length, distinctTexts(rows), stored.rows, stored.hidden, refused, p50.toFixed(2), stored.embedded].map((cell) =>
      String(cell).padStart(8),
    );
    console.log(`${name.padEnd(20)}${model.padEnd(5)}${cells.join("")}`);
  }
}
await real?.close();
