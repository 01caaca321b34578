/**
 * Is an acknowledged write ever lost? Several windows write through the compiled program while its daemon is killed with -9 at random moments;
 * then every acknowledged text is asked for by id.
 *
 *   npm run build && npm run bench -- crash [--writes=10000] [--kills=30] [--clients=4]
 */
import { parseArgs } from "node:util";
import { emptyHome, openClient, printSetting, requireExecutable, sentence } from "./support/program.ts";

const { values } = parseArgs({
  options: {
    writes: { type: "string", default: "10000" },
    kills: { type: "string", default: "30" },
    clients: { type: "string", default: "4" },
  },
});
const [wanted, kills, clientCount] = [Number(values.writes), Number(values.kills), Number(values.clients)];
/** Rows of one entity. */
const ROWS_PER_ENTITY = 100;
/** Calls of one window that are under way at once. */
const IN_FLIGHT = 4;
/** Most rows that one list answers. */
const PAGE = 200;
requireExecutable();
printSetting(
  "acknowledged writes and kill -9",
  `compiled program, embedded database, ${clientCount} windows with ${IN_FLIGHT} calls each under way`,
);

await using home = await emptyHome();
const acknowledged = new Map<string, string>();
let next = 0;
let failed = 0;

const clients = Array.from({ length: clientCount }, () => openClient(home));
const writer = async (client: ReturnType<typeof openClient>) => {
  while (acknowledged.size < wanted) {
    const n = next++;
    const content = sentence(n);
    try {
      const answer = await client.call("cuba_cronica", {
        action: "add",
        entity_name: `entity ${Math.floor(n / ROWS_PER_ENTITY)}`,
        content,
      });
      if (typeof answer.id === "string") acknowledged.set(answer.id, content);
    } catch {
      failed++;
    }
  }
};
const began = performance.now();
const writing = Promise.all(clients.flatMap((client) => Array.from({ length: IN_FLIGHT }, () => writer(client))));

let killed = 0;
const share = wanted / (kills + 1);
let random = 12_345;
while (killed < kills) {
  random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
  const due = share * (killed + 1 + (random / 2 ** 31 - 0.5) * 0.8);
  while (acknowledged.size < due) await Bun.sleep(1);
  const pid = home.daemonPid();
  if (pid === undefined) continue;
  process.kill(pid, "SIGKILL");
  killed++;
  while (home.daemonPid() === pid) await Bun.sleep(2);
}
await writing;
const seconds = (performance.now() - began) / 1_000;

const stored = new Map<string, string>();
const reader = clients[0] ?? openClient(home);
for (let entity = 0; entity <= Math.floor(next / ROWS_PER_ENTITY); entity++) {
  for (let offset = 0; ; ) {
    const list = await reader
      .call("cuba_cronica", { action: "list", entity_name: `entity ${entity}`, limit: PAGE, offset })
      .catch(() => undefined);
    const rows = (list?.observations ?? []) as { id: string; content: string }[];
    for (const row of rows) stored.set(row.id, row.content);
    offset += rows.length;
    if (rows.length === 0 || offset >= Number(list?.total ?? 0)) break;
  }
}
const lost = [...acknowledged].filter(([id, content]) => stored.get(id) !== content);
console.log(`acknowledged writes ${acknowledged.size}, kills ${killed}, calls that ended with an error ${failed}, ${seconds.toFixed(0)} s`);
console.log(`acknowledged and lost ${lost.length}; stored without an acknowledgement ${stored.size - acknowledged.size + lost.length}`);
for (const client of clients) await client[Symbol.asyncDispose]();
process.exitCode = lost.length === 0 ? 0 : 1;
