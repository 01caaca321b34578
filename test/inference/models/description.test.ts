import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseDescription, readDescription } from "../../../src/inference/models/description.ts";
import { writeTinyModel } from "../../support/tiny-model.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "mi-description-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

test("a model directory says its name, width, pooling and prefixes", async () => {
  await writeTinyModel(directory, { name: "small", dimensions: 16, pooling: "cls", queryPrefix: "query: " });
  const description = await readDescription(directory);
  expect(description).toMatchObject({ name: "small", dimensions: 16, pooling: "cls", query_prefix: "query: ", passage_prefix: "" });
  expect(Object.keys(description?.files ?? {})).toEqual(["model.onnx", "tokenizer.json"]);
});

test("a directory without a description is a legacy cache, not a fault", async () => {
  expect(await readDescription(directory)).toBeUndefined();
});

test("a damaged description names the field and the command that repairs it", async () => {
  const { description } = await writeTinyModel(directory);
  await writeFile(join(directory, "memory-industry.json"), "{ not json");
  await expect(readDescription(directory)).rejects.toThrow("is not JSON");
  expect(() => parseDescription(JSON.stringify({ ...description, pooling: "max" }))).toThrow(/pooling: .*memory-industry models/);
  expect(() => parseDescription(JSON.stringify({ ...description, golden: { text: "x", role: "query", vector: [1] } }))).toThrow(
    "golden.vector must have `dimensions` numbers",
  );
});
