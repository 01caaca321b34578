import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  beliefInterval,
  beliefWidth,
  brierScore,
  calibrationError,
  expectedShare,
  posterior,
  reliabilityDiagram,
  resolvedCount,
  wilsonLowerBound,
} from "../../../src/domain/strength/reliability.ts";

test.each([
  [0, 0, 0],
  [1, 0, 0.2065],
  [0, 1, 0],
  [0, 5, 0],
  [2, 0, 0.3424],
  [5, 0, 0.5655],
  [8, 2, 0.4902],
  [80, 20, 0.7112],
  [47, 3, 0.8378],
  [10, 10, 0.2993],
  [1000, 0, 0.9962],
])("%d right and %d wrong are worth %d", (successes, failures, bound) =>
  expect(wilsonLowerBound(successes, failures)).toBeCloseTo(bound, 4),
);

test("a success never lowers the bound, a failure never raises it", () => {
  fc.assert(
    fc.property(fc.nat(500), fc.nat(500), (successes, failures) => {
      const bound = wilsonLowerBound(successes, failures);
      expect(wilsonLowerBound(successes + 1, failures)).toBeGreaterThanOrEqual(bound);
      expect(wilsonLowerBound(successes, failures + 1)).toBeLessThanOrEqual(bound);
    }),
  );
});

describe("belief", () => {
  test.each([
    [1, 1, 0.5, 0.577],
    [2, 1, 0.667, 0.471],
    [10, 2, 0.833, 0.207],
    [51, 51, 0.5, 0.0985],
    [91, 11, 0.892, 0.0611],
  ])("Beta(%d, %d) expects %d ± half of %d", (alpha, beta, share, width) => {
    expect(expectedShare({ alpha, beta })).toBeCloseTo(share, 3);
    expect(beliefWidth({ alpha, beta })).toBeCloseTo(width, 3);
  });

  test("8 right and 1 wrong → Beta(9, 2), 0.8182", () => {
    const belief = posterior(8, 1);
    expect(belief).toEqual({ alpha: 9, beta: 2 });
    expect(expectedShare(belief)).toBeCloseTo(0.8182, 4);
    expect(resolvedCount(belief)).toBe(9);
  });

  test.each([
    [1, 1, 0.025, 0.975],
    [2, 1, 0.1581, 0.9874],
    [9, 2, 0.555, 0.9748],
    [51, 51, 0.4038, 0.5962],
  ])("the middle 95 %% of Beta(%d, %d) is %d to %d", (alpha, beta, low, high) => {
    const interval = beliefInterval({ alpha, beta });
    expect(interval.low).toBeCloseTo(low, 3);
    expect(interval.high).toBeCloseTo(high, 3);
  });
});

describe("calibration", () => {
  const outcomes = [
    { probability: 0.9, isCorrect: true },
    { probability: 0.8, isCorrect: true },
    { probability: 0.7, isCorrect: false },
    { probability: 0.4, isCorrect: false },
  ];

  test("Brier 0.175 and ECE 0.35 of the worked example", () => {
    expect(brierScore(outcomes)).toBeCloseTo(0.175, 12);
    expect(calibrationError(outcomes)).toBeCloseTo(0.35, 12);
  });

  test("only bins that hold something, ascending; 1.0 goes to the last", () => {
    expect(reliabilityDiagram(outcomes).map((bin) => bin.low)).toEqual([0.4, 0.7, 0.8, 0.9]);
    expect(reliabilityDiagram([{ probability: 1, isCorrect: true }])).toEqual([
      { low: 0.9, high: 1, n: 1, accuracy: 1, confidence: 1, gap: 0 },
    ]);
  });

  test("says nothing about nothing", () => {
    expect([brierScore([]), calibrationError([]), reliabilityDiagram([])]).toEqual([undefined, undefined, []]);
  });
});
