import { expect, test } from "bun:test";
import fc from "fast-check";
import { boostEntity, boostNeighbour, mergedImportance, punished, rewarded } from "../../../src/domain/strength/reinforcement.ts";

const DAY = 86_400;

test.each([
  [0, 10, 600, 0.506321],
  [0, 10, 0, 0.5],
  [0, null, DAY, 0.51],
  [5, 10, 600, 0.50379],
  [10, 10, 600, 0.50126],
  [100, 10, DAY, 0.502],
  [100, 10, 0, 0.5],
])("importance 0.5, %d accesses, θ %p, %d s since the last boost → %d", (accessCount, theta, seconds, importance) => {
  const after = boostEntity({ importance: 0.5, accessCount, theta }, seconds);
  expect(after.importance).toBeCloseTo(importance, 5);
  expect(after.accessCount).toBe(accessCount + 1);
});

test("the threshold slides towards the number of accesses and never falls below 10", () => {
  expect(boostEntity({ importance: 0.5, accessCount: 100, theta: 10 }, 0).theta).toBeCloseTo(23.5, 12);
  expect(boostEntity({ importance: 0.5, accessCount: 0, theta: 10 }, 0).theta).toBe(10);
});

test.each([
  [0.5, 0, 0.525, 0.475],
  [0.5, 100, 0.51768, 0.48232],
  [0.5, 300, 0.5125, 0.4875],
])("feedback on %d after %d accesses: good %d, bad %d", (importance, accessCount, good, bad) => {
  expect(rewarded(importance, accessCount)).toBeCloseTo(good, 5);
  expect(punished(importance, accessCount)).toBeCloseTo(bad, 5);
});

test("a neighbour gains 0.005 times the strongest edge, a survivor of a merge 0.05", () => {
  expect(boostNeighbour(0.5, 0.8)).toBeCloseTo(0.504, 12);
  expect(mergedImportance(0.5)).toBe(0.55);
});

test("importance stays in 0–1, and reading never lowers it", () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(share, fc.nat(10_000), fc.double({ min: 0, max: 1e9, noNaN: true }), (importance, accessCount, seconds) => {
      const read = boostEntity({ importance, accessCount, theta: null }, seconds).importance;
      expect(read).toBeGreaterThanOrEqual(importance);
      for (const value of [
        read,
        boostNeighbour(importance, 1),
        rewarded(importance, accessCount),
        punished(importance, accessCount),
        mergedImportance(importance),
      ]) {
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(1);
      }
    }),
  );
});
