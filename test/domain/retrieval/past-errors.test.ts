import { expect, test } from "bun:test";
import { byRelevance, errorRelevance, type RankedError } from "../../../src/domain/retrieval/past-errors.ts";

test("relevance is the better of two similarities, raised by the logarithm of the weight", () => {
  expect(errorRelevance({ similarity: 0.42, wordRank: 0, weight: 1 })).toBe(0.42);
  expect(errorRelevance({ similarity: 0.42, wordRank: 0, weight: 5 })).toBeCloseTo(0.4876, 4);
  expect(errorRelevance({ similarity: 0, wordRank: 0.8, weight: 1.1 })).toBeCloseTo(0.8076, 4);
  expect(errorRelevance({ similarity: 0.5, wordRank: 0.5, weight: 0 })).toBe(0.5);
});

test("ties go to the resolved one, then to the newer, then to the smaller id", () => {
  const row = (id: string, more: Partial<RankedError> = {}): RankedError => ({
    id,
    similarity: 0.5,
    wordRank: 0.1,
    weight: 1,
    resolved: false,
    createdAt: "2026-01-01T00:00:00.000000+00:00",
    ...more,
  });
  const newer = "2026-01-02T00:00:00.000000+00:00";
  const rows = [row("d"), row("c"), row("b", { createdAt: newer }), row("a", { resolved: true }), row("e", { wordRank: 0.6 })];
  expect(rows.sort(byRelevance).map(({ id }) => id)).toEqual(["e", "a", "b", "c", "d"]);
});
