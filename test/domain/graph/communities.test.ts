import { expect, test } from "bun:test";
import fc from "fast-check";
import { UndirectedGraph } from "graphology";
import modularity from "graphology-metrics/graph/modularity";
import { connectedLabels, findCommunities } from "../../../src/domain/graph/communities.ts";
import { type IndexedGraph, weightedNeighboursOf } from "../../../src/domain/graph/indexed.ts";
import { anyGraph, indexed, type Link } from "../../support/indexed-graphs.ts";

const triangles: readonly Link[] = [
  [0, 1],
  [1, 2],
  [2, 0],
  [3, 4],
  [4, 5],
  [5, 3],
  [2, 3, 0.1],
];

const members = (graph: IndexedGraph) => {
  const groups = new Map<number, number[]>();
  for (const [node, label] of findCommunities(graph).label.entries()) groups.set(label, [...(groups.get(label) ?? []), node]);
  return [...groups].sort(([a], [b]) => a - b).map(([, nodes]) => nodes);
};

/** Every pair of one group is joined by a path inside it. */
function isConnected(graph: IndexedGraph, group: readonly number[]): boolean {
  const inside = new Set(group);
  const seen = new Set(group.slice(0, 1));
  for (let grew = true; grew; ) {
    grew = false;
    for (const [at, from] of graph.from.entries()) {
      const to = graph.to[at] ?? 0;
      if ((graph.strength[at] ?? 0) <= 0 || !inside.has(from) || !inside.has(to) || seen.has(from) === seen.has(to)) continue;
      seen.add(from).add(to);
      grew = true;
    }
  }
  return seen.size === inside.size;
}

test("two triangles with a thin bridge are two communities; a lone node stays alone", () => {
  expect(members(indexed(7, triangles))).toEqual([[0, 1, 2], [3, 4, 5], [6]]);
  expect(members(indexed(3, []))).toEqual([[0], [1], [2]]);
  expect(members(indexed(0, []))).toEqual([]);
});

test("larger communities come first, and the answer does not depend on the order of the edges", () => {
  const graph = indexed(9, [...triangles, [5, 6], [3, 6], [4, 6], [7, 8]]);
  expect(members(graph)).toEqual([
    [3, 4, 5, 6],
    [0, 1, 2],
    [7, 8],
  ]);
  const turned = indexed(
    9,
    [...triangles, [5, 6], [3, 6], [4, 6], [7, 8]].map((link): Link => [link[1] ?? 0, link[0] ?? 0, link[2]]).reverse(),
  );
  expect(members(turned)).toEqual(members(graph));
});

test("two pairs that were given one label are taken apart", () => {
  const links = weightedNeighboursOf(
    indexed(4, [
      [0, 1],
      [2, 3],
    ]),
  );
  expect([...connectedLabels(links, new Int32Array(4))]).toEqual([0, 0, 2, 2]);
});

test("every community is connected, every node is in one, and the modularity is that of the definition", () => {
  fc.assert(
    fc.property(anyGraph, (graph) => {
      const found = findCommunities(graph);
      const groups = members(graph);
      expect(groups.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: graph.nodes }, (_, node) => node));
      for (const group of groups) expect(isConnected(graph, group)).toBe(true);
      expect(groups.map((group) => group.length)).toEqual(groups.map((group) => group.length).sort((a, b) => b - a));
      const judged = new UndirectedGraph();
      for (let node = 0; node < graph.nodes; node++) judged.addNode(String(node), { community: found.label[node] });
      for (const [at, from] of graph.from.entries()) {
        const to = graph.to[at] ?? 0;
        if (from === to || (graph.strength[at] ?? 0) <= 0) continue;
        judged.updateEdge(String(from), String(to), (known) => ({ weight: Number(known.weight ?? 0) + (graph.strength[at] ?? 0) }));
      }
      if (judged.size > 0) expect(found.modularity).toBeCloseTo(modularity(judged), 8);
      // Never worse than leaving everybody alone.
      expect(found.modularity).toBeGreaterThanOrEqual(-0.5);
    }),
  );
});

test("planted groups are found: ten of twenty nodes, dense inside and thin between", () => {
  let state = 1;
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
  const links: Link[] = [];
  for (let a = 0; a < 200; a++)
    for (let b = a + 1; b < 200; b++) if (random() < (Math.floor(a / 20) === Math.floor(b / 20) ? 0.5 : 0.01)) links.push([a, b]);
  expect(members(indexed(200, links)).map((group) => group.map((node) => Math.floor(node / 20)))).toEqual(
    Array.from({ length: 10 }, (_, group) => new Array(20).fill(group)),
  );
});
