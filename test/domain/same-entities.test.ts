import { expect, test } from "bun:test";
import fc from "fast-check";
import { type EntityVerdict, mergesOf } from "../../src/domain/same-entities.ts";

const pair = (a: string, b: string, verdict: EntityVerdict["verdict"], confidence = 0.9): EntityVerdict => ({ a, b, verdict, confidence });

test("what is the same, also by way of another, is one group; a guess and an unknown join nothing", () => {
  expect(mergesOf([pair("a", "b", "same"), pair("c", "b", "same", 0.7), pair("x", "y", "same", 0.69), pair("p", "q", "unknown")])).toEqual({
    groups: [["a", "b", "c"]],
    disputed: [],
  });
});

test("a group in which two are different is left alone as a whole, and no other", () => {
  const verdicts = [
    pair("a", "b", "same"),
    pair("b", "c", "same"),
    pair("a", "c", "different", 0.2),
    pair("x", "y", "same"),
    pair("y", "z", "different"),
  ];
  expect(mergesOf(verdicts)).toEqual({ groups: [["x", "y"]], disputed: [["a", "b", "c"]] });
});

test("the order of the verdicts decides nothing", () => {
  const ids = fc.constantFrom("a", "b", "c", "d", "e");
  const verdict = fc.record({
    a: ids,
    b: ids,
    verdict: fc.constantFrom("same" as const, "different" as const),
    confidence: fc.constant(0.9),
  });
  fc.assert(
    fc.property(fc.array(verdict, { maxLength: 12 }), (verdicts) => {
      const proper = verdicts.filter(({ a, b }) => a !== b);
      expect(mergesOf([...proper].reverse())).toEqual(mergesOf(proper));
    }),
  );
});
