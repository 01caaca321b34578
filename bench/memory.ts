/**
 * What does the daemon hold and what does a call cost at 10,000 memories? Through the compiled program; with `--model` also with the model loaded.
 *
 *   npm run build && npm run bench -- memory [--rows=10000] [--searches=600] [--model=DIRECTORY]
 */
import { parseArgs } from "node:util";
import { emptyHome, openClient, printSetting, processorMs, requireExecutable, residentMb, sentence, spread } from "./support/program.ts";

const { values } = parseArgs({
  options: { rows: { type: "string", default: "10000" }, searches: { type: "string", default: "600" }, model: { type: "string" } },
});
const [rows, searches] = [Number(values.rows), Number(values.searches)];
/** Rows of one entity: a busy one, but not the only one. */
const ROWS_PER_ENTITY = 50;
const ADDS = 200;
/** The daemon collects five times a second. */
const REST_MS = 2_000;
/** Most items of one batch. */
const BATCH = 100;
requireExecutable();
printSetting(
  "memory and calls",
  `compiled program, embedded database, ${rows} observations, ${values.model === undefined ? "no model" : "model loaded"}`,
);

await using home = await emptyHome(values.model === undefined ? {} : { ONNX_MODEL_PATH: values.model });
await using client = openClient(home);
await client.call("cuba_whoami", {});
const daemon = home.daemonPid() ?? 0;
/** What the daemon holds right after the last call, and once what the calls left is collected. */
const resident = async () => {
  const busy = residentMb(daemon);
  await Bun.sleep(REST_MS);
  return `${busy} MB, at rest ${residentMb(daemon)}`;
};
console.log(`daemon at start                  ${await resident()}`);
for (let i = 0; i < rows; i += BATCH) {
  const observations = Array.from({ length: Math.min(BATCH, rows - i) }, (_, k) => ({
    entity_name: `entity ${Math.floor((i + k) / ROWS_PER_ENTITY)}`,
    content: sentence(i + k),
  }));
  await client.call("cuba_cronica", { action: "batch_add", observations });
}
console.log(`daemon after ${rows} writes       ${await resident()}`);

const adds: number[] = [];
const busyBefore = processorMs(daemon);
for (let i = 0; i < ADDS; i++) {
  const began = performance.now();
  await client.call("cuba_cronica", { action: "add", entity_name: `entity ${i % 190}`, content: sentence(1_000_000 + i) });
  adds.push(performance.now() - began);
}
const busy = (processorMs(daemon) - busyBefore) / ADDS;
console.log(`cuba_cronica add                 ${spread(adds)}   (bar p50 5); processor time of the daemon ${busy.toFixed(1)} ms each`);

const times: number[] = [];
for (let i = 0; i < searches; i++) {
  const query = sentence(i * 13)
    .split(" ")
    .slice(2, 8)
    .join(" ");
  const began = performance.now();
  await client.call("cuba_faro", { query });
  times.push(performance.now() - began);
}
console.log(`cuba_faro                        ${spread(times)}   (bar p50 25 plus the question's embedding)`);
console.log(`daemon after ${searches} searches       ${await resident()}   (bar ${values.model === undefined ? 250 : 500})`);
