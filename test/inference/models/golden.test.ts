import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adoptModel } from "../../../scripts/adopt-model.ts";
import { createEmbedder } from "../../../src/inference/embedder.ts";
import { GOLDEN_MIN_COSINE, goldenCosine } from "../../../src/inference/models/golden.ts";
import { locateEmbeddingModel } from "../../../src/inference/models/locate.ts";
import { silentLogger } from "../../../src/kernel/logger.ts";
import { sharedDirectory } from "../../support/shared.ts";
import { writeTinyModel } from "../../support/tiny-model.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "mi-golden-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const signal = new AbortController().signal;
const embedder = () =>
  createEmbedder({ find: () => locateEmbeddingModel({ explicitPath: directory, overrides: {} }), threads: 1, log: silentLogger });

test("a model gives its golden vector again; another text's vector or a lost prefix shows", async () => {
  await writeTinyModel(directory, { dimensions: 16, words: ["red", "car", "passage"], passagePrefix: "passage " });
  const tiny = await embedder();
  const [vector] = await tiny.embed(["red car"], "passage", signal);
  const golden = { text: "red car", role: "passage", vector: [...(vector ?? [])].map((value) => Number(value.toFixed(5))) } as const;
  expect(await goldenCosine(tiny, golden, signal)).toBeGreaterThan(GOLDEN_MIN_COSINE);
  expect(await goldenCosine(tiny, { ...golden, text: "car" }, signal)).toBeLessThan(GOLDEN_MIN_COSINE);
  expect(await goldenCosine(tiny, { ...golden, role: "query" }, signal)).toBeLessThan(GOLDEN_MIN_COSINE);
  expect(await goldenCosine(tiny, { ...golden, vector: [1, 0] }, signal)).toBe(0);
  await tiny.close();
});

const shared = sharedDirectory();
for (const name of ["multilingual-e5-small", "all-minilm-l6-v2", "use-multilingual-3"]) {
  test.skipIf(shared === undefined)(
    `${name}: the published golden vector comes out of the whole path`,
    async () => {
      const { golden } = await adoptModel(join(shared ?? "", "models", name), directory);
      const real = await embedder();
      expect(real.label).toBe(`${name}/name-type-1`);
      if (golden === undefined) throw new Error("the model has no golden vector");
      expect(await goldenCosine(real, golden, signal)).toBeGreaterThan(0.999);
      await real.close();
    },
    60_000,
  );
}
