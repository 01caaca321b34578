import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmbedder } from "../../../src/inference/embedder.ts";
import { locateEmbeddingModel } from "../../../src/inference/models/locate.ts";
import { silentLogger } from "../../../src/kernel/logger.ts";
import { writeTinyModel } from "../../support/tiny-model.ts";

let root: string;
let cacheRoot: string;
let legacyCacheRoot: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "mi-locate-"));
  cacheRoot = join(root, "memory-industry");
  legacyCacheRoot = join(root, "cuba-memorys");
});
afterEach(() => rm(root, { recursive: true, force: true }));

const small = { dimensions: 8 };

test("an explicit path is a directory or the graph in it", async () => {
  const directory = join(root, "mine");
  await writeTinyModel(directory, small);
  const found = { kind: "installed", directory, graphFile: join(directory, "model.onnx"), settings: { name: "tiny", dimensions: 8 } };
  expect(await locateEmbeddingModel({ explicitPath: directory, overrides: {} })).toMatchObject(found);
  expect(await locateEmbeddingModel({ explicitPath: join(directory, "model.onnx"), overrides: {} })).toMatchObject(found);
});

test("an explicit path is final: what is not there is not looked for in the cache", async () => {
  await writeTinyModel(join(cacheRoot, "models"), small);
  const nowhere = await locateEmbeddingModel({ explicitPath: join(root, "nowhere"), cacheRoot, overrides: {} });
  expect(nowhere).toMatchObject({ kind: "missing", reason: expect.stringContaining("ONNX_MODEL_PATH") });
});

test("without a path the cache is read, then the legacy one, each by its files and not by its directory", async () => {
  await mkdir(join(cacheRoot, "models"), { recursive: true });
  await writeTinyModel(join(legacyCacheRoot, "models"), { ...small, graphFile: "model_quantized.onnx", withoutDescription: true });
  const places = { cacheRoot, legacyCacheRoot, overrides: {} };
  expect(await locateEmbeddingModel(places)).toMatchObject({
    kind: "installed",
    graphFile: join(legacyCacheRoot, "models", "model_quantized.onnx"),
    // A legacy directory says nothing about itself, so the catalogue's default speaks.
    settings: {
      name: "multilingual-e5-small",
      dimensions: 384,
      pooling: "mean",
      queryPrefix: "query: ",
      passagePrefix: "passage: ",
      maxTokens: 512,
    },
  });
  await writeTinyModel(join(cacheRoot, "models"), small);
  expect(await locateEmbeddingModel(places)).toMatchObject({ kind: "installed", directory: join(cacheRoot, "models") });
});

test("another model of the catalogue has a directory of its own", async () => {
  await writeTinyModel(join(cacheRoot, "models"), small);
  const overrides = { name: "bge-m3" };
  expect(await locateEmbeddingModel({ cacheRoot, overrides })).toMatchObject({
    kind: "missing",
    settings: { name: "bge-m3", dimensions: 1024, pooling: "cls", queryPrefix: "" },
    reason: expect.stringContaining("memory-industry models embed --model bge-m3"),
  });
  await writeTinyModel(join(cacheRoot, "models-bge-m3"), { ...small, name: "bge-m3" });
  expect(await locateEmbeddingModel({ cacheRoot, overrides })).toMatchObject({
    kind: "installed",
    directory: join(cacheRoot, "models-bge-m3"),
  });
});

test("nothing anywhere is a supported tier with the one command in its reason", async () => {
  expect(await locateEmbeddingModel({ cacheRoot, legacyCacheRoot, overrides: {} })).toEqual({
    kind: "missing",
    settings: expect.objectContaining({ name: "multilingual-e5-small", dimensions: 384 }),
    reason: "No embedding model is installed. Install it with 'memory-industry models embed'.",
  });
});

test("where a variable names the place, installing elsewhere is no remedy, and nothing says it is", async () => {
  const nowhere = join(root, "nowhere");
  const remedy = "put the whole model where ONNX_MODEL_PATH points, or unset it and run 'memory-industry models embed'";
  expect(await locateEmbeddingModel({ explicitPath: nowhere, cacheRoot, overrides: {} })).toMatchObject({
    kind: "missing",
    reason:
      "ONNX_MODEL_PATH names no model directory (model.onnx with tokenizer.json). Correct it, or unset it and run 'memory-industry models embed'.",
    remedy,
  });
  await writeTinyModel(nowhere, small);
  await truncate(join(nowhere, "model.onnx"), 100);
  const refused = await locateEmbeddingModel({ explicitPath: nowhere, overrides: {} });
  expect(refused).toMatchObject({ kind: "refused", remedy });
  expect("reason" in refused ? refused.reason : "").not.toContain("models embed");
  const embedder = await createEmbedder({
    find: () => locateEmbeddingModel({ explicitPath: nowhere, overrides: {} }),
    threads: 1,
    log: silentLogger,
  });
  expect(embedder.status()).toMatchObject({ state: "failed", remedy });
  await expect(embedder.embed(["a"], "query", new AbortController().signal)).rejects.toThrow(`To mend it: ${remedy}.`);
  await embedder.close();
});

test("variables beat the catalogue where the model has no file of its own, and an empty prefix is a value", async () => {
  const directory = join(root, "mine");
  await writeTinyModel(directory, { ...small, withoutDescription: true });
  const overrides = { name: "own", dimensions: 8, queryPrefix: "", pooling: "cls" } as const;
  expect(await locateEmbeddingModel({ explicitPath: directory, overrides })).toMatchObject({
    kind: "installed",
    settings: { name: "own", dimensions: 8, queryPrefix: "", passagePrefix: "passage: ", pooling: "cls" },
  });
});

test("variables that agree with the model's own file are fine; one that does not is refused", async () => {
  const directory = join(root, "mine");
  await writeTinyModel(directory, small);
  const at = (overrides: object) => locateEmbeddingModel({ explicitPath: directory, overrides });
  expect(await at({ name: "tiny", dimensions: 8, queryPrefix: "" })).toMatchObject({ kind: "installed" });
  expect(await at({ queryPrefix: "query: " })).toMatchObject({
    kind: "refused",
    reason: expect.stringContaining('CUBA_QUERY_PREFIX="query: " where the file says ""'),
  });
});

test("a graph of another size than the model's own file says is not whole", async () => {
  const directory = join(root, "mine");
  await writeTinyModel(directory, small);
  await truncate(join(directory, "model.onnx"), 100);
  expect(await locateEmbeddingModel({ explicitPath: directory, overrides: {} })).toMatchObject({
    kind: "refused",
    reason: expect.stringMatching(/model\.onnx has 100 bytes where \d+ are expected/),
  });
});

test("the fingerprint follows the weights, the stamp any file", async () => {
  const directory = join(root, "mine");
  const read = async () => {
    const found = await locateEmbeddingModel({ explicitPath: directory, overrides: {} });
    return found.kind === "installed" ? found : undefined;
  };
  await writeTinyModel(directory, small);
  const first = await read();
  await writeTinyModel(directory, { ...small, queryPrefix: "q: " });
  const second = await read();
  expect(second?.fingerprint).toBe(first?.fingerprint ?? "none");
  expect(second?.stamp).not.toBe(first?.stamp ?? "");
  await writeTinyModel(directory, { ...small, words: ["more"] });
  expect((await read())?.fingerprint).not.toBe(first?.fingerprint ?? "");
});
