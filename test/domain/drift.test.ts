import { expect, test } from "bun:test";
import { chiSquaredSurvival, errorDrift } from "../../src/domain/drift.ts";
import { entropy, evenness } from "../../src/domain/entropy.ts";

test.each([
  [3.841, 1, 0.0472],
  [5.991, 2, 0.0487],
  [10, 1, 0.0017],
  [0, 3, 1],
  [-1, 1, 1],
])("P(χ² > %d) with %d degrees of freedom is %d", (x, degrees, p) => expect(chiSquaredSurvival(x, degrees)).toBeCloseTo(p, 4));

test("the same mixture at the same rate is no drift", () => {
  const drift = errorDrift([
    { type: "Timeout", recent: 7, before: 30 },
    { type: "TypeError", recent: 14, before: 60 },
  ]);
  expect(drift.chiSquared).toBeCloseTo(0, 12);
  expect(drift).toMatchObject({ degreesOfFreedom: 1, pValue: 1, isDrift: false, newTypes: [] });
});

test("a type that is new counts, and so does one that is gone", () => {
  const fresh = errorDrift([
    { type: "Timeout", recent: 7, before: 30 },
    { type: "OutOfMemory", recent: 6, before: 0 },
  ]);
  expect(fresh).toMatchObject({ isDrift: true, newTypes: ["OutOfMemory"] });
  // (6.5 − 0.5)² / 0.5
  expect(fresh.chiSquared).toBeCloseTo(72, 12);
  const gone = errorDrift([
    { type: "Timeout", recent: 0, before: 60 },
    { type: "TypeError", recent: 7, before: 30 },
  ]);
  expect(gone).toMatchObject({ isDrift: true, newTypes: [] });
  // 14² / 14.5
  expect(gone.chiSquared).toBeCloseTo(13.5172, 4);
});

test("without an error there is nothing to say, and one type has one degree of freedom", () => {
  expect(errorDrift([])).toEqual({ chiSquared: 0, degreesOfFreedom: 1, pValue: 1, isDrift: false, newTypes: [] });
  expect(errorDrift([{ type: "Timeout", recent: 1, before: 4 }]).degreesOfFreedom).toBe(1);
});

test.each([
  [[2, 1, 1], 1.5, 0.946],
  [[5], 0, 0],
  [[], 0, 0],
  [[3, 3], 1, 1],
])("counts %p have %d bits and evenness %d", (counts, bits, share) => {
  expect(entropy(counts)).toBeCloseTo(bits, 3);
  expect(evenness(counts)).toBeCloseTo(share, 3);
});
