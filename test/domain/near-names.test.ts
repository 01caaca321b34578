import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createNearNames } from "../../src/domain/near-names.ts";
import { trigramSimilarity } from "../../src/domain/trigrams.ts";

const pairsOf = (names: readonly string[], threshold: number, step = names.length) => {
  const near = createNearNames(threshold);
  near.add(names.map((name, at) => ({ id: String(at), name })));
  const found: string[] = [];
  for (let at = 0; at < near.size; at += step) found.push(...near.pairs(at, at + step).map(({ a, b }) => `${a.id}-${b.id}`));
  return found.sort();
};

describe("names that nearly are one", () => {
  test("case and signs do not count, meaning is nobody's business here", () => {
    expect(pairsOf(["Payment Service", "payment service!", "Billing", "完全不同", "Billing"], 0.7)).toEqual(["0-1", "2-4"]);
    expect(pairsOf([], 0.7)).toEqual([]);
    expect(pairsOf(["!!!", "???"], 0.7)).toEqual([]);
  });
  test("a name like thousands of others is compared with 2,000 of them at most", () => {
    const near = createNearNames(0.7);
    near.add(Array.from({ length: 6_000 }, (_, at) => ({ id: String(at), name: "host of the datacenter" })));
    expect(near.pairs(1_000, 1_001)).toHaveLength(1_000);
    expect(near.pairs(5_999, 6_000)).toHaveLength(2_000);
  });
  test("finds exactly the pairs that comparing every pair finds, in parts or at once", () => {
    const word = fc.constantFrom("api", "apis", "gateway", "gate", "service", "services", "node", "nodes", "v1", "v2");
    const name = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(" "));
    fc.assert(
      fc.property(
        fc.array(name, { maxLength: 25 }),
        fc.constantFrom(0.3, 0.5, 0.7, 0.9),
        fc.integer({ min: 1, max: 7 }),
        (names, threshold, step) => {
          const wanted: string[] = [];
          for (const [b, right] of names.entries())
            for (const [a, left] of names.slice(0, b).entries()) if (trigramSimilarity(left, right) > threshold) wanted.push(`${a}-${b}`);
          expect(pairsOf(names, threshold, step)).toEqual(wanted.sort());
        },
      ),
    );
  });
});
