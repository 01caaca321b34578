/**
 * Does the daemon live within a container's memory? The compiled program in a memory cgroup of its own, with a model on disk that does not fit.
 *
 *   npm run build && npm run bench -- memory-limit [--limit=512] [--rows=1500] [--searches=200] [--model=DIRECTORY]
 *
 * Needs root and a writable cgroup file system (v1 or v2).
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { emptyHome, executable, openClient, printSetting, requireExecutable, sentence, spread } from "./support/program.ts";

const { values } = parseArgs({
  options: {
    limit: { type: "string", default: "512" },
    rows: { type: "string", default: "1500" },
    searches: { type: "string", default: "200" },
    model: { type: "string" },
  },
});
const [limitMb, rows, searches] = [Number(values.limit), Number(values.rows), Number(values.searches)];
const MEBIBYTE = 1_048_576;
/** The daemon's start; longer means that it did not come up. */
const START_LIMIT_MS = 60_000;

/** Where a memory cgroup can be made, and what its files are called. */
const V1 = { root: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes", peak: "memory.max_usage_in_bytes", hits: "memory.failcnt" };
const V2 = { root: "/sys/fs/cgroup", limit: "memory.max", peak: "memory.peak", hits: "memory.events" };
const version = existsSync(join(V1.root, V1.limit)) ? V1 : V2;

requireExecutable();
printSetting(
  "a daemon in a memory cgroup",
  `compiled program, embedded database, limit ${limitMb} MiB, ${rows} writes, ${searches} searches`,
);
const group = join(version.root, `memory-industry-bench-${process.pid}`);
mkdirSync(group);
const read = (file: string) => readFileSync(join(group, file), "utf8").trim();
writeFileSync(join(group, version.limit), String(limitMb * MEBIBYTE));

await using home = await emptyHome();
if (values.model !== undefined)
  cpSync(values.model, join(home.directory, ".cache/memory-industry/models"), { recursive: true, dereference: true });
const daemon = Bun.spawn(["sh", "-c", `echo $$ > ${join(group, "cgroup.procs")} && exec ${executable} serve 127.0.0.1:0`], {
  env: home.env,
  cwd: home.directory,
  stdout: "ignore",
  stderr: "ignore",
});
try {
  const late = performance.now() + START_LIMIT_MS;
  while (home.daemonPid() !== daemon.pid && daemon.exitCode === null && performance.now() < late) await Bun.sleep(50);
  await using client = openClient(home);
  const { resources } = await client.call("cuba_whoami", {});
  console.log(`plan                 ${JSON.stringify(resources)}`);
  const peak = () => `${Math.round(Number(read(version.peak)) / MEBIBYTE)} MiB`;
  console.log(`peak after the start ${peak()}`);
  for (let i = 0; i < rows; i++)
    await client.call("cuba_cronica", { action: "add", entity_name: `entity ${i % 50}`, content: sentence(i) });
  console.log(`peak after writes    ${peak()}`);
  const times: number[] = [];
  for (let i = 0; i < searches; i++) {
    const began = performance.now();
    await client.call("cuba_faro", {
      query: sentence(i * 13)
        .split(" ")
        .slice(2, 8)
        .join(" "),
    });
    times.push(performance.now() - began);
  }
  console.log(`peak after searches  ${peak()} (page cache included)   ${spread(times)}`);
  console.log(`limit met            ${version === V1 ? read(version.hits) : read(version.hits).replaceAll("\n", ", ")}`);
  console.log(`daemon               ${daemon.exitCode === null ? "alive" : `ended with ${daemon.exitCode}`}`);
} finally {
  daemon.kill();
  await daemon.exited;
  rmdirSync(group);
}
