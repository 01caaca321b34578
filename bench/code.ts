/**
 * Does reading a source tree into the graph hold anybody up? Of the compiled program on the embedded database, beside a client that searches without a pause: the first
 * `codegraph build`, the same again, and one that was killed in the middle with the daemon and run again. Wall time, resident memory at its peak, the longest search.
 *
 *   npm run build && npm run bench -- code [--path=DIR] [--rows=1000] [--killed]
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import {
  emptyHome,
  executable,
  openClient,
  peakMb,
  printSetting,
  processorMs,
  requireExecutable,
  sentence,
  spread,
} from "./support/program.ts";

const { values } = parseArgs({
  options: {
    path: { type: "string", default: "." },
    rows: { type: "string", default: "1000" },
    killed: { type: "boolean", default: false },
  },
});
requireExecutable();
const directory = resolve(values.path);
printSetting("code", `compiled program, embedded database, ${values.rows} memories, tree ${directory.split("/").at(-1)}`);

await using home = await emptyHome();
await using client = openClient(home);
for (let row = 0; row < Number(values.rows); row++)
  await client.call("cuba_cronica", { action: "add", entity_name: `e${row % 40}`, content: sentence(row) });

let asked = 0;
const nextQuestion = () => {
  asked += 7;
  return sentence(asked % 1_000).slice(0, 30);
};
async function build(name: string, killAfterMs?: number): Promise<void> {
  const startedAt = performance.now();
  const child = Bun.spawn([executable, "codegraph", "build", "--path", directory, "--json"], {
    env: home.env,
    cwd: home.directory,
    stdout: "pipe",
    stderr: "pipe",
  });
  let isRunning = true;
  const before = processorMs(home.daemonPid() ?? 0);
  let most = 0;
  const output = new Response(child.stdout).text();
  const ended = child.exited.then(() => {
    isRunning = false;
  });
  const searches: number[] = [];
  while (isRunning) {
    const at = performance.now();
    await client.call("cuba_faro", { query: nextQuestion(), track_access: false });
    searches.push(performance.now() - at);
    most = Math.max(most, peakMb(child.pid));
    if (killAfterMs !== undefined && performance.now() - startedAt > killAfterMs) {
      child.kill("SIGKILL");
      const daemon = home.daemonPid();
      if (daemon !== undefined) process.kill(daemon, "SIGKILL");
      break;
    }
    await Bun.sleep(10);
  }
  await ended;
  const told = (await output)
    .trim()
    .replaceAll(/"files_skipped":\[.*?\]\],?/g, "")
    .slice(0, 260);
  console.log(
    `${name}: ${Math.round(performance.now() - startedAt)} ms, exit ${child.exitCode}; peak of the command ${most} MB, of the daemon ${peakMb(home.daemonPid() ?? 0)} MB; processor time of the daemon, searches included, ${Math.round(processorMs(home.daemonPid() ?? 0) - before)} ms`,
  );
  console.log(`  ${told}${child.exitCode === 0 ? "" : await new Response(child.stderr).text()}`);
  console.log(`  searches meanwhile: ${spread(searches)}`);
  // The daemon of a bridge that lost its own is there again with the next request; the one in flight is answered with an error.
  const found = await client.call("cuba_faro", { query: "createCodeGraph", scope: "entities", track_access: false }).catch(() => undefined);
  const { count } = found ?? (await client.call("cuba_faro", { query: "createCodeGraph", scope: "entities", track_access: false }));
  console.log(`  a search for one of its names finds ${count}`);
}
const quiet: number[] = [];
for (let n = 0; n < 100; n++) {
  const at = performance.now();
  await client.call("cuba_faro", { query: nextQuestion(), track_access: false });
  quiet.push(performance.now() - at);
}
console.log(`searches with nothing beside: ${spread(quiet)}; daemon ${peakMb(home.daemonPid() ?? 0)} MB at most so far`);
if (values.killed) await build("killed in the middle", 20_000);
await build("first build");
await build("the same again");
