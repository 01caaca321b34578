import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { exactMatch, mean, ndcg, percentile, precision, recall, reciprocalRank, wordF1 } from "../../../src/domain/retrieval/metrics.ts";
import { bootstrapInterval, comparePaired, detectableEffect, pairedDetectableEffect } from "../../../src/domain/retrieval/statistics.ts";

const relevant = (...ids: string[]) => new Set(ids);

describe("nDCG", () => {
  test.each([
    ["two of five found on top", ["a", "b"], relevant("a", "b", "c", "d", "e"), 0.5615, 0.5531],
    ["all five", ["a", "b", "c", "d", "e"], relevant("a", "b", "c", "d", "e"), 1, 1],
    ["one, at position 2", ["x", "a"], relevant("a"), 1, 0.631],
    ["one, at position 3", ["x", "y", "a"], relevant("a"), 0.6309, 0.5],
    ["nothing is relevant", ["a"], relevant(), 0, 0],
    ["nothing came back", [], relevant("a"), 0, 0],
  ])("%s", (_name, ranked, wanted, original, common) => {
    expect(ndcg(ranked, wanted, 10)).toBeCloseTo(original, 4);
    expect(ndcg(ranked, wanted, 10, "common")).toBeCloseTo(common, 3);
  });

  test("lies in 0–1, also for a list that repeats itself", () => {
    const id = fc.constantFrom("a", "b", "c", "d");
    fc.assert(
      fc.property(fc.array(id), fc.array(id), fc.integer({ min: 1, max: 10 }), (ranked, wanted, k) => {
        for (const form of ["original", "common"] as const) {
          const value = ndcg(ranked, new Set(wanted), k, form);
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});

test("recall, precision and reciprocal rank", () => {
  expect(recall(["a", "x"], relevant("a", "b"), 10)).toBe(0.5);
  expect(precision(["a", "x"], relevant("a", "b"), 10)).toBe(0.1);
  const mrr = mean([reciprocalRank(["f", "t", "f"], relevant("t")), reciprocalRank(["t", "f"], relevant("t"))]);
  expect(mrr).toBe(0.75);
  expect([recall([], relevant("a"), 10), precision([], relevant("a"), 10), reciprocalRank([], relevant("a")), mean([])]).toEqual([
    0, 0, 0, 0,
  ]);
});

test("answers compare by their words", () => {
  expect(exactMatch("7 May, 2023", "7 may 2023")).toBe(1);
  expect(exactMatch("7 May", "7 May 2023")).toBe(0);
  expect(wordF1("the red car", "red bike")).toBeCloseTo(0.4, 12);
  expect(wordF1("", "red")).toBe(0);
});

test("percentile takes the value at round((n−1)·q)", () => {
  expect(percentile([4, 1, 3, 2], 0.5)).toBe(3);
  expect(percentile([], 0.5)).toBe(0);
});

describe("whether a difference is one", () => {
  test("ten questions each +0.03: certain when paired, invisible when not", () => {
    const before = [0.1, 0.9, 0.3, 0.7, 0.5, 0.2, 0.8, 0.4, 0.6, 0];
    const after = before.map((score) => score + 0.03);
    const compared = comparePaired(before, after);
    expect(compared.interval.low).toBeGreaterThan(0);
    expect(compared).toMatchObject({ n: 10, moved: 10, better: 10, worse: 0, touchesZero: false });
    expect(compared.detectableEffect).toBeLessThan(0.03);
    expect(detectableEffect(before)).toBeGreaterThan(0.03);
  });

  test("two equal runs differ in nothing", () => {
    expect(comparePaired([0.5, 0.2], [0.5, 0.2])).toMatchObject({ difference: 0, moved: 0, touchesZero: true });
  });

  test("lists of different length are refused", () => {
    expect(() => comparePaired([1], [1, 2])).toThrow("not the same questions");
  });

  test("the interval is the same in every run, and sane for one value and none", () => {
    const values = [0.1, 0.4, 0.35, 0.8];
    expect(bootstrapInterval(values)).toEqual(bootstrapInterval(values));
    expect(bootstrapInterval([])).toEqual({ low: 0, high: 0 });
    expect(bootstrapInterval([0.3])).toEqual({ low: 0.3, high: 0.3 });
    expect(detectableEffect([1])).toBe(Number.POSITIVE_INFINITY);
    expect(pairedDetectableEffect([])).toBe(Number.POSITIVE_INFINITY);
  });
});
