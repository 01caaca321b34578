/**
 * How much memory does a process hold that has the embedded database open and an embedding model loaded, after many searches?
 * Fills a database with rows and random vectors in one process, then measures in a fresh one.
 *
 *   npm run bench -- embedder-memory --model=DIRECTORY [--rows=10000] [--searches=600]
 */
import { rm } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { createEmbedder } from "../src/inference/embedder.ts";
import { locateEmbeddingModel } from "../src/inference/models/locate.ts";
import { silentLogger } from "../src/kernel/logger.ts";
import { installedAssets } from "../src/store/embedded/assets.ts";
import { openEmbedded } from "../src/store/pglite.ts";
import { cloneDirectory } from "../test/support/engines.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "" },
    rows: { type: "string", default: "10000" },
    searches: { type: "string", default: "600" },
    directory: { type: "string" },
  },
});
const open = async (directory: string) => await openEmbedded({ directory, assets: await installedAssets(), nodeName: "bench" });
const rssMb = () => Math.round(process.memoryUsage.rss() / 1e6);
const WORDS = "the service failed because its queue was full and nobody had set a limit for the retries of the worker that reads it".split(
  " ",
);
const sentence = (i: number, words: number) =>
  Array.from({ length: words }, (_, k) => WORDS[(i * 7 + k * (1 + (i % 5))) % WORDS.length]).join(" ");

async function fill(directory: string): Promise<void> {
  const db = await open(directory);
  await db.asOwner(async (connection) => {
    await connection.script(`
      begin;
      insert into brain_entities (name) select 'entity ' || i from generate_series(1, 200) as i;
      insert into brain_observations (entity_id, content, embedding, embedding_model)
        select e.id, 'observation ' || i || ' says that the service failed because its queue was full ' || md5(i::text),
          (select array_agg(sin(i * 0.37 + k * 1.7))::vector from generate_series(1, 384) as k), 'bench'
        from generate_series(1, ${Number(values.rows)}) as i join brain_entities as e on e.name = 'entity ' || (1 + i % 200);
      commit;
      checkpoint;`);
  });
  await db[Symbol.asyncDispose]();
}

async function measure(directory: string): Promise<void> {
  const stages: Record<string, number> = { start: rssMb() };
  const db = await open(directory);
  stages.database = rssMb();
  const find = () => locateEmbeddingModel({ explicitPath: values.model, overrides: {} });
  const embedder = await createEmbedder({ find, threads: 1, log: silentLogger });
  const signal = new AbortController().signal;
  const began = performance.now();
  await embedder.embed(["first"], "query", signal);
  const loadMs = performance.now() - began;
  stages.model = rssMb();
  const times: number[] = [];
  for (let i = 0; i < Number(values.searches); i++) {
    const at = performance.now();
    const [vector] = await embedder.embed([`${i} ${sentence(i, 6)}`], "query", signal);
    times.push(performance.now() - at);
    await db.asOwner((connection) =>
      connection.query("select id from brain_observations where embedding is not null order by embedding <=> $1::vector, id limit 20", [
        `[${(vector ?? []).join()}]`,
      ]),
    );
  }
  stages.searched = rssMb();
  // A chunk is at most 1,400 characters.
  for (let i = 0; i < 50; i++) await embedder.embed([sentence(i, 280)], "passage", signal);
  stages.embedded = rssMb();
  times.sort((a, b) => a - b);
  console.log(
    `${cpus()[0]?.model} × ${cpus().length}, ${Math.round(totalmem() / 1e9)} GB, Bun ${Bun.version}; ${values.rows} rows, ${values.searches} searches, then 50 texts of 1,400 characters`,
  );
  console.log(`${embedder.label}: first answer after ${loadMs.toFixed(0)} ms, a query ${times[times.length >> 1]?.toFixed(1)} ms (p50)`);
  console.log(
    Object.entries(stages)
      .map(([stage, mb]) => `${stage} ${mb} MB`)
      .join(" · "),
  );
  await embedder.close();
  await db[Symbol.asyncDispose]();
}

if (values.directory !== undefined) await measure(values.directory);
else {
  const directory = await cloneDirectory();
  try {
    await fill(directory);
    const child = Bun.spawn([process.execPath, import.meta.path, ...process.argv.slice(2), `--directory=${directory}`], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    process.exitCode = await child.exited;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
