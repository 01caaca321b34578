/**
 * How long does an editor wait for what a session begins with? The command that `setup` writes into a client's settings, on the compiled program and a memory of
 * this size: beside a running daemon, eight at once, without a daemon, eight without one, and with a daemon that is stopped. Needs MEMORY_INDUSTRY_SHARED for the texts.
 *
 *   npm run build && npm run bench -- session-hook [--memories=100000] [--rounds=40] [--cold=20]
 */
import { chmod, cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openBenchDatabase } from "./retrieval/bench-database.ts";
import { growthCorpus } from "./retrieval/growth-corpus.ts";
import { bulkLoad } from "./retrieval/growth-load.ts";
import { emptyHome, executable, printSetting, requireExecutable, spread } from "./support/program.ts";

const { values } = parseArgs({
  options: {
    memories: { type: "string", default: "100000" },
    rounds: { type: "string", default: "40" },
    cold: { type: "string", default: "20" },
  },
});
const MEMORIES = Number(values.memories);
/** One memory in so many is a decision. */
const DECISIONS = 200;
const OPEN_ERRORS = 200;
const COLD_ROUNDS = Number(values.cold);
const AT_ONCE = 8;

requireExecutable();
await using home = await emptyHome();
printSetting("session-hook", `compiled program, embedded database, ${MEMORIES} memories, no model`);

/** Filled once, kept from run to run, and copied into the home. */
async function fill(): Promise<void> {
  const { db, fresh, directory } = await openBenchDatabase(`session-hook-${MEMORIES}`);
  if (fresh)
    await db.asOwner(async (connection) => {
      await bulkLoad(connection, growthCorpus(MEMORIES));
      await connection.script(`
      update brain_observations as o set observation_type = 'decision'
        from (select id, row_number() over (order by id) as n from brain_observations) as k where k.id = o.id and k.n % ${DECISIONS} = 0;
      insert into brain_errors (error_type, error_message) select 'timeout', 'the gateway gave up on order ' || i from generate_series(1, ${OPEN_ERRORS}) as i;
      insert into brain_sessions (session_name, ended_at, outcome, summary) values ('bench', now(), 'success', 'The gateway was moved behind the broker.');
      checkpoint;`);
      await connection.query("vacuum analyze brain_observations");
    });
  await db[Symbol.asyncDispose]();
  const data = join(home.directory, ".local", "share", "memory-industry");
  await mkdir(data, { recursive: true, mode: 0o700 });
  await cp(directory, join(data, "db"), { recursive: true });
  await chmod(join(data, "db"), 0o700);
}

interface Run {
  readonly ms: number;
  readonly exitCode: number;
  readonly bytes: number;
}

async function hook(): Promise<Run> {
  const began = performance.now();
  const child = Bun.spawn([executable, "recall", "--quiet"], {
    env: home.env,
    cwd: home.directory,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  const text = await new Response(child.stdout).text();
  const exitCode = await child.exited;
  return { ms: performance.now() - began, exitCode, bytes: Buffer.byteLength(text) };
}
const atOnce = () => Promise.all(Array.from({ length: AT_ONCE }, hook));

const distinct = (figures: readonly number[]) => [...new Set(figures)].sort((a, b) => a - b).join(", ");
const show = (what: string, runs: readonly Run[]) =>
  console.log(
    `${what.padEnd(38)} ${spread(runs.map(({ ms }) => ms))}   exit ${distinct(runs.map(({ exitCode }) => exitCode))}, bytes ${distinct(runs.map(({ bytes }) => bytes))}`,
  );

const began = performance.now();
await fill();
console.log(`filled in ${Math.round((performance.now() - began) / 1_000)} s`);

show("first ever, no daemon", [await hook()]);
const warm: Run[] = [];
for (let i = 0; i < Number(values.rounds); i++) warm.push(await hook());
show("beside a daemon (bar 500)", warm);
const together: Run[] = [];
for (let i = 0; i < COLD_ROUNDS; i++) together.push(...(await atOnce()));
show(`${AT_ONCE} at once`, together);
for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  const cold: Run[] = [];
  for (let i = 0; i < COLD_ROUNDS; i++) {
    await home.endDaemon(signal);
    cold.push(await hook());
  }
  show(`daemon ended by ${signal} (bar 1500)`, cold);
}
const coldTogether: Run[] = [];
for (let i = 0; i < COLD_ROUNDS; i++) {
  await home.endDaemon("SIGTERM");
  coldTogether.push(...(await atOnce()));
}
show(`${AT_ONCE} at once, no daemon`, coldTogether);
const pid = home.daemonPid();
if (pid !== undefined) {
  process.kill(pid, "SIGSTOP");
  const stopped = await hook();
  process.kill(pid, "SIGCONT");
  show("daemon stopped (bar 3000)", [stopped]);
}
