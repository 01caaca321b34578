import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { entropyBits, informationDensity, initialImportance } from "../../src/domain/density.ts";

test("entropy of words", () => {
  expect(entropyBits(["hello", "hello", "hello"])).toBe(0);
  expect(entropyBits(["a", "a", "a", "b"])).toBeCloseTo(0.811278, 6);
  expect(entropyBits([])).toBe(0);
});

describe("information density", () => {
  test.each([
    ["a b c", 1],
    ["hello hello hello hello hello", 0],
    ["fast fast fast fast fast safe modern language", 0.7744],
    ["The queue worker retries failed jobs", 1],
    ["word", 0],
    ["", 0],
    ["Rust rust", 1],
    ["rust! is fast.", 1],
  ])("%p → %d", (text, density) => expect(informationDensity(text)).toBeCloseTo(density, 4));

  test("sees the words of a Chinese sentence without a blank", () => {
    expect(informationDensity("数据仓库的端口是上海")).toBe(1);
  });

  test("lies between 0 and 1", () => {
    fc.assert(fc.property(fc.string({ unit: "grapheme" }), (text) => informationDensity(text) >= 0 && informationDensity(text) <= 1));
  });
});

test.each([
  ["decision", 0, 0.8],
  ["lesson", 0, 0.75],
  ["error", 1, 0.7],
  ["solution", 0.2, 0.7],
  ["fact", 0.7744, 0.4646],
  ["fact", 0, 0.1],
  ["preference", 1, 0.6],
  ["context", 1, 0.4],
  ["tool_usage", 0.1, 0.1],
  ["anything", 1, 0.8],
  ["anything", 0, 0.1],
])("a new %s of density %d starts at %d", (type, density, importance) => {
  expect(initialImportance(type, density)).toBeCloseTo(importance, 4);
});
