import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmbedder, type EmbedderOptions } from "../../src/inference/embedder.ts";
import { type EmbeddingPlaces, locateEmbeddingModel } from "../../src/inference/models/locate.ts";
import type { EmbeddingOverrides } from "../../src/inference/models/settings.ts";
import { spawnWorker } from "../../src/inference/onnx/worker-client.ts";
import type { Embedder } from "../../src/inference/port.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { type TinyModelOptions, writeTinyModel } from "../support/tiny-model.ts";

let directory: string;
const open: Embedder[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "mi-embedder-"));
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((embedder) => embedder.close()));
  await rm(directory, { recursive: true, force: true });
});

/** A variable names the place, so installing would not help; known whatever the state. */
const remedy = expect.stringContaining("put the whole model where ONNX_MODEL_PATH points");

const patient = () => new AbortController().signal;
const dot = (a: Float32Array | undefined, b: Float32Array | undefined) => {
  let sum = 0;
  for (const [i, value] of (a ?? new Float32Array()).entries()) sum += value * (b?.[i] ?? 0);
  return sum;
};

async function embedderOf(
  places: Partial<EmbeddingPlaces> = {},
  spawn?: () => Worker,
  more: Partial<EmbedderOptions> = {},
): Promise<Embedder> {
  const find = () => locateEmbeddingModel({ explicitPath: directory, overrides: {}, ...places });
  const embedder = await createEmbedder({ find, threads: 1, log: silentLogger, ...(spawn === undefined ? {} : { spawn }), ...more });
  open.push(embedder);
  return embedder;
}

async function tiny(options: TinyModelOptions = {}, overrides: EmbeddingOverrides = {}): Promise<Embedder> {
  await writeTinyModel(directory, { dimensions: 32, ...options });
  return await embedderOf({ overrides });
}

const groups = [
  ["car", "coche", "汽车"],
  ["river", "río", "河"],
];

test("texts that mean the same are near each other, in the order they came, as unit vectors", async () => {
  const embedder = await tiny({ groups });
  const [car, river, coche, cars] = await embedder.embed(["the car", "a river", "el coche", "汽车"], "passage", patient());
  expect(dot(car, car)).toBeCloseTo(1, 5);
  expect(dot(car, coche)).toBeGreaterThan(0.6);
  expect(dot(car, cars)).toBeGreaterThan(0.6);
  expect(dot(car, river)).toBeLessThan(0.4);
});

for (const options of [
  { tokenizer: "wordpiece" },
  { tokenTypeIds: false },
  { pooling: "cls" },
  { pooling: "none" },
  { secondOutput: true },
] satisfies TinyModelOptions[]) {
  test(`a graph of another shape works too: ${JSON.stringify(options)}`, async () => {
    const embedder = await tiny({ groups: [["car", "coche"], ["river"]], ...options });
    const [car, coche, river] = await embedder.embed(["car", "coche", "river"], "passage", patient());
    expect(dot(car, coche)).toBeGreaterThan(0.9);
    expect(dot(car, river)).toBeLessThan(0.5);
  });
}

test("the label and the width are known before anything is loaded, and reading the status loads nothing", async () => {
  const embedder = await tiny({ name: "small" });
  expect(embedder.label).toBe("small/name-type-1");
  expect(embedder.dimensions).toBe(32);
  expect(embedder.status()).toEqual({ state: "idle", model: "small", remedy });
  expect(embedder.status()).toEqual({ state: "idle", model: "small", remedy });
  await embedder.embed([], "passage", patient());
  expect(embedder.status()).toEqual({ state: "idle", model: "small", remedy });
});

test("each role gets its own prefix", async () => {
  const embedder = await tiny({ words: ["query", "passage", "car"], queryPrefix: "query: ", passagePrefix: "passage: " });
  const [question] = await embedder.embed(["car"], "query", patient());
  const [passage] = await embedder.embed(["car"], "passage", patient());
  const [bare] = await (await embedderOf()).embed(["car"], "passage", patient());
  expect(dot(question, passage)).toBeLessThan(0.9);
  expect(dot(passage, bare)).toBeCloseTo(1, 5);
});

for (const tokenizer of ["unigram", "wordpiece"] as const) {
  test(`the tokens of a text come with their own text and without prefix and special tokens: ${tokenizer}`, async () => {
    const embedder = await tiny({
      tokenizer,
      words: ["query", "passage", "red", "car"],
      queryPrefix: "query: ",
      passagePrefix: "passage: ",
    });
    const [text, other] = (await embedder.tokens?.(["red car", "car"], "query", patient())) ?? [];
    expect(text?.pieces).toEqual([" red", " car"]);
    expect(text?.vectors).toHaveLength(2 * 32);
    expect(other?.vectors).toEqual(text?.vectors.slice(32) ?? new Float32Array());
    // The vector of the whole is the mean of its tokens, unit length: here of one alone.
    const [bare] = await (await tiny({ tokenizer, words: ["red", "car"] })).embed(["car"], "passage", patient());
    expect(dot(bare, other?.vectors)).toBeGreaterThan(0.95 * Math.sqrt(dot(other?.vectors, other?.vectors)));
    await expect(embedder.tokens?.(["red"], "passage", AbortSignal.abort())).rejects.toMatchObject({ code: "cancelled" });
  });
}

test("a model that pools by itself has no tokens to give", async () => {
  expect((await tiny({ pooling: "none" })).tokens).toBeUndefined();
});

test("what is longer than the model reads is cut, and the closing special token stays", async () => {
  const embedder = await tiny({ words: ["one", "two", "three"], maxTokens: 5 });
  const [cut] = await embedder.embed(["one two three two two two"], "passage", patient());
  const [whole] = await embedder.embed(["one two three"], "passage", patient());
  expect(cut).toEqual(whole);
});

test("without a model, writes can go on: the status says missing and embedding names the one command", async () => {
  const embedder = await embedderOf();
  expect(embedder.status()).toMatchObject({ state: "missing" });
  await expect(embedder.embed(["x"], "query", patient())).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("memory-industry models embed"),
  });
});

test("a model that is installed later is used without a restart", async () => {
  const embedder = await embedderOf({ overrides: { name: "tiny", dimensions: 32, queryPrefix: "", passagePrefix: "" } });
  await expect(embedder.embed(["x"], "query", patient())).rejects.toMatchObject({ code: "unavailable" });
  await writeTinyModel(directory, { dimensions: 32 });
  const [vector] = await embedder.embed(["x"], "query", patient());
  expect(vector?.length).toBe(32);
  expect(embedder.status()).toEqual({ state: "ready", model: "tiny", remedy });
});

test("another model in the same place is refused while the process runs", async () => {
  const embedder = await embedderOf({ overrides: { name: "expected" } });
  await writeTinyModel(directory, { dimensions: 32, name: "expected" });
  await expect(embedder.embed(["x"], "query", patient())).rejects.toThrow("another than this process began with; restart it");
});

test("a variable that contradicts the model's own file is refused, with both values", async () => {
  const embedder = await tiny({}, { dimensions: 1024, pooling: "cls" });
  expect(embedder.status()).toMatchObject({ state: "failed" });
  await expect(embedder.embed(["x"], "query", patient())).rejects.toThrow(
    'CUBA_EMBEDDING_DIM=1024 where the file says 32; CUBA_POOLING="cls" where the file says "mean"',
  );
});

test("a graph that is cut in half fails with the runtime's reason, without a path, and is not tried for ever", async () => {
  await writeTinyModel(directory, { dimensions: 32, fault: "truncated" });
  let spawned = 0;
  const embedder = await embedderOf({}, () => {
    spawned++;
    return spawnWorker();
  });
  const attempt = () => embedder.embed(["x"], "query", patient()).then(String, (error) => String(error.message));
  const first = await attempt();
  expect(first).toContain("does not work");
  expect(first).not.toContain(directory);
  expect(embedder.status()).toMatchObject({ state: "failed", model: "tiny" });
  await attempt();
  await attempt();
  const tries = spawned;
  expect(await attempt()).toContain("does not work");
  expect(spawned).toBe(tries);

  await writeTinyModel(directory, { dimensions: 32 });
  expect(await embedder.embed(["x"], "query", patient())).toHaveLength(1);
});

test("a width that the graph does not have shows at load", async () => {
  const embedder = await tiny({ fault: "dimensions" });
  await expect(embedder.embed(["x"], "query", patient())).rejects.toThrow("CUBA_EMBEDDING_DIM");
});

test("an input that no text encoder has is refused instead of dropped", async () => {
  const embedder = await tiny({ extraInput: "pixel_values" });
  await expect(embedder.embed(["x"], "query", patient())).rejects.toThrow("wants an input 'pixel_values'");
});

test("a question goes before the passages that wait", async () => {
  const embedder = await tiny({ work: 10 });
  const order: string[] = [];
  const noted = (name: string, work: Promise<unknown>) => work.then(() => order.push(name));
  const passages = ["p0", "p1", "p2", "p3"].map((name) => noted(name, embedder.embed([name], "passage", patient())));
  const question = noted("q", embedder.embed(["q"], "query", patient()));
  await Promise.all([...passages, question]);
  expect(order.indexOf("q")).toBeLessThan(2);
  expect(order.filter((name) => name !== "q")).toEqual(["p0", "p1", "p2", "p3"]);
});

test("a caller that gives up is told so at once, and the load goes on for the next", async () => {
  const embedder = await tiny();
  const gone = new AbortController();
  const waiting = embedder.embed(["x"], "query", gone.signal);
  gone.abort();
  await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
  await expect(embedder.embed(["x"], "query", gone.signal)).rejects.toMatchObject({ code: "cancelled" });
  const late = embedder.embed(["x"], "query", AbortSignal.timeout(0));
  await expect(late).rejects.toMatchObject({ code: "timeout" });
  await late.catch(() => undefined);
  expect(await embedder.embed(["y"], "query", patient())).toHaveLength(1);
});

test("asking while the model loads waits for that load and starts no second", async () => {
  await writeTinyModel(directory, { dimensions: 32 });
  let spawned = 0;
  const embedder = await embedderOf({}, () => {
    spawned++;
    return spawnWorker();
  });
  embedder.warm();
  embedder.warm();
  expect(embedder.status().state).toBe("loading");
  await Promise.all([embedder.embed(["a"], "query", patient()), embedder.embed(["b"], "passage", patient())]);
  // One makes the compact vocabulary and goes, one serves.
  expect(spawned).toBe(2);
  expect(embedder.status().state).toBe("ready");
});

const unruly = () => new Worker(new URL("./fixtures/unruly-worker.ts", import.meta.url));

for (const [word, reason] of [
  ["exit", "ended with code 7"],
  ["throw", "out of its mind"],
] as const) {
  test(`a worker that dies (${word}) is a clear error and is started again for the next call`, async () => {
    await writeTinyModel(directory, { dimensions: 4 });
    const embedder = await embedderOf({}, unruly);
    await embedder.embed(["fine"], "passage", patient());
    const dying = embedder.embed([word, "never reached"], "passage", patient());
    await expect(dying).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining(reason) });
    await dying.catch(() => undefined);
    expect(embedder.status()).toMatchObject({ state: "failed" });
    expect(await embedder.embed(["fine"], "passage", patient())).toHaveLength(1);
    expect(embedder.status().state).toBe("ready");
  });
}

test("a worker that died while nobody asked is started again, and nobody notices", async () => {
  await writeTinyModel(directory, { dimensions: 4 });
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  let spawned = 0;
  const embedder = await embedderOf({}, () => {
    const worker = unruly();
    // The first one only makes the vocabulary.
    if (++spawned === 2) worker.addEventListener("close", () => resolve());
    return worker;
  });
  await embedder.embed(["later"], "passage", patient());
  await gone;
  expect(await embedder.embed(["fine"], "passage", patient())).toHaveLength(1);
});

test("a text that never comes back is given up, and the next one finds a fresh worker", async () => {
  await writeTinyModel(directory, { dimensions: 4 });
  const embedder = await embedderOf({}, unruly, { limits: { loadMs: 60_000, textMs: 200 } });
  await expect(embedder.embed(["hang"], "passage", patient())).rejects.toMatchObject({ code: "unavailable" });
  expect(await embedder.embed(["fine"], "passage", patient())).toHaveLength(1);
});

test("a load that never ends is a failure, not a wait", async () => {
  await writeTinyModel(directory, { dimensions: 4 });
  const embedder = await embedderOf({}, unruly, { threads: 4, limits: { loadMs: 200, textMs: 60_000 } });
  await expect(embedder.embed(["fine"], "passage", patient())).rejects.toMatchObject({ code: "unavailable" });
  expect(embedder.status()).toMatchObject({ state: "failed" });
});

test("one text that cannot be embedded fails its own call only", async () => {
  await writeTinyModel(directory, { dimensions: 4 });
  const embedder = await embedderOf({}, unruly);
  const good = embedder.embed(["fine"], "passage", patient());
  const bad = embedder.embed(["refuse", "and more"], "passage", patient());
  await expect(bad).rejects.toThrow("this text is too odd");
  expect(await good).toHaveLength(1);
  expect(embedder.status().state).toBe("ready");
});

test("a question asked again is answered from the cache; a passage is not", async () => {
  await writeTinyModel(directory, { dimensions: 4 });
  const embedder = await embedderOf({}, unruly);
  const first = async (text: string, role: "query" | "passage") => (await embedder.embed([text], role, patient()))[0]?.[0];
  expect(await first("what", "query")).toBe(1);
  expect(await first("what", "query")).toBe(1);
  expect(await first("what", "passage")).toBe(2);
  expect(await first("what", "passage")).toBe(3);
});

test("closing finishes what was accepted, then refuses", async () => {
  const embedder = await tiny({ work: 5 });
  const accepted = embedder.embed(["a", "b", "c"], "passage", patient());
  const closing = embedder.close();
  await expect(embedder.embed(["d"], "passage", patient())).rejects.toMatchObject({ code: "unavailable" });
  expect(await accepted).toHaveLength(3);
  await closing;
});

test("closing does not wait for a load that nobody waits for", async () => {
  const embedder = await tiny();
  embedder.warm();
  await embedder.close();
  expect(embedder.status().state).not.toBe("failed");
});

test("a damaged description is a failed model, not a missing one", async () => {
  await writeTinyModel(directory);
  await writeFile(join(directory, "memory-industry.json"), "{");
  expect((await embedderOf()).status()).toMatchObject({ state: "failed", reason: expect.stringContaining("is not JSON") });
});
