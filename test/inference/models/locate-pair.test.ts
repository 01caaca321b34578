import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { locatePairModel } from "../../../src/inference/models/locate-pair.ts";
import { writeTinyPairModel } from "../../support/tiny-pair-model.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "mi-locate-pair-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const nli = (directory: string, more: Partial<Parameters<typeof writeTinyPairModel>[1]> = {}) =>
  writeTinyPairModel(directory, { kind: "nli", weights: { yes: [4, 0, 0] }, ...more });

test("the product's cache, then the legacy one; an empty leaf hides nothing", async () => {
  const [cacheRoot, legacyCacheRoot] = [join(root, "new"), join(root, "old")];
  await mkdir(join(cacheRoot, "models-nli"), { recursive: true });
  await nli(join(legacyCacheRoot, "models-nli"));
  expect(await locatePairModel({ slot: "nli", cacheRoot, legacyCacheRoot })).toMatchObject({
    kind: "installed",
    directory: join(legacyCacheRoot, "models-nli"),
  });
  await nli(join(cacheRoot, "models-nli"), { name: "mine" });
  expect(await locatePairModel({ slot: "nli", cacheRoot, legacyCacheRoot })).toMatchObject({
    kind: "installed",
    name: "mine",
    directory: join(cacheRoot, "models-nli"),
  });
});

test("nothing installed is no fault, and names the one command", async () => {
  expect(await locatePairModel({ slot: "nli", cacheRoot: root })).toEqual({
    kind: "missing",
    name: "mDeBERTa-v3-base-xnli-multilingual-nli-2mil7",
    reason: "No entailment model is installed. Install one with 'memory-industry models nli'.",
  });
  expect(await locatePairModel({ slot: "reranker" })).toMatchObject({ kind: "missing", name: "bge-reranker-v2-m3" });
});

for (const slot of ["nli", "reranker"] as const) {
  test(`a path that does not exist switches the ${slot} off, although the cache has one`, async () => {
    await writeTinyPairModel(join(root, slot === "nli" ? "models-nli" : "reranker"), { kind: slot, weights: {} });
    expect(await locatePairModel({ slot, explicitPath: join(root, "off"), cacheRoot: root })).toMatchObject({ kind: "missing" });
    const byPlan = await locatePairModel({ slot, explicitPath: join(root, "memory-industry-disabled-by-resource-plan"), cacheRoot: root });
    expect(byPlan).toMatchObject({ kind: "missing", isDisabledByPlan: true });
  });
}

test("the order of the labels is the model's own, whatever its case", async () => {
  await nli(join(root, "a"), { id2label: { 2: "Entailment", 0: "CONTRADICTION", 1: "neutral" } });
  expect(await locatePairModel({ slot: "nli", explicitPath: join(root, "a") })).toMatchObject({
    labels: ["contradiction", "neutral", "entailment"],
  });
  await nli(join(root, "b"));
  expect(await locatePairModel({ slot: "nli", explicitPath: join(root, "b") })).toMatchObject({
    labels: ["entailment", "neutral", "contradiction"],
  });
});

test("a model that cannot say 'contradicts' is refused", async () => {
  await nli(root, { id2label: { 0: "entailment", 1: "not_entailment" } });
  expect(await locatePairModel({ slot: "nli", explicitPath: root })).toMatchObject({
    kind: "refused",
    reason:
      "config.json names the labels entailment, not_entailment; an entailment model must tell entailment, neutral and contradiction apart.",
  });
});

test("another kind of model, a file that is not whole and a damaged description are refused, not used", async () => {
  await nli(root);
  expect(await locatePairModel({ slot: "reranker", explicitPath: root })).toMatchObject({
    kind: "refused",
    reason: "tiny-nli is a model of the kind 'nli', not 'reranker'.",
  });
  await truncate(join(root, "model.onnx"), 10);
  expect(await locatePairModel({ slot: "nli", explicitPath: root })).toMatchObject({
    kind: "refused",
    reason: expect.stringMatching(
      /has 10 bytes .* put the whole model where CUBA_NLI_PATH points, or unset it and run 'memory-industry models nli'\.$/,
    ),
  });
  await writeFile(join(root, "memory-industry.json"), "{");
  expect(await locatePairModel({ slot: "nli", explicitPath: root })).toMatchObject({
    kind: "refused",
    reason: expect.stringContaining("is not JSON"),
  });
});

test("a quantised entailment model is read, with a loud remark; a reranker's is fine", async () => {
  await nli(join(root, "nli"), { graphFile: "model_quantized.onnx", withoutDescription: true });
  expect(await locatePairModel({ slot: "nli", explicitPath: join(root, "nli") })).toMatchObject({
    kind: "installed",
    maxTokens: 512,
    remark: expect.stringContaining("FP32"),
  });
  await writeTinyPairModel(join(root, "re"), {
    kind: "reranker",
    weights: {},
    graphFile: "model_quantized.onnx",
    withoutDescription: true,
  });
  expect(await locatePairModel({ slot: "reranker", explicitPath: join(root, "re") })).toMatchObject({
    kind: "installed",
    padId: 1,
    remark: undefined,
  });
});
