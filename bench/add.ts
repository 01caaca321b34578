/**
 * What does `cuba_cronica add` cost, at 10,000 observations and at an entity's 10th, 100th and 1,000th? (`design.md` §6: p50 at most 5 ms embedded,
 * and the 1,000th at most twice the 10th.) Two kinds of text: every note unlike the others, and a template of which every note is a copy
 * but for two numbers. Sizes are measured round by round, so that a busy machine slows all of them alike.
 *
 *   bun run bench/add.ts [rounds] [postgres URL]
 */
import { availableParallelism, cpus, loadavg } from "node:os";
import { sql } from "drizzle-orm";
import { z } from "zod";
import { query } from "../src/store/codecs.ts";
import { openTestDatabase, openTestServerDatabase, type TestDatabase, testScope } from "../test/support/engines.ts";
import { graphOver } from "../test/support/graph.ts";

const ROUNDS = Number(process.argv[2] ?? 60);
const SERVER = process.argv[3];
const TOTAL_ROWS = 10_000;
const SIZES = [10, 100, 1_000];

const words =
  "payment gateway queue retry worker cache index deploy release token session project owner limit timeout schema migration vector search lock daemon bridge client panel backup archive notice bundle merge conflict".split(
    " ",
  );
let seed = 7;
const random = () => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
  return seed / 0x7fffffff;
};
const pick = () => words[Math.floor(random() * words.length)] ?? "";
const makers = {
  different: (i: number) => `${Array.from({ length: 14 }, pick).join(" ")} ${i}`,
  template: (i: number) => `Deployment ${i} of the payment gateway finished after ${i % 97} seconds without errors`,
} as const;

const percentile = (values: readonly number[], share: number) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;

/** Entities of each size and kind, and unrelated rows up to the total, with vectors as if embedded long ago. */
async function fill(db: TestDatabase): Promise<void> {
  const ctx = testScope();
  let rows = 0;
  const store = (entity: string, contents: readonly string[]) =>
    db.write(ctx, async (tx) => {
      const made = query(
        z.object({ id: z.string() }),
        () => sql`insert into brain_entities (name, name_key) values (${entity}::text, ${entity}::text) returning id`,
      );
      const id = (await tx.first(made(undefined)))?.id;
      await tx.run(sql`
        insert into brain_observations (entity_id, content, lexical, importance, embedding, embedding_model)
        select ${id}::uuid, c.content, lower(c.content), 0.5, (select array_agg(random())::vector(384) from generate_series(1, 384) where c.content is not null), 'bench'
        from jsonb_array_elements_text(${JSON.stringify(contents)}::text::jsonb) as c(content)`);
      rows += contents.length;
    });
  for (const [kind, make] of Object.entries(makers))
    for (const size of SIZES)
      await store(
        `${kind} ${size}`,
        Array.from({ length: size - 1 }, (_, i) => make(i)),
      );
  for (let i = 0; rows < TOTAL_ROWS; i++)
    await store(
      `other ${i}`,
      Array.from({ length: Math.min(100, TOTAL_ROWS - rows) }, (_, j) => makers.different(1_000_000 + i * 100 + j)),
    );
  await db.asOwner((connection) => connection.script("analyze"));
}

async function measure(name: string, db: TestDatabase): Promise<void> {
  await fill(db);
  const { caller } = graphOver(db);
  const call = caller();
  const times = new Map<string, number[]>();
  /** Of this process, the embedded engine included: what a quiet machine would need. */
  const cpuTimes = new Map<string, number[]>();
  let next = 10_000_000;
  for (let round = -10; round < ROUNDS; round++)
    for (const [kind, make] of Object.entries(makers))
      for (const size of SIZES) {
        const key = `${kind} ${size}`;
        const content = make(next++);
        const cpu = process.cpuUsage();
        const began = performance.now();
        const answer = await call("cuba_cronica", { action: "add", entity_name: key, content });
        const took = performance.now() - began;
        const { user, system } = process.cpuUsage(cpu);
        if (typeof answer.id !== "string") throw new Error(`not stored: ${JSON.stringify(answer)}`);
        // The entity keeps its size: what was added goes again, untimed.
        await call("cuba_cronica", { action: "delete", observation_id: answer.id });
        if (round >= 0) {
          times.set(key, [...(times.get(key) ?? []), took]);
          cpuTimes.set(key, [...(cpuTimes.get(key) ?? []), (user + system) / 1_000]);
        }
      }
  console.log(`\n${name}, ${TOTAL_ROWS} observations, ${ROUNDS} rounds, milliseconds`);
  console.log("kind        rows of entity     p50     p95 cpu p50");
  for (const [kind] of Object.entries(makers))
    for (const size of SIZES) {
      const values = times.get(`${kind} ${size}`) ?? [];
      console.log(
        `${kind.padEnd(12)}${String(size).padStart(14)}${percentile(values, 0.5).toFixed(2).padStart(8)}${percentile(values, 0.95).toFixed(2).padStart(8)}${percentile(
          cpuTimes.get(`${kind} ${size}`) ?? [],
          0.5,
        )
          .toFixed(2)
          .padStart(8)}`,
      );
    }
}

console.log(`${cpus()[0]?.model ?? "?"}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}, bun ${Bun.version}`);
const embedded = await openTestDatabase();
await measure("embedded", embedded);
await embedded[Symbol.asyncDispose]();
if (SERVER !== undefined) {
  const server = await openTestServerDatabase(SERVER);
  await measure("server", server);
  await server[Symbol.asyncDispose]();
}
