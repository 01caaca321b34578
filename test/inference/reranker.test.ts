import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { copyFile, mkdtemp, readFile, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { locatePairModel } from "../../src/inference/models/locate-pair.ts";
import type { Answer, Reranker } from "../../src/inference/port.ts";
import { createReranker, type RerankerOptions, relevanceOf } from "../../src/inference/reranker.ts";
import { deadlineIn, noDeadline } from "../../src/kernel/deadline.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { sharedDirectory } from "../support/shared.ts";
import { type TinyPairModelOptions, writeTinyPairModel } from "../support/tiny-pair-model.ts";

let directory: string;
const open: Reranker[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "mi-reranker-"));
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((reranker) => reranker.close()));
  await rm(directory, { recursive: true, force: true });
});

/** A variable names the place, so installing would not help; known whatever the state. */
const remedy = expect.stringContaining("put the whole model where CUBA_RERANKER_PATH points");

const patient = () => ({ deadline: noDeadline, signal: new AbortController().signal });
const hurried = (ms: number) => ({ deadline: deadlineIn(ms), signal: new AbortController().signal });

async function rerankerOf(more: Partial<RerankerOptions> = {}): Promise<Reranker> {
  const reranker = await createReranker({
    find: () => locatePairModel({ slot: "reranker", explicitPath: directory }),
    threads: 1,
    rules: { chunk: 4, bucket: 0, fixedShape: false, byLength: true },
    placement: { device: "cpu", arena: true, spinning: true },
    log: silentLogger,
    ...more,
  });
  open.push(reranker);
  return reranker;
}
const weights = { good: [2], fine: [1], bad: [-2] };
async function tiny(options: Partial<TinyPairModelOptions> = {}, more: Partial<RerankerOptions> = {}): Promise<Reranker> {
  await writeTinyPairModel(directory, { kind: "reranker", weights, ...options });
  return await rerankerOf(more);
}
const valuesOf = (answer: Answer<number>) => (answer.kind === "answered" ? answer.values.map((value) => Number(value.toFixed(4))) : answer);

describe("scores", () => {
  const passages = ["bad", "good", "fine", "good good", "none of them", "fine bad"];
  const expected = [0.1192, 0.8808, 0.7311, 0.982, 0.5, 0.2689];
  const shapes: readonly [string, Partial<TinyPairModelOptions>, Partial<RerankerOptions["rules"]>][] = [
    ["float32", {}, {}],
    ["float16", { half: true }, {}],
    ["a graph that wants segments", { tokenizer: "wordpiece", tokenTypeIds: true, weights: { good: [1], fine: [0.5], bad: [-1] } }, {}],
    ["two labels, no and yes", { labels: 2, weights: { good: [-1, 1], fine: [0, 1], bad: [1, -1] } }, {}],
    ["more labels, the first counts", { labels: 4, weights: { good: [2, 9, 9, 9], fine: [1, 7, 7, 7], bad: [-2, 0, 0, 0] } }, {}],
    ["one pair a pass", {}, { chunk: 1 }],
    ["a fixed shape, the last pass filled up", {}, { fixedShape: true }],
    ["lengths in buckets, unsorted", {}, { bucket: 32, byLength: false }],
  ];
  test.each(shapes)("%s", async (_, options, rules) => {
    const reranker = await tiny(options, { rules: { chunk: 4, bucket: 0, fixedShape: false, byLength: true, ...rules } });
    expect(valuesOf(await reranker.score("question", passages, patient()))).toEqual(expected);
  });

  test("a question's own words count too, and the order of the passages is kept", async () => {
    const reranker = await tiny();
    expect(valuesOf(await reranker.score("good", ["bad", "good"], patient()))).toEqual([0.5, 0.982]);
  });

  test("the logit rule: one label, two, more", () => {
    expect([[0], [-1, 2], [1, 9, 9]].map((logits) => Number(relevanceOf(Float32Array.from(logits)).toFixed(4)))).toEqual([
      0.5, 0.9526, 0.7311,
    ]);
  });
});

describe("what is not asked", () => {
  test("no passages load no model", async () => {
    const reranker = await tiny();
    expect(await reranker.score("question", [], patient())).toEqual({ kind: "answered", values: [] });
    expect(reranker.status()).toEqual({ state: "idle", model: "tiny-reranker", remedy });
  });

  test("a pair that was scored before costs nothing, also when the time is up for others", async () => {
    await writeTinyPairModel(directory, { kind: "reranker", weights });
    const spawn = () => new Worker(new URL("./fixtures/unruly-pair-worker.ts", import.meta.url));
    const reranker = await rerankerOf({ spawn });
    await reranker.score("q", ["a", "bb"], patient());
    expect(await reranker.score("q", ["a", "bb", "hang"], hurried(300))).toMatchObject({ code: "timeout" });
    expect(valuesOf(await reranker.score("q", ["bb", "a"], hurried(300)))).toEqual([0.8808, 0.7311]);
  });
});

describe("why there are no scores", () => {
  test("no model", async () => {
    const reranker = await rerankerOf();
    expect(reranker.status()).toMatchObject({ state: "missing" });
    expect(await reranker.score("q", ["p"], patient())).toEqual({
      kind: "none",
      code: "no_model",
      reason: "CUBA_RERANKER_PATH names no model directory (model.onnx with tokenizer.json): the model is off.",
    });
  });

  test("switched off by the resource plan, which is not the same as not installed", async () => {
    const reranker = await rerankerOf({
      find: () =>
        locatePairModel({ slot: "reranker", explicitPath: "/nowhere/memory-industry-disabled-by-resource-plan", cacheRoot: directory }),
    });
    expect(await reranker.score("q", ["p"], patient())).toMatchObject({
      code: "disabled_by_plan",
      reason: expect.stringContaining("resource plan"),
    });
  });

  test("no time left", async () => {
    const reranker = await tiny();
    expect(await reranker.score("q", ["p"], hurried(0))).toEqual({
      kind: "none",
      code: "no_budget",
      reason: "The reranker was not asked: the time for it was used up before. Ask again.",
    });
    expect(reranker.status().state).toBe("idle");
  });

  test("a graph cut in half on disk: load failed, without a path", async () => {
    const reranker = await tiny({ fault: "truncated" });
    const answer = await reranker.score("q", ["p"], patient());
    expect(answer).toMatchObject({ kind: "none", code: "load_failed", reason: expect.stringContaining("The reranker does not load") });
    expect(JSON.stringify(answer)).not.toContain(directory);
    expect(reranker.status()).toMatchObject({ state: "failed", model: "tiny-reranker" });
  });

  test("a file that is shorter than its own description says is not even opened", async () => {
    await writeTinyPairModel(directory, { kind: "reranker", weights });
    await truncate(join(directory, "model.onnx"), 100);
    const reranker = await rerankerOf();
    expect(await reranker.score("q", ["p"], patient())).toMatchObject({
      code: "load_failed",
      reason: expect.stringContaining("the file is not whole"),
    });
    await writeTinyPairModel(directory, { kind: "reranker", weights });
    expect(valuesOf(await reranker.score("q", ["good"], patient()))).toEqual([0.8808]);
  });

  test("a score that is not a number", async () => {
    const reranker = await tiny({ weights: { good: [2], rotten: [Number.NaN] } });
    expect(await reranker.score("q", ["good", "rotten"], patient())).toEqual({
      kind: "none",
      code: "inference_error",
      reason: "The reranker failed: the model returned numbers that are not finite.",
    });
    // Said later too, to whoever looks at the model, until it answers again.
    expect(reranker.status()).toEqual({
      state: "ready",
      model: "tiny-reranker",
      remedy,
      trouble: "The reranker failed: the model returned numbers that are not finite.",
    });
    expect(valuesOf(await reranker.score("q", ["good"], patient()))).toEqual([0.8808]);
    expect(reranker.status()).toEqual({ state: "ready", model: "tiny-reranker", remedy });
  });

  test("placed on a card that cannot be opened: it answers from the processor, and its status says so", async () => {
    await writeTinyPairModel(directory, { kind: "reranker", weights });
    const spawn = () => new Worker(new URL("./fixtures/unruly-pair-worker.ts", import.meta.url));
    const reranker = await rerankerOf({ spawn, placement: { device: "gpu", arena: true, spinning: true } });
    expect(reranker.status()).toEqual({ state: "idle", model: "tiny-reranker", remedy });
    expect(await reranker.score("q", ["a"], patient())).toMatchObject({ kind: "answered" });
    expect(reranker.status()).toEqual({ state: "ready", model: "tiny-reranker", remedy, displaced: "it runs on the processor: no CUDA" });
  });

  test("an input that no pair of texts fills", async () => {
    const reranker = await tiny({ extraInput: "pixel_values" });
    expect(await reranker.score("q", ["p"], patient())).toMatchObject({
      code: "load_failed",
      reason: expect.stringContaining("'pixel_values'"),
    });
  });

  test("a slow model stops between two passes, says how far it came, and serves the next call", async () => {
    const reranker = await tiny({ work: 150 }, { rules: { chunk: 1, bucket: 0, fixedShape: false, byLength: true } });
    await reranker.score("warm", ["up"], patient());
    const passages = Array.from({ length: 60 }, (_, at) => `good ${"x".repeat(at)}`);
    const answer = await reranker.score("q", passages, hurried(700));
    expect(answer).toMatchObject({ kind: "none", code: "timeout" });
    expect(answer.kind === "none" ? answer.reason : "").toMatch(
      /^The reranker had read \d+ of 60 texts when the time of this call was over\.$/,
    );
    expect(valuesOf(await reranker.score("next", ["bad"], patient()))).toEqual([0.1192]);
  });
});

describe("a worker that misbehaves", () => {
  const spawn = () => new Worker(new URL("./fixtures/unruly-pair-worker.ts", import.meta.url));
  beforeEach(() => writeTinyPairModel(directory, { kind: "reranker", weights }));

  test("sleeps: the call ends in time, the next one finds the model busy, and a fresh worker serves afterwards", async () => {
    const reranker = await rerankerOf({ spawn, limits: { loadMs: 60_000, runMs: 1_500 } });
    await reranker.score("warm", ["up"], patient());
    expect(await reranker.score("q", ["hang"], hurried(100))).toMatchObject({ code: "timeout", reason: expect.stringContaining("0 of 1") });
    expect(await reranker.score("q", ["p"], hurried(100))).toEqual({
      kind: "none",
      code: "busy",
      reason: "The reranker was busy with an earlier batch until the time of this call was over.",
    });
    expect(valuesOf(await reranker.score("q", ["pp"], patient()))).toEqual([0.8808]);
  });

  test("is killed in the middle: an inference error, and the next call is served", async () => {
    const reranker = await rerankerOf({ spawn });
    expect(await reranker.score("q", ["exit"], patient())).toMatchObject({
      code: "inference_error",
      reason: expect.stringContaining("ended with code 7"),
    });
    expect(reranker.status()).toMatchObject({ state: "failed" });
    expect(valuesOf(await reranker.score("q", ["pp"], patient()))).toEqual([0.8808]);
  });

  test("refuses one batch: an inference error of that call only", async () => {
    const reranker = await rerankerOf({ spawn });
    const [bad, good] = await Promise.all([reranker.score("q", ["refuse"], patient()), reranker.score("q", ["pp"], patient())]);
    expect(bad).toMatchObject({ code: "inference_error", reason: "The reranker failed: this text is too odd." });
    expect(valuesOf(good)).toEqual([0.8808]);
  });

  test("never loads: a cold load is not a busy model", async () => {
    const reranker = await rerankerOf({ spawn, threads: 4, limits: { loadMs: 1_000, runMs: 60_000 } });
    expect(await reranker.score("q", ["p"], hurried(100))).toMatchObject({
      code: "timeout",
      reason: expect.stringContaining("still loading"),
    });
    expect(await reranker.score("q", ["p"], patient())).toMatchObject({ code: "load_failed" });
  });

  test("a client that cancels gets no outcome but its cancellation", async () => {
    const reranker = await rerankerOf({ spawn });
    await reranker.score("warm", ["up"], patient());
    const gone = new AbortController();
    const waiting = reranker.score("q", ["hang"], { deadline: noDeadline, signal: gone.signal });
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
    await expect(reranker.score("q", ["p"], { deadline: noDeadline, signal: gone.signal })).rejects.toMatchObject({ code: "cancelled" });
  });
});

const shared = sharedDirectory();
test.skipIf(shared === undefined)("tiny-reranker: the golden logits, float16, XLM-R, no segments, no description", async () => {
  const source = join(shared ?? "", "models", "tiny-reranker");
  for (const file of ["model.onnx", "tokenizer.json", "config.json"]) await copyFile(join(source, file), join(directory, file));
  const { golden } = JSON.parse(await readFile(join(source, "manifest.json"), "utf8"));
  const reranker = await rerankerOf();
  for (const [at, [query, passage]] of golden.pairs.entries()) {
    const answer = await reranker.score(query, [passage], patient());
    const score = answer.kind === "answered" ? (answer.values[0] ?? 0) : Number.NaN;
    expect(Math.log(score / (1 - score))).toBeCloseTo(golden.logits[at][0], 2);
  }
});
