import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { decayedEpisode, decayedImportance, halfLifeDays, neverDecays, retention } from "../../../src/domain/strength/decay.ts";
import { agedEpisodes, fadedImportance } from "../../support/faded.ts";

test.each([
  [30, 0, 0.5],
  [30, 1, 0.664],
  [30, 9, 0.811],
  [60, 0, 0.25],
])("%d idle days and %d accesses keep %d of a 30-day memory", (idleDays, accessCount, share) => {
  expect(retention({ idleDays, halfLifeDays: 30, accessCount })).toBeCloseTo(share, 3);
});

test.each([...fadedImportance, [0.8, "decision", 3650, 0, 0.8] as const, [0.3, "superseded", 365, 0, 0.3] as const])(
  "%d of a %s idle for %d days with %d accesses → %d",
  (importance, observationType, idleDays, accessCount, left) => {
    expect(decayedImportance({ importance, observationType, idleDays, accessCount })).toBeCloseTo(left, 4);
  },
);

describe("decay", () => {
  test("does not depend on how often it runs", () => {
    const importance = fc.double({ min: 0.2, max: 1, noNaN: true });
    fc.assert(
      fc.property(importance, fc.integer({ min: 1, max: 8 }), fc.nat(20), (start, runs, accessCount) => {
        const fade = (from: number, idleDays: number) =>
          decayedImportance({ importance: from, observationType: "fact", idleDays, accessCount });
        let stepwise = start;
        for (let run = 0; run < runs; run++) stepwise = fade(stepwise, 8 / runs);
        expect(stepwise).toBeCloseTo(fade(start, 8), 10);
      }),
    );
  });

  test("never adds, never goes below the floor, and leaves what lies below it", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: -5, max: 9999, noNaN: true }), (importance, idleDays) => {
        const left = decayedImportance({ importance, observationType: "fact", idleDays, accessCount: 0 });
        expect(left).toBeLessThanOrEqual(importance);
        expect(left).toBeGreaterThanOrEqual(Math.min(importance, 0.01));
      }),
    );
  });

  test("knows the half-life of every type, and takes another where one is given", () => {
    expect(["fact", "preference", "error", "solution", "context", "tool_usage", "note"].map(halfLifeDays)).toEqual([
      30, 30, 14, 14, 7, 7, 30,
    ]);
    expect(decayedImportance({ importance: 1, observationType: "context", idleDays: 10, accessCount: 0, halfLifeDays: 10 })).toBeCloseTo(
      0.5,
      12,
    );
    expect(["decision", "lesson", "superseded", "fact"].map(neverDecays)).toEqual([true, true, true, false]);
  });
});

test.each([[0.5, 1, 0.4767] as const, ...agedEpisodes, [0.01, 1000, 0.01] as const])(
  "an episode of %d has after %d days %d",
  (initial, days, left) => expect(decayedEpisode(initial, days)).toBeCloseTo(left, 4),
);
