import { expect, test } from "bun:test";
import fc from "fast-check";
import { sortedInSteps } from "../../src/kernel/steps.ts";
import { resultOf } from "../support/steps.ts";

test("sorting in steps is sorting, ties as they stood", () => {
  const item = fc.record({ key: fc.integer({ min: 0, max: 20 }), at: fc.nat() });
  fc.assert(
    fc.property(fc.array(item, { maxLength: 40 }), fc.integer({ min: 1, max: 150 }), (some, times) => {
      // Long enough for several pieces, whose number is odd or even.
      const items = Array.from({ length: times }, () => some)
        .flat()
        .map(({ key }, at) => ({ key, at }));
      const byKey = (a: { key: number }, b: { key: number }) => a.key - b.key;
      expect(resultOf(sortedInSteps(items, byKey))).toEqual(items.toSorted(byKey));
    }),
  );
});

test("a long sort hands control back often", () => {
  const steps = sortedInSteps(
    Array.from({ length: 50_000 }, (_, at) => (at * 7_919) % 50_000),
    (a, b) => a - b,
  );
  let count = 0;
  while (!steps.next().done) count++;
  expect(count).toBeGreaterThan(200);
});
