import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  conformalQuantile,
  isGuaranteed,
  lowerConformalQuantile,
  spreadOf,
  theoreticalThreshold,
} from "../../../../src/domain/retrieval/abstention/conformal.ts";

const upTo = (n: number) => Array.from({ length: n }, (_, at) => at + 1);

test("the conformal quantile of a few lists", () => {
  expect(conformalQuantile(upTo(9), 0.1)).toBe(9);
  expect(conformalQuantile(upTo(9), 0.5)).toBe(5);
  expect(conformalQuantile(upTo(10), 0.01)).toBe(10);
  expect(conformalQuantile(upTo(19), 0.05)).toBe(19);
  expect(conformalQuantile(upTo(10), 1)).toBe(1);
  expect(conformalQuantile(upTo(10), 7)).toBe(1);
  expect(conformalQuantile(upTo(10), -1)).toBe(10);
  expect(conformalQuantile([], 0.1)).toBeUndefined();
  expect(lowerConformalQuantile(upTo(9), 0.1)).toBe(1);
  expect(lowerConformalQuantile(upTo(99), 0.05)).toBe(5);
});

test("a product that is an integer but for its last digit is not rounded up: (19 + 1) · (1 − 0.05)", () => {
  expect(20 * (1 - 0.7)).not.toBe(6);
  expect(conformalQuantile(upTo(19), 0.7)).toBe(6);
});

test("at most a share alpha of the scores lies beyond, in any order", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: -100, max: 100, noNaN: true }), { minLength: 1, maxLength: 60 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (scores, alpha) => {
        const threshold = conformalQuantile(scores, alpha) ?? Number.NaN;
        expect(scores).toContain(threshold);
        expect(scores.filter((score) => score > threshold).length).toBeLessThanOrEqual(Math.ceil(alpha * (scores.length + 1)));
        expect(conformalQuantile([...scores].reverse(), alpha)).toBe(threshold);
      },
    ),
  );
});

test("nineteen scores carry a guarantee of 5 %, eighteen do not", () => {
  expect(isGuaranteed(19, 0.05)).toBe(true);
  expect(isGuaranteed(18, 0.05)).toBe(false);
  expect(isGuaranteed(9, 0.1)).toBe(true);
});

test("the theoretical threshold is that of Wilson and Hilferty", () => {
  expect(theoreticalThreshold(384)).toBeCloseTo(21.246, 2);
  expect(theoreticalThreshold(1024)).toBeCloseTo(33.648, 2);
  expect(theoreticalThreshold(0)).toBe(0);
});

test("where values lie, by the index round((n−1)·q)", () => {
  expect(spreadOf([3, 1, 2])).toEqual({ n: 3, min: 1, p50: 2, p90: 3, p95: 3, p99: 3, max: 3 });
  expect(spreadOf([])).toBeUndefined();
});
