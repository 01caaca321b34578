import { expect, test } from "bun:test";
import fc from "fast-check";
import { betweenness, closeness, cores, energy, pageRanks } from "../../../src/domain/graph/centrality.ts";
import type { Edge } from "../../../src/domain/graph/edges.ts";
import { normalizedRanks, pageRank } from "../../../src/domain/graph/pagerank.ts";
import { anyGraph, indexed, type Link } from "../../support/indexed-graphs.ts";

const round = (scores: Float64Array) => [...scores].map((score) => Math.round(score * 10_000) / 10_000);
const chain = indexed(3, [
  [0, 1],
  [1, 2],
]);
const star = indexed(5, [
  [1, 0],
  [2, 0],
  [3, 0],
  [4, 0],
]);

test("PageRank of a chain, a hub and a cycle is what the paper's formula gives", () => {
  expect(round(pageRanks(chain))).toEqual([0.1844, 0.3412, 0.4744]);
  const named = (scores: Float64Array) => normalizedRanks(new Map([...scores].map((score, node) => [String(node), score])));
  const norm = named(pageRanks(chain));
  expect([norm?.get("0"), norm?.get("2")]).toEqual([0, 1]);
  expect(norm?.get("1")).toBeCloseTo(0.5405, 4);
  expect([...(named(pageRanks(star))?.values() ?? [])].map((value) => Math.round(value * 1e6) / 1e6)).toEqual([1, 0, 0, 0, 0]);
  const cycle = indexed(3, [
    [0, 1],
    [1, 2],
    [2, 0],
  ]);
  expect(named(pageRanks(cycle))).toBeUndefined();
});

test("PageRank sums to 1 over the nodes that an edge touches, and agrees with the personalised one without seeds", () => {
  fc.assert(
    fc.property(anyGraph, (graph) => {
      const ranks = pageRanks(graph);
      const known = [...ranks].filter((rank) => !Number.isNaN(rank));
      if (known.length > 0) expect(known.reduce((sum, rank) => sum + rank, 0)).toBeCloseTo(1, 6);
      const edges = [...graph.from].flatMap((from, at): Edge[] => {
        const strength = graph.strength[at] ?? 0;
        const to = graph.to[at] ?? 0;
        return from === to || strength <= 0
          ? []
          : [{ from: String(from), to: String(to), relation: "uses", strength, isBidirectional: false, provenance: "extracted" }];
      });
      for (const [node, rank] of pageRank(edges)) expect(ranks[Number(node)] ?? 0).toBeCloseTo(rank, 4);
    }),
  );
});

test("an edge that goes both ways is followed both ways", () => {
  const links: Link[] = [
    [0, 1],
    [1, 2],
  ];
  expect(round(pageRanks(indexed(3, links, true)))).toEqual([0.2568, 0.4865, 0.2568]);
});

test("betweenness is 1 in the middle of a path of three and of a star, 0 at the ends, and the same with doubled edges", () => {
  expect(round(betweenness(chain).scores)).toEqual([0, 1, 0]);
  expect(round(betweenness(star).scores)).toEqual([1, 0, 0, 0, 0]);
  const doubled = indexed(4, [
    [0, 1],
    [1, 0],
    [0, 1],
    [1, 2],
    [2, 3],
  ]);
  expect(round(betweenness(doubled).scores)).toEqual([0, 0.6667, 0.6667, 0]);
  expect(betweenness(indexed(2, [[0, 1]])).scores).toEqual(new Float64Array([0, 0]));
});

test("betweenness is estimated above 2,000 nodes, says so, and is the same each time", () => {
  const ring = indexed(
    2_400,
    Array.from({ length: 2_400 }, (_, at): Link => [at, (at + 1) % 2_400]),
  );
  const first = betweenness(ring);
  expect(first.sampled).toBe(true);
  expect(betweenness(ring).scores).toEqual(first.scores);
  // Of a ring every node has the same: near one half of a half.
  const mean = first.scores.reduce((sum, each) => sum + each, 0) / 2_400;
  expect(mean).toBeCloseTo(0.25, 2);
  expect(betweenness(chain).sampled).toBe(false);
});

test("paths beyond 32 bits are counted", () => {
  // 12 layers of 10: 10^11 shortest paths from end to end.
  const links = Array.from({ length: 11 }, (_, layer) =>
    Array.from({ length: 100 }, (_each, at): Link => [layer * 10 + Math.floor(at / 10), (layer + 1) * 10 + (at % 10)]),
  ).flat();
  const { scores } = betweenness(indexed(120, links));
  for (const score of scores) expect(score >= 0 && score <= 1).toBe(true);
  expect(scores[50]).toBeCloseTo(scores[59] ?? 0, 12);
});

test("closeness and harmonic of a star, of two pairs, and of what stands alone", () => {
  const { harmonic, closeness: close } = closeness(star);
  expect(round(harmonic)).toEqual([4, 2.5, 2.5, 2.5, 2.5]);
  expect(round(close)).toEqual([1, 0.5714, 0.5714, 0.5714, 0.5714]);
  const pairs = closeness(
    indexed(5, [
      [0, 1],
      [2, 3],
    ]),
  );
  expect(round(pairs.harmonic)).toEqual([1, 1, 1, 1, Number.NaN]);
  expect(round(pairs.closeness)).toEqual([1, 1, 1, 1, Number.NaN]);
});

test("cores: a triangle has 2, a star 1, and peeling one node after the other agrees", () => {
  const triangle = indexed(4, [
    [0, 1],
    [1, 2],
    [2, 0],
    [1, 1],
  ]);
  expect([...cores(triangle)]).toEqual([2, 2, 2, Number.NaN]);
  expect([...cores(star)]).toEqual([1, 1, 1, 1, 1]);
  expect([...cores(indexed(0, []))]).toEqual([]);
  fc.assert(
    fc.property(anyGraph, (graph) => {
      const around = new Map<number, Set<number>>();
      for (const [at, from] of graph.from.entries()) {
        const to = graph.to[at] ?? 0;
        if (from === to) continue;
        around.set(from, (around.get(from) ?? new Set()).add(to));
        around.set(to, (around.get(to) ?? new Set()).add(from));
      }
      let core = 0;
      const found = cores(graph);
      while (around.size > 0) {
        const [node, links] = [...around].reduce((least, each) => (each[1].size < least[1].size ? each : least));
        core = Math.max(core, links.size);
        expect(found[node]).toBe(core);
        for (const other of links) around.get(other)?.delete(node);
        around.delete(node);
      }
    }),
  );
});

test("energy is three quarters of the rank and one of the betweenness, at most 1", () => {
  expect(energy(0.8, 0.2)).toBeCloseTo(0.65, 12);
  expect(energy(1, 1)).toBe(1);
});
