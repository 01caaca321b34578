import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { modelStatus } from "../../../src/inference/models/status.ts";
import { writeTinyModel } from "../../support/tiny-model.ts";

let cacheRoot: string;
beforeEach(async () => {
  cacheRoot = await mkdtemp(join(tmpdir(), "mi-status-"));
});
afterEach(() => rm(cacheRoot, { recursive: true, force: true }));

const of = async (name: string, digests = false, legacyCacheRoot?: string) =>
  (await modelStatus({ cacheRoot, legacyCacheRoot, digests })).find((row) => row.name === name);

test("an empty cache lists every model of the catalogue as missing, the defaults marked", async () => {
  const rows = await modelStatus({ cacheRoot, digests: true });
  expect(rows).toHaveLength(10);
  expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(["missing"]));
  expect(rows.filter(({ isDefault }) => isDefault).map(({ name }) => name)).toEqual([
    "multilingual-e5-small",
    "bge-reranker-v2-m3",
    "mDeBERTa-v3-base-xnli-multilingual-nli-2mil7",
  ]);
});

test("sizes are compared always, digests when asked for", async () => {
  const directory = join(cacheRoot, "models-bge-m3");
  await writeTinyModel(directory, { dimensions: 8, name: "bge-m3" });
  expect(await of("bge-m3")).toMatchObject({ state: "installed", directory, note: undefined });
  // The catalogue pins bge-m3's tokenizer, and this is another one.
  expect(await of("bge-m3", true)).toMatchObject({ state: "damaged", note: "not as downloaded: tokenizer.json; install the model again." });
  await truncate(join(directory, "model.onnx"), 10);
  expect(await of("bge-m3")).toMatchObject({ state: "damaged", note: "not as downloaded: model.onnx; install the model again." });
});

test("a digest that nobody pinned is compared with the one recorded at download", async () => {
  const directory = join(cacheRoot, "models-arctic-m-v2.0");
  const { description } = await writeTinyModel(directory, { dimensions: 8, name: "arctic-m-v2.0" });
  const row = await of("arctic-m-v2.0", true);
  expect(row?.state).toBe("installed");
  expect(row?.files[0]).toEqual({
    name: "model.onnx",
    size: description.files["model.onnx"]?.size,
    sha256: description.files["model.onnx"]?.sha256,
    expected: description.files["model.onnx"]?.sha256,
    voucher: "recorded",
  });
});

test("a place that holds something else says so, and its own description is believed", async () => {
  await writeTinyModel(join(cacheRoot, "models"), { dimensions: 8, name: "my-own" });
  expect(await of("multilingual-e5-small")).toMatchObject({ state: "foreign", note: "holds my-own." });
  await writeFile(join(cacheRoot, "models", "memory-industry.json"), "{");
  expect(await of("multilingual-e5-small")).toMatchObject({ state: "damaged" });
});

test("a legacy cache counts where the new place is empty", async () => {
  const legacy = join(cacheRoot, "old");
  await writeTinyModel(join(legacy, "models"), { dimensions: 8, withoutDescription: true, graphFile: "model_quantized.onnx" });
  expect(await of("multilingual-e5-small", false, legacy)).toMatchObject({ state: "foreign", directory: join(legacy, "models") });
  expect(await of("multilingual-e5-small")).toMatchObject({ state: "missing" });
});
