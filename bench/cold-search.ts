/**
 * How long does a search wait for models that are not loaded? Of the compiled program with the real embedder and the smallest reranker: cold (a daemon that
 * has answered, and loaded nothing), the same question again, warm; alone and four at once; with a rerank budget of one second, and without the argument.
 *
 *   npm run build && npm run bench -- cold-search [--rounds=5] [--rows=300]
 */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { adoptModel } from "../scripts/adopt-model.ts";
import { sharedFolder } from "./retrieval/eval-sets.ts";
import { type Client, emptyHome, openClient, printSetting, type Result, requireExecutable, sentence, spread } from "./support/program.ts";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "5" }, rows: { type: "string", default: "300" } } });
const rounds = Number(values.rounds);
const rows = Number(values.rows);
requireExecutable();
printSetting("cold-search", `compiled program, embedded database, ${rows} memories, multilingual-e5-small, tiny-reranker, budget 1 s`);

await using home = await emptyHome({ CUBA_RERANK_TIMEOUT_SECS: "1" });
const cache = join(home.directory, ".cache/memory-industry");
const model = join(cache, "models");
mkdirSync(cache, { recursive: true });
await adoptModel(join(sharedFolder(), "models/multilingual-e5-small"), model);
await cp(join(sharedFolder(), "models/tiny-reranker"), join(cache, "reranker"), { recursive: true });

const vocabulary = () => readdirSync(model).filter((name) => !/^(model\.onnx|tokenizer\.json|memory-industry\.json)/.test(name));

{
  await using writer = openClient(home);
  for (let row = 0; row < rows; row++)
    await writer.call("cuba_cronica", { action: "add", entity_name: `e${row % 40}`, content: sentence(row) });
  let answer: Result;
  do {
    answer = await writer.call("cuba_faro", { query: "queue worker gateway", track_access: false });
    await Bun.sleep(200);
  } while (answer.degraded === true);
}

let asked = 0;
const ask = async (client: Client, args: Record<string, unknown>) => {
  const startedAt = performance.now();
  const answer = await client.call("cuba_faro", { query: sentence(1_000_000 + asked++).slice(0, 60), track_access: false, ...args });
  return { ms: performance.now() - startedAt, answer };
};
type Asked = Awaited<ReturnType<typeof ask>>;
const fate = ({ answer }: Asked) =>
  [
    answer.degraded === true ? "words alone" : "meaning",
    ...(answer.reranker_degraded === true ? [String(answer.reranker_degraded_code)] : []),
  ].join(", ");

const fates = new Map<string, Map<string, number>>();
const times = new Map<string, number[]>();
const note = (name: string, ...found: Asked[]) => {
  const seen = fates.get(name) ?? new Map<string, number>();
  for (const each of found) seen.set(fate(each), (seen.get(fate(each)) ?? 0) + 1);
  fates.set(name, seen);
  times.set(name, [...(times.get(name) ?? []), ...found.map(({ ms }) => ms)]);
};

/** Times of another client that only asks for words while `work` runs, milliseconds. */
async function beside<T>(other: Client, work: Promise<T>, into: number[]): Promise<T> {
  let isRunning = true;
  const end = work.finally(() => {
    isRunning = false;
  });
  end.catch(() => undefined);
  while (isRunning) {
    const startedAt = performance.now();
    await other.call("cuba_faro", { query: sentence(asked++).slice(0, 40), scope: "errors", track_access: false });
    into.push(performance.now() - startedAt);
  }
  return await end;
}

const others: number[] = [];
const alone: number[] = [];
for (let round = 0; round < rounds; round++)
  for (const [name, args] of [
    ["rerank", { rerank: true }],
    ["default", {}],
  ] as const)
    for (const isFirstEver of [false, true])
      for (const many of [1, 4]) {
        await home.endDaemon();
        if (isFirstEver) for (const file of vocabulary()) rmSync(join(model, file));
        const clients = Array.from({ length: many }, () => openClient(home));
        const other = openClient(home);
        // The daemon runs and has answered; no model is loaded by that.
        for (const client of [...clients, other]) await client.call("cuba_faro", { query: "x", scope: "errors", track_access: false });
        const label = `${name}, ${isFirstEver ? "no vocabulary made yet, " : ""}${many} at once`;
        const all = () => Promise.all(clients.map((client) => ask(client, args)));
        note(`${label}: cold`, ...(await beside(other, all(), others)));
        note(`${label}: asked again`, ...(await all()));
        note(`${label}: and again`, ...(await all()));
        if (!isFirstEver && many === 1) await beside(other, Bun.sleep(300), alone);
        for (const client of [...clients, other]) await client[Symbol.asyncDispose]();
      }
for (const [name, found] of times)
  console.log(`${name.padEnd(62)} ${spread(found)}  ${[...(fates.get(name) ?? [])].map(([what, n]) => `${n}× ${what}`).join("; ")}`);
console.log(`another client's search of errors while models load              ${spread(others)}`);
console.log(`the same with nothing beside                                     ${spread(alone)}`);
