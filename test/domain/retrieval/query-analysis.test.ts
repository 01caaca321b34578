import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { queryClass, queryEntropy, routerWeights } from "../../../src/domain/retrieval/query-analysis.ts";

describe("entropy of a question", () => {
  test.each([
    ["hello hello hello", 0],
    ["Hello hello", 0],
    ["a a a b", 0.811278],
    ["rust! is fast.", 1.584963],
    ["rust is fast", 1.584963],
    ["", 0],
    ["!!! ???", 0],
  ])("%p → %d bits", (query, bits) => expect(queryEntropy(query)).toBeCloseTo(bits, 6));
});

describe("the router", () => {
  test.each([
    [0, 0.6984, 0.3016],
    [2, 0.627, 0.373],
    [2.75, 0.5, 0.5],
    [2.8074, 0.4885, 0.5115],
    [3, 0.451, 0.549],
    [4, 0.3303, 0.6697],
    [5, 0.3044, 0.6956],
  ])("entropy %d → text %d, vector %d", (entropy, text, vector) => {
    const weights = routerWeights(entropy);
    expect(weights.text).toBeCloseTo(text, 4);
    expect(weights.vector).toBeCloseTo(vector, 4);
    expect(weights.bm25).toBe(weights.text);
  });

  test("weights sum to 1, and words lose what meaning gains", () => {
    const entropy = fc.double({ min: 0, max: 12, noNaN: true });
    fc.assert(
      fc.property(entropy, entropy, (a, b) => {
        expect(Math.abs(routerWeights(a).text + routerWeights(a).vector - 1)).toBeLessThan(1e-12);
        if (a < b - 1e-6) expect(routerWeights(a).text).toBeGreaterThan(routerWeights(b).text);
      }),
    );
  });
});

describe("the class of a question", () => {
  test.each([
    ["error conexión postgres", "factoid"],
    ["de qué depende la API", "multi_hop"],
    ["causas de la latencia", "multi_hop"],
    ["How does the queue work?", "multi_hop"],
    ["为什么缓存失效", "multi_hop"],
    ["cuáles son los temas principales del corpus", "global"],
    ["Overview of communities and how does it relate", "global"],
    ["independent dependencies", "factoid"],
    ["independencia encadenado", "factoid"],
    ["", "factoid"],
  ] as const)("%p → %s", (query, expected) => expect(queryClass(query)).toBe(expected));
});
