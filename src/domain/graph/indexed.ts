/**
 * A graph whose nodes are numbers, for measures that look at all of it: columns can be handed to a worker without a copy. Nodes are numbered in the order of
 * their ids, so that every tie has the same end each time.
 */
import { DirectedGraph, UndirectedGraph } from "graphology";
import { NeighborhoodIndex } from "graphology-indices/neighborhood";

export interface IndexedGraph {
  readonly nodes: number;
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  /** 0–1. */
  readonly strength: Float64Array;
  /** 1 where an edge can be walked both ways. */
  readonly bothWays: Uint8Array;
}

/** Arrows with their strength; parallel ones add up, one that says nothing is left out. Only nodes that an arrow touches. */
export function arrowsOf(graph: IndexedGraph): DirectedGraph {
  const arrows = new DirectedGraph();
  const add = (from: number, to: number, weight: number) => {
    arrows.mergeNode(String(from));
    arrows.mergeNode(String(to));
    arrows.updateEdge(String(from), String(to), (known) => ({ weight: Number(known.weight ?? 0) + weight }));
  };
  for (const [at, from] of graph.from.entries()) {
    const to = graph.to[at] ?? 0;
    const weight = graph.strength[at] ?? 0;
    if (from === to || weight <= 0) continue;
    add(from, to, weight);
    if (graph.bothWays[at] === 1) add(to, from, weight);
  }
  return arrows;
}

/** Who is linked with whom, once, whatever the direction and the number of edges. Only nodes that an edge touches. */
function linksOf(graph: IndexedGraph): UndirectedGraph {
  const links = new UndirectedGraph();
  for (const [at, from] of graph.from.entries()) {
    const to = graph.to[at] ?? 0;
    if (from !== to) links.mergeEdge(String(from), String(to));
  }
  return links;
}

/** Neighbours of each node in one row after the other: those of row `r` stand at `starts[r]` to `starts[r + 1]`. */
export interface Neighbours {
  readonly size: number;
  /** Node of a row. */
  readonly node: readonly number[];
  readonly starts: ArrayLike<number>;
  readonly rows: ArrayLike<number>;
}

/** Undirected, simple, without nodes that have no neighbour. */
export function neighboursOf(graph: IndexedGraph): Neighbours {
  const index = new NeighborhoodIndex(linksOf(graph), "undirected");
  return { size: index.nodes.length, node: index.nodes.map(Number), starts: index.starts, rows: index.neighborhood };
}

/** Weighted neighbours of every node, isolated ones included; parallel edges add up. */
export interface WeightedNeighbours {
  readonly size: number;
  readonly starts: Uint32Array;
  readonly rows: Uint32Array;
  readonly weights: Float64Array;
}

/** Undirected: the weight of a pair is the sum of its edges. Neighbours in ascending order. */
export function weightedNeighboursOf(graph: IndexedGraph): WeightedNeighbours {
  const around = Array.from({ length: graph.nodes }, () => new Map<number, number>());
  for (const [at, from] of graph.from.entries()) {
    const to = graph.to[at] ?? 0;
    const weight = graph.strength[at] ?? 0;
    if (from === to || weight <= 0) continue;
    around[from]?.set(to, (around[from].get(to) ?? 0) + weight);
    around[to]?.set(from, (around[to].get(from) ?? 0) + weight);
  }
  const starts = new Uint32Array(graph.nodes + 1);
  for (const [node, found] of around.entries()) starts[node + 1] = (starts[node] ?? 0) + found.size;
  const rows = new Uint32Array(starts[graph.nodes] ?? 0);
  const weights = new Float64Array(rows.length);
  for (const [node, found] of around.entries())
    for (const [at, [other, weight]] of [...found].sort(([a], [b]) => a - b).entries()) {
      rows[(starts[node] ?? 0) + at] = other;
      weights[(starts[node] ?? 0) + at] = weight;
    }
  return { size: graph.nodes, starts, rows, weights };
}
