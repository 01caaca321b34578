/**
 * How long does an editor wait? Of the compiled program: the first start ever, a start without a daemon, `initialize` + `tools/list` through a bridge.
 *
 *   npm run build && npm run bench -- start-up [--rounds=20]
 */
import { parseArgs } from "node:util";
import { emptyHome, executable, type Home, openClient, printSetting, requireExecutable, residentMb, spread } from "./support/program.ts";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "20" } } });
requireExecutable();
printSetting("start-up", "compiled program, embedded database, empty homes under the temporary directory");

const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } };

/** From the start of the process to the end of its last answer, milliseconds. */
async function oneShot(home: Home, lines: readonly object[]): Promise<number> {
  const began = performance.now();
  const child = Bun.spawn([executable], {
    env: home.env,
    cwd: home.directory,
    stdin: new Blob([`${lines.map((line) => JSON.stringify(line)).join("\n")}\n`]),
    stdout: "pipe",
    stderr: "ignore",
  });
  await new Response(child.stdout).text();
  await child.exited;
  return performance.now() - began;
}

const listing = [
  { jsonrpc: "2.0", id: 1, method: "initialize", params: hello },
  { jsonrpc: "2.0", id: 2, method: "tools/list" },
];
const firstCall = [
  {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "cuba_cronica", arguments: { action: "add", entity_name: "A", content: "x" } },
  },
];

const first: number[] = [];
for (let i = 0; i < 5; i++) {
  await using home = await emptyHome();
  first.push(await oneShot(home, firstCall));
}
console.log(`first start ever, to the first answered write      ${spread(first)}   (bar 2000)`);

await using home = await emptyHome();
await oneShot(home, firstCall);
const cold: number[] = [];
for (let i = 0; i < 8; i++) {
  await home.endDaemon();
  cold.push(
    await oneShot(home, [{ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "cuba_faro", arguments: { query: "x" } } }]),
  );
}
console.log(`start without a daemon, to the first answered search ${spread(cold)}   (bar 1000)`);

const warm: number[] = [];
for (let i = 0; i < Number(values.rounds); i++) warm.push(await oneShot(home, listing));
console.log(`initialize + tools/list through a bridge             ${spread(warm)}   (bar 60)`);

await using client = openClient(home);
await client.request("initialize", hello);
await client.request("tools/list", {});
console.log(`resident memory of a bridge                          ${residentMb(client.pid)} MB   (bar 25)`);
console.log(`resident memory of its daemon, empty database        ${residentMb(home.daemonPid() ?? 0)} MB`);
const version: number[] = [];
for (let i = 0; i < 10; i++) {
  const began = performance.now();
  await Bun.spawn([executable, "--version"], { stdout: "ignore" }).exited;
  version.push(performance.now() - began);
}
console.log(`--version                                            ${spread(version)}`);
