import { expect, test } from "bun:test";
import { catalogue, chosenModel, embeddingModel, unpinnedFiles } from "../../../src/inference/models/catalogue.ts";

test("each slot has its default and its light sibling", () => {
  expect(catalogue.map(({ slot, name, leaf }) => `${slot} ${name} ${leaf}`)).toEqual([
    "embed multilingual-e5-small models",
    "embed granite-97m-multilingual-r2 models-granite-97m-multilingual-r2",
    "embed arctic-m-v2.0 models-arctic-m-v2.0",
    "embed bge-m3 models-bge-m3",
    "embed pplx-embed-v1-0.6b models-pplx-embed-v1-0.6b",
    "reranker bge-reranker-v2-m3 reranker",
    "reranker bge-reranker-v2-m3-fp16 reranker",
    "reranker mmarco-mMiniLMv2-L12 reranker-light",
    "nli mDeBERTa-v3-base-xnli-multilingual-nli-2mil7 models-nli",
    "nli multilingual-MiniLMv2-L6-mnli-xnli models-nli-light",
  ]);
});

test("the default embedder is pinned to the byte", () => {
  expect(embeddingModel("multilingual-e5-small")).toMatchObject({
    repository: "Xenova/multilingual-e5-small",
    revision: "761b726dd34fb83930e26aab4e9ac3899aa1fa78",
    files: [
      { as: "model.onnx", sha256: "f80102d3f2a1229f387d3c81909990d8945513e347b0eab049f7de3c6f98c193" },
      { as: "tokenizer.json", sha256: "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39" },
    ],
  });
});

test("every model directory has its graph and its tokenizer, and every licence permits", () => {
  for (const { files, licence, revision } of catalogue) {
    const names = files.map(({ as }) => as);
    expect(names).toContain("model.onnx");
    expect(names).toContain("tokenizer.json");
    expect(["MIT", "Apache-2.0"]).toContain(licence);
    expect(revision).toMatch(/^([0-9a-f]{40}|main)$/);
    for (const { sha256 } of files) if (sha256 !== undefined) expect(sha256).toMatch(/^[0-9a-f]{64}$/);
  }
});

test("no quantised entailment model is offered", () => {
  const paths = catalogue.filter(({ slot }) => slot === "nli").flatMap(({ files }) => files.map(({ path }) => path));
  expect(paths.filter((path) => path.endsWith(".onnx"))).toEqual(["onnx/model.onnx", "onnx/model.onnx"]);
});

test("what nobody has pinned yet is a known list, to close before a release", () => {
  expect(unpinnedFiles()).toEqual([
    "arctic-m-v2.0/onnx/model_int8.onnx",
    "arctic-m-v2.0/tokenizer.json",
    "bge-m3/onnx/model.onnx",
    "bge-m3/onnx/model.onnx_data",
    "pplx-embed-v1-0.6b/onnx/model_q4.onnx",
    "pplx-embed-v1-0.6b/onnx/model_q4.onnx_data",
    "pplx-embed-v1-0.6b/tokenizer.json",
    "bge-reranker-v2-m3/tokenizer.json",
    "mDeBERTa-v3-base-xnli-multilingual-nli-2mil7/onnx/model.onnx",
    "mDeBERTa-v3-base-xnli-multilingual-nli-2mil7/tokenizer.json",
    "multilingual-MiniLMv2-L6-mnli-xnli/tokenizer.json",
  ]);
});

test("the machine chooses among siblings, a person beats the machine", () => {
  const name = (...choice: Parameters<typeof chosenModel>) => chosenModel(...choice)?.name;
  expect(name("embed", {})).toBe("multilingual-e5-small");
  expect(name("embed", { light: true, gpu: true })).toBe("multilingual-e5-small");
  expect(name("embed", { name: "bge-m3" })).toBe("bge-m3");
  expect(name("embed", { name: "bge-reranker-v2-m3" })).toBeUndefined();
  expect(name("reranker", {})).toBe("bge-reranker-v2-m3");
  expect(name("reranker", { gpu: true })).toBe("bge-reranker-v2-m3-fp16");
  expect(name("reranker", { light: true })).toBe("mmarco-mMiniLMv2-L12");
  expect(name("nli", { gpu: true })).toBe("mDeBERTa-v3-base-xnli-multilingual-nli-2mil7");
  expect(name("nli", { light: true })).toBe("multilingual-MiniLMv2-L6-mnli-xnli");
  expect(name("nli", { light: true, name: "mDeBERTa-v3-base-xnli-multilingual-nli-2mil7" })).toBe(
    "mDeBERTa-v3-base-xnli-multilingual-nli-2mil7",
  );
});
