import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { adaptiveThresholds, type DuplicateCandidate, decideDuplicate } from "../../src/domain/duplicate-gate.ts";
import { trigramSimilarity } from "../../src/domain/trigrams.ts";

const stored = (id: string, content: string, text: string, more: Partial<DuplicateCandidate> = {}): DuplicateCandidate => ({
  id,
  content,
  similarity: trigramSimilarity(content, text),
  trust: "trusted",
  ...more,
});
const decide = (text: string, candidates: readonly DuplicateCandidate[], recent: readonly number[] = []) =>
  decideDuplicate({ content: text, trust: "trusted", candidates, recentSimilarities: recent });

describe("adaptive thresholds", () => {
  test.each([
    ["two values", [0.5, 0.6], 0.92, 0.75],
    ["19 strangers and one near", [...Array(19).fill(0.1), 0.84], 0.8, 0.5],
    ["five alike", [0.83, 0.83, 0.83, 0.83, 0.83], 0.83, 0.78],
    ["all near", [0.85, 0.88, 0.87, 0.86, 0.89, 0.9, 0.85, 0.87], 0.8984, 0.8484],
    ["spread", [0.1, 0.3, 0.5, 0.7, 0.9, 0.2, 0.4], 0.8724, 0.7092],
  ])("%s", (_name, recent, reinforce, update) => {
    const thresholds = adaptiveThresholds(recent);
    expect(thresholds.reinforce).toBeCloseTo(reinforce, 4);
    expect(thresholds.update).toBeCloseTo(update, 4);
  });

  test("are always at least 0.05 apart and inside their bounds", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true })), (recent) => {
        const { reinforce, update } = adaptiveThresholds(recent);
        expect(reinforce - update).toBeGreaterThanOrEqual(0.05 - 1e-12);
        expect(reinforce).toBeLessThanOrEqual(0.98);
        expect(update).toBeGreaterThanOrEqual(0.5);
      }),
    );
  });
});

describe("the gate", () => {
  const five = "Retries are capped at five per request in the gateway client";

  test("refuses a text that only adds a full stop", () => {
    expect(decide(`${five}.`, [stored("a", five, `${five}.`)])).toEqual({
      kind: "duplicate",
      existingId: "a",
      similarity: 1,
      contentPreview: five,
    });
  });

  test("stores a text that differs in a number and names the near one", () => {
    const text = "PostgreSQL is pinned to version 18";
    expect(decide(text, [stored("a", "PostgreSQL is pinned to version 17", text)])).toMatchObject({
      kind: "unique",
      possibleConflict: { id: "a", kind: "number", contentPreview: "PostgreSQL is pinned to version 17" },
    });
  });

  test("stores the same text when its twin is retired", () => {
    expect(decide(five, [stored("a", five, five, { isSuperseded: true })])).toMatchObject({ kind: "unique", possibleConflict: undefined });
  });

  test("shows nothing of a near text that waits for review, whoever writes", () => {
    const text = "PostgreSQL is pinned to version 18";
    const candidates = [stored("q", "PostgreSQL is pinned to version 17", text, { trust: "quarantined" })];
    for (const trust of ["trusted", "quarantined"] as const)
      expect(decideDuplicate({ content: text, trust, candidates, recentSimilarities: [] })).toEqual({
        kind: "unique",
        possibleConflict: undefined,
        matchesQuarantined: [],
      });
  });

  test("stores a trusted text whose twin is quarantined, and says so", () => {
    expect(decide(five, [stored("q", five, five, { trust: "quarantined" })])).toMatchObject({ kind: "unique", matchesQuarantined: ["q"] });
  });

  test("refuses a quarantined text whose twin is quarantined", () => {
    const candidates = [stored("q", five, five, { trust: "quarantined" })];
    expect(decideDuplicate({ content: five, trust: "quarantined", candidates, recentSimilarities: [] })).toMatchObject({
      kind: "duplicate",
      existingId: "q",
    });
  });

  test("between the thresholds it depends on how alike the entity's texts are", () => {
    const candidates = [{ id: "a", content: "retry limit of the queue", similarity: 0.84, trust: "trusted" as const }];
    expect(decide("retry limit of queue", candidates).kind).toBe("unique");
    expect(decide("retry limit of queue", candidates, [...Array(19).fill(0.1), 0.84])).toEqual({
      kind: "reinforce",
      existingId: "a",
      similarity: 0.84,
    });
  });

  test("goes on past a near text with other words to one with the same", () => {
    const candidates = [
      { id: "other", content: `${five} only`, similarity: 0.95, trust: "trusted" as const },
      { id: "twin", content: five, similarity: 0.9, trust: "trusted" as const },
    ];
    expect(decide(five, candidates)).toMatchObject({ kind: "duplicate", existingId: "twin" });
  });

  test("never refuses a text with another word, whatever its similarity", () => {
    const word = fc.constantFrom("cache", "queue", "retries", "five", "not", "Redis", "17", "18");
    const text = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(" "));
    fc.assert(
      fc.property(text, text, fc.double({ min: 0, max: 1, noNaN: true }), (content, other, similarity) => {
        const decision = decide(content, [{ id: "a", content: other, similarity, trust: "trusted" }]);
        if (decision.kind !== "unique") expect(content.toLowerCase()).toBe(other.toLowerCase());
      }),
    );
  });
});
