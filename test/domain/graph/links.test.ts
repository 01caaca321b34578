import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { initialStrength } from "../../../src/domain/graph/edges.ts";
import { predictedStrength, predictLinks, spreadActivation } from "../../../src/domain/graph/links.ts";
import { normalizedRanks, pageRank } from "../../../src/domain/graph/pagerank.ts";
import { edge } from "../../support/edges.ts";

const rounded = (map: ReadonlyMap<string, number>) => Array.from(map, ([node, value]) => [node, Number(value.toFixed(4))]);

describe("predicted links", () => {
  const edges = [edge("A", "B"), edge("A", "C"), edge("B", "D"), edge("C", "D"), edge("C", "E")];

  test("Adamic–Adar of the worked example: D 1.3427, E 0.6213", () => {
    const found = predictLinks(edges, "A");
    expect(found.map(({ node, score }) => [node, Number(score.toFixed(4))])).toEqual([
      ["D", 1.3427],
      ["E", 0.6213],
    ]);
    expect(found.map(({ score }) => Number(predictedStrength(score).toFixed(4)))).toEqual([0.5731, 0.3832]);
  });

  test("a mirrored pair counts once and a guess is no ground for a guess", () => {
    const mirrored = [...edges, edge("D", "B"), edge("B", "A"), edge("A", "F", 1, { provenance: "predicted" }), edge("F", "G")];
    expect(predictLinks(mirrored, "A")).toEqual(predictLinks(edges, "A"));
  });
});

describe("spreading activation", () => {
  test("falls by 0.85 times the strength a hop, and keeps the greatest", () => {
    const edges = [edge("A", "B", 0.5), edge("B", "C"), edge("A", "C", 0.1)];
    expect(spreadActivation(edges, ["A"], 2).map(({ node, score }) => [node, Number(score.toFixed(6))])).toEqual([
      ["B", 0.425],
      ["C", 0.36125],
    ]);
    expect(spreadActivation(edges, ["A"], 1).at(-1)).toEqual({ node: "C", score: 0.085 });
  });

  test("never exceeds its seeds, which are not among the results", () => {
    const name = fc.constantFrom(..."ABCD");
    fc.assert(
      fc.property(fc.array(fc.record({ from: name, to: name }), { maxLength: 8 }), (pairs) => {
        for (const { node, score } of spreadActivation(
          pairs.map(({ from, to }) => edge(from, to)),
          ["A"],
          8,
        )) {
          expect(node).not.toBe("A");
          expect(score).toBeLessThanOrEqual(0.85);
        }
      }),
    );
  });
});

test("a relation starts by where it comes from", () => {
  expect(initialStrength).toEqual({ extracted: 1, inferred: 0.5 });
});

describe("PageRank", () => {
  test("of 0→1→2 is 0.1844, 0.3412, 0.4744; stretched 0, 0.5405, 1", () => {
    const ranks = pageRank([edge("0", "1"), edge("1", "2")]);
    expect(rounded(ranks)).toEqual([
      ["0", 0.1844],
      ["1", 0.3412],
      ["2", 0.4744],
    ]);
    expect(rounded(normalizedRanks(ranks) ?? new Map())).toEqual([
      ["0", 0],
      ["1", 0.5405],
      ["2", 1],
    ]);
  });

  test("three leaves and a hub: hub 1, leaves 0; a plain cycle says nothing", () => {
    const hub = normalizedRanks(pageRank(["a", "b", "c"].map((leaf) => edge(leaf, "hub"))));
    expect(rounded(hub ?? new Map())).toEqual([
      ["a", 0],
      ["b", 0],
      ["c", 0],
      ["hub", 1],
    ]);
    expect(normalizedRanks(pageRank([edge("a", "b"), edge("b", "c"), edge("c", "a")]))).toBeUndefined();
    expect(normalizedRanks(new Map())).toBeUndefined();
  });

  test("ranks of a large graph are stretched too", () => {
    const most = 1_000_000;
    const stretched = normalizedRanks(new Map(Array.from({ length: most + 1 }, (_, at) => [String(at), at])));
    expect([stretched?.get("0"), stretched?.get(String(most / 2)), stretched?.get(String(most))]).toEqual([0, 0.5, 1]);
  });

  test("personalised stays near its seeds", () => {
    const ranks = pageRank([edge("0", "1"), edge("1", "2")], ["0"]);
    expect(ranks.get("0") ?? 0).toBeGreaterThan(ranks.get("2") ?? 1);
    expect([...pageRank([edge("0", "1")], []).values()]).toEqual([0, 0]);
    expect(pageRank([]).size).toBe(0);
  });

  test("sums to 1 whatever the graph, and does not depend on the order of its edges", () => {
    const name = fc.constantFrom(..."ABCDE");
    const edges = fc.array(fc.record({ from: name, to: name, isBidirectional: fc.boolean() }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(edges, fc.option(fc.constantFrom("A", "B")), (list, seed) => {
        const graph = list.map(({ from, to, isBidirectional }) => edge(from, to, 0.5, { isBidirectional }));
        const ranks = pageRank(graph, seed === null ? undefined : [seed]);
        expect([...ranks.values()].reduce((sum, rank) => sum + rank, 0)).toBeCloseTo(1, 9);
        const again = pageRank([...graph].reverse(), seed === null ? undefined : [seed]);
        for (const [node, rank] of ranks) expect(again.get(node)).toBeCloseTo(rank, 9);
      }),
    );
  });
});
