import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { decideClaim, decideDirection, decidingEvidence, groundingOf, needsReverse } from "../../../src/domain/trust/verify.ts";

const probabilities = (entailment: number, neutral: number, contradiction: number) => ({ entailment, neutral, contradiction });
const judged = (similarity: number, verdict: string, confidence: number) => ({ similarity, verdict, confidence });

describe("one direction", () => {
  test.each([
    [0, 0.001, 0.999, "contradicts", 0.999],
    [0.998, 0.001, 0.001, "supports", 0.998],
    [0.016, 0.887, 0.097, "unrelated", 0.887],
    [0.002, 0.267, 0.731, "contradicts", 0.731],
    [0.693, 0.1, 0.207, "unknown", 0],
    [0.952, 0.036, 0.011, "supports", 0.952],
    [0.8, 0.15, 0.05, "supports", 0.8],
    [0.1, 0.3, 0.6, "contradicts", 0.6],
    [0.45, 0.45, 0.1, "unknown", 0],
    [0.799, 0.1, 0.101, "unknown", 0],
    [0.3, 0.101, 0.599, "unknown", 0],
  ])("(%p, %p, %p) is %p with %p", (entailment, neutral, contradiction, verdict, confidence) => {
    const decision = decideDirection(probabilities(entailment, neutral, contradiction));
    expect<string>(decision.verdict).toBe(verdict);
    expect(decision.confidence).toBe(confidence);
  });

  test("numbers that are none decide nothing", () => {
    expect(decideDirection(probabilities(Number.NaN, Number.NaN, Number.NaN))).toEqual({ verdict: "unknown", confidence: 0 });
  });
});

describe("both directions", () => {
  const contradicts = probabilities(0.01, 0.04, 0.95);
  const mildly = probabilities(0.1, 0.3, 0.6);
  const supports = probabilities(0.95, 0.04, 0.01);
  const neutral = probabilities(0.05, 0.9, 0.05);

  test("a contradiction counts when both directions find it, with the weaker confidence", () => {
    expect(decideClaim(contradicts, mildly)).toEqual({ verdict: "contradicts", confidence: 0.6 });
  });
  test("a contradiction that only one direction finds is undecided", () => {
    expect(decideClaim(contradicts, neutral)).toEqual({ verdict: "unknown", confidence: 0 });
    expect(decideClaim(contradicts, supports)).toEqual({ verdict: "unknown", confidence: 0 });
  });
  test("evidence may say more than the claim: a support needs no entailment back", () => {
    expect(decideClaim(supports, neutral)).toEqual({ verdict: "supports", confidence: 0.95 });
  });
  test("a support whose reverse is a contradiction is noise", () => {
    expect(decideClaim(supports, contradicts)).toEqual({ verdict: "unknown", confidence: 0 });
  });
  test("the reverse is asked only of supports and contradictions", () => {
    expect([supports, contradicts, neutral, probabilities(0.45, 0.45, 0.1)].map((each) => needsReverse(decideDirection(each)))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});

describe("grounding", () => {
  test.each([
    [[judged(0.57, "supports", 0.95), judged(0.52, "supports", 0.85)], 0.86, "verified"],
    [[judged(0.55, "contradicts", 0.95), judged(0.54, "contradicts", 0.9)], 0, "contradicted"],
    [[judged(0.9, "unrelated", 1), judged(0.8, "unrelated", 1), judged(0.7, "unrelated", 1)], 0, "unknown"],
    [[judged(0.45, "supports", 0.5)], 0.362, "weak"],
    [[judged(0.9, "supports", 1), judged(0.8, "supports", 1)], 0.967, "verified"],
    [[judged(0.9, "supports", 1), judged(0.8, "supports", 1), judged(0.85, "contradicts", 1)], 0.644, "partial"],
    [[judged(0.9, "supports", 1), judged(0.9, "contradicts", 1)], 0.417, "weak"],
    [[], 0, "unknown"],
  ])("%j is %p, %p", (evidence, confidence, level) => {
    const grounding = groundingOf(evidence);
    expect(grounding.confidence).toBeCloseTo(confidence, 3);
    expect<string>(grounding.level).toBe(level);
  });

  test("unrelated, unknown, complementary and supersedes count for neither side", () => {
    const counted = [judged(0.57, "supports", 0.95), judged(0.4, "contradicts", 0.7)];
    const others = ["unrelated", "unknown", "complementary", "supersedes"].map((verdict) => judged(1, verdict, 1));
    expect(groundingOf([...counted, ...others])).toEqual(groundingOf(counted));
  });

  test("a judge's numbers that are none weigh nothing", () => {
    expect(groundingOf([judged(0.9, "supports", Number.NaN), judged(Number.NaN, "supports", 1)])).toEqual({
      confidence: 0,
      level: "unknown",
    });
  });

  test("confidence stays in 0–1, and one more contradiction never raises it", () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const item = fc.record({
      similarity: share,
      confidence: share,
      verdict: fc.constantFrom("supports", "contradicts", "unrelated", "unknown"),
    });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 10 }), share, share, (evidence, similarity, confidence) => {
        const before = groundingOf(evidence);
        const after = groundingOf([...evidence, { similarity, confidence, verdict: "contradicts" }]);
        expect(before.confidence).toBeGreaterThanOrEqual(0);
        expect(before.confidence).toBeLessThanOrEqual(1);
        if (before.level !== "contradicted" && after.level !== "contradicted")
          expect(after.confidence).toBeLessThanOrEqual(before.confidence + 1e-12);
      }),
    );
  });

  test("only rows whose verdict weighed something decided", () => {
    const rows = [judged(0.9, "supports", 1), judged(0.9, "unknown", 0), judged(0, "supports", 1), judged(0.5, "contradicts", 0.7)];
    expect(decidingEvidence(rows)).toEqual([judged(0.9, "supports", 1), judged(0.5, "contradicts", 0.7)]);
  });
});
