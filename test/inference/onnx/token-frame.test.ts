import { expect, test } from "bun:test";
import { withoutFrame } from "../../../src/inference/onnx/token-frame.ts";

const numbered = (pieces: readonly string[]) => ({ pieces, vectors: Float32Array.from(pieces.flatMap((_, at) => [at, at + 0.5])) });

test("special tokens and the tokens of the prefix go, with their vectors", () => {
  expect(withoutFrame(numbered(["", " query", ":", " which", " port", ""]), "query: ")).toEqual({
    pieces: [" which", " port"],
    vectors: Float32Array.of(3, 3.5, 4, 4.5),
  });
});

test("a prefix that the tokenizer cuts into more pieces goes as a whole", () => {
  expect(withoutFrame(numbered(["", " pass", "age", ":", " ", "a", ""]), "passage: ").pieces).toEqual([" ", "a"]);
});

test("without a prefix only special tokens go, and nothing but them leaves nothing", () => {
  expect(withoutFrame(numbered(["", " query", ""]), "").pieces).toEqual([" query"]);
  expect(withoutFrame(numbered(["", ""]), "query: ")).toEqual({ pieces: [], vectors: new Float32Array() });
});
