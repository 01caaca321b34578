/**
 * Does anybody starve? Fifty windows at once on one daemon, each writing and searching.
 *
 *   npm run build && npm run bench -- clients [--clients=50] [--calls=20]
 */
import { parseArgs } from "node:util";
import { emptyHome, openClient, printSetting, quantile, requireExecutable, residentMb, sentence, spread } from "./support/program.ts";

const { values } = parseArgs({ options: { clients: { type: "string", default: "50" }, calls: { type: "string", default: "20" } } });
const [clientCount, callCount] = [Number(values.clients), Number(values.calls)];
requireExecutable();
printSetting(
  "clients at once",
  `compiled program, ${clientCount} bridges on one daemon, ${callCount} calls each (half writes, half searches), embedded database`,
);

await using home = await emptyHome();
const clients = Array.from({ length: clientCount }, () => openClient(home));
await Promise.all(clients.map((client) => client.call("cuba_whoami", {})));

const times: number[] = [];
const slowestOf: number[] = [];
await Promise.all(
  clients.map(async (client, c) => {
    let slowest = 0;
    for (let i = 0; i < callCount; i++) {
      const began = performance.now();
      if (i % 2 === 0) await client.call("cuba_cronica", { action: "add", entity_name: `entity ${c}`, content: sentence(c * 1_000 + i) });
      else await client.call("cuba_faro", { query: sentence(c * 1_000 + i - 1).slice(4, 40) });
      const took = performance.now() - began;
      times.push(took);
      slowest = Math.max(slowest, took);
    }
    slowestOf.push(slowest);
  }),
);
console.log(`a call                     ${spread(times)}`);
console.log(`p95 / p50                  ${(quantile(times, 0.95) / quantile(times, 0.5)).toFixed(1)}   (bar 10)`);
console.log(`slowest call of a client   ${spread(slowestOf)}`);
console.log(`resident: daemon ${residentMb(home.daemonPid() ?? 0)} MB, a bridge ${residentMb(clients[0]?.pid ?? 0)} MB`);
for (const client of clients) await client[Symbol.asyncDispose]();
