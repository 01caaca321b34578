import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CONTROLS, createEntailment, type EntailmentOptions, probabilitiesOf } from "../../src/inference/entailment.ts";
import { locatePairModel } from "../../src/inference/models/locate-pair.ts";
import type { Answer, Entailment, EntailmentReading } from "../../src/inference/port.ts";
import { noDeadline } from "../../src/kernel/deadline.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { sharedDirectory } from "../support/shared.ts";
import { type TinyPairModelOptions, writeTinyPairModel } from "../support/tiny-pair-model.ts";

let directory: string;
const open: Entailment[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "mi-entailment-"));
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((model) => model.close()));
  await rm(directory, { recursive: true, force: true });
});

const patient = () => ({ deadline: noDeadline, signal: new AbortController().signal });

async function modelOf(more: Partial<EntailmentOptions> = {}): Promise<Entailment> {
  const model = await createEntailment({
    find: () => locatePairModel({ slot: "nli", explicitPath: directory }),
    threads: 1,
    placement: { device: "cpu", arena: false, spinning: false },
    log: silentLogger,
    // A model of words cannot answer them.
    controls: [],
    ...more,
  });
  open.push(model);
  return model;
}
const weights = { agrees: [5, 0, 0], elsewhere: [0, 5, 0], denies: [0, 0, 5] };
async function tiny(options: Partial<TinyPairModelOptions> = {}): Promise<Entailment> {
  await writeTinyPairModel(directory, { kind: "nli", weights, ...options });
  return await modelOf();
}
const rounded = (answer: Answer<EntailmentReading>) =>
  answer.kind === "answered"
    ? answer.values.map(({ entailment, neutral, contradiction, isCut }) => [
        ...[entailment, neutral, contradiction].map((p) => Number(p.toFixed(3))),
        isCut,
      ])
    : answer;
const ask = (...premises: string[]) => premises.map((premise) => ({ premise, hypothesis: "claim" }));

describe("probabilities", () => {
  test("three a pair, in the order of the pairs", async () => {
    const model = await tiny();
    expect(rounded(await model.entail(ask("it agrees", "it denies", "it is elsewhere", "it"), patient()))).toEqual([
      [0.987, 0.007, 0.007, false],
      [0.007, 0.007, 0.987, false],
      [0.007, 0.987, 0.007, false],
      [0.333, 0.333, 0.333, false],
    ]);
  });

  test("by the labels of the model's own config.json", async () => {
    const model = await tiny({ id2label: { 0: "contradiction", 1: "neutral", 2: "entailment" } });
    expect(rounded(await model.entail(ask("it agrees"), patient()))).toEqual([[0.007, 0.007, 0.987, false]]);
  });

  test("as float16, and in the frame of BERT", async () => {
    const model = await tiny({ half: true, tokenizer: "wordpiece", tokenTypeIds: true });
    expect(rounded(await model.entail([{ premise: "it", hypothesis: "denies" }], patient()))).toEqual([[0, 0, 1, false]]);
  });

  test("large logits do not overflow", () => {
    expect(probabilitiesOf(Float32Array.of(1_000, 0, -1_000), ["entailment", "neutral", "contradiction"])).toEqual({
      entailment: 1,
      neutral: 0,
      contradiction: 0,
    });
  });

  test("what does not fit is said", async () => {
    const model = await tiny({ maxTokens: 20 });
    const answer = await model.entail(ask("agrees", `agrees ${"denies ".repeat(40)}`), patient());
    expect(answer.kind === "answered" && answer.values.map(({ isCut }) => isCut)).toEqual([false, true]);
  });
});

describe("control questions", () => {
  const control = (premise: string, wanted: "entailment" | "neutral" | "contradiction") => ({ premise, hypothesis: "claim", wanted });

  test("a model that answers them judges; they are asked once", async () => {
    await writeTinyPairModel(directory, { kind: "nli", weights });
    const controls = [
      control("it agrees", "entailment"),
      control("it denies", "contradiction"),
      control("elsewhere", "neutral"),
      control("it denies", "neutral"),
    ];
    const model = await modelOf({ controls });
    expect(rounded(await model.entail(ask("it agrees"), patient()))).toEqual([[0.987, 0.007, 0.007, false]]);
    expect(rounded(await model.entail(ask("it denies"), patient()))).toEqual([[0.007, 0.007, 0.987, false]]);
  });

  test.each([
    ["entailment", "it denies"],
    ["contradiction", "it agrees"],
    ["neutral", "it agrees"],
  ] as const)("a model that misses one of %s is refused", async (wanted, premise) => {
    await writeTinyPairModel(directory, { kind: "nli", weights });
    const model = await modelOf({ controls: [control("it agrees", "entailment"), control(premise, wanted)] });
    expect(await model.entail(ask("it agrees"), patient())).toMatchObject({
      kind: "none",
      code: "load_failed",
      reason: expect.stringContaining("control questions"),
    });
    expect(model.status()).toMatchObject({ state: "failed", reason: expect.stringContaining("control questions") });
    expect(await model.entail(ask("it agrees"), patient())).toMatchObject({ code: "load_failed" });
  });

  test("a model that was refused is asked again when its files are replaced", async () => {
    await writeTinyPairModel(directory, { kind: "nli", weights: { agrees: [0, 0, 5] } });
    const model = await modelOf({ controls: [control("it agrees", "entailment")] });
    expect(await model.entail(ask("it agrees"), patient())).toMatchObject({ code: "load_failed" });
    await writeTinyPairModel(directory, { kind: "nli", weights });
    expect(rounded(await model.entail(ask("it agrees"), patient()))).toEqual([[0.987, 0.007, 0.007, false]]);
  });

  test.skipIf(sharedDirectory() === undefined)("random weights do not answer the product's own", async () => {
    const source = join(sharedDirectory() ?? "", "models", "tiny-nli");
    for (const file of ["model.onnx", "tokenizer.json", "config.json"]) await copyFile(join(source, file), join(directory, file));
    const model = await modelOf({ controls: CONTROLS });
    expect(await model.entail(ask("it agrees"), patient())).toMatchObject({ kind: "none", code: "load_failed" });
  });
});

describe("no probabilities", () => {
  test("empty evidence is an error of the call, not a verdict", async () => {
    const model = await tiny();
    await expect(model.entail(ask("agrees", "  "), patient())).rejects.toMatchObject({ code: "invalid" });
    expect(model.status().state).toBe("idle");
  });

  test("no model, and a model that needs other labels", async () => {
    const model = await modelOf();
    expect(await model.entail(ask("it agrees"), patient())).toMatchObject({ kind: "none", code: "no_model" });
    await writeTinyPairModel(directory, { kind: "nli", weights: {}, labels: 2 });
    expect(await model.entail(ask("it agrees"), patient())).toMatchObject({
      code: "load_failed",
      reason: expect.stringContaining("gives 2 numbers a pair"),
    });
  });

  test("numbers that are none", async () => {
    const model = await tiny({ weights: { ...weights, rotten: [0, Number.NaN, 0] } });
    expect(await model.entail(ask("it agrees", "rotten"), patient())).toMatchObject({ code: "inference_error" });
    expect(model.status().state).toBe("ready");
  });
});

const shared = sharedDirectory();
test.skipIf(shared === undefined)("tiny-nli: the golden logits as probabilities, float32, segments declared, no description", async () => {
  const source = join(shared ?? "", "models", "tiny-nli");
  for (const file of ["model.onnx", "tokenizer.json", "config.json"]) await copyFile(join(source, file), join(directory, file));
  const { golden } = JSON.parse(await readFile(join(source, "manifest.json"), "utf8"));
  const model = await modelOf();
  const pairs = golden.pairs.map(([premise, hypothesis]: [string, string]) => ({ premise, hypothesis }));
  const answer = await model.entail(pairs, patient());
  expect(answer.kind).toBe("answered");
  for (const [at, reading] of (answer.kind === "answered" ? answer.values : []).entries()) {
    const [e, n, c] = golden.logits[at];
    expect(Math.log(reading.entailment / reading.neutral)).toBeCloseTo(e - n, 2);
    expect(Math.log(reading.contradiction / reading.neutral)).toBeCloseTo(c - n, 2);
  }
});
