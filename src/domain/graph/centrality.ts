/** How central a node is: PageRank, betweenness, closeness, cores (`tools-maintenance.md` §15). Whole graphs; they run in a worker. */
import pagerank from "graphology-metrics/centrality/pagerank";
import { arrowsOf, type IndexedGraph, neighboursOf } from "./indexed.ts";

const DAMPING = 0.85;
/** After 20 rounds the error can still be 0.85^20 ≈ 0.04. */
const MAX_ROUNDS = 100;
/** Sum of the changes of a round below which the ranks stand. */
const CONVERGED = 1e-6;

/** A score for each node; NaN where the measure says nothing of it. */
export type Scores = Float64Array;
const silent = (graph: IndexedGraph): Scores => new Float64Array(graph.nodes).fill(Number.NaN);

/**
 * PageRank (Brin & Page 1998) of every node that an edge touches, summing to 1; weights are strengths, shared out per node, the mass of dead ends goes to all.
 * 0→1→2 → 0.1844, 0.3412, 0.4744.
 */
export function pageRanks(graph: IndexedGraph): Scores {
  const scores = silent(graph);
  const arrows = arrowsOf(graph);
  if (arrows.order === 0) return scores;
  // The library compares the change with its tolerance times the number of nodes.
  const options = { alpha: DAMPING, maxIterations: MAX_ROUNDS, tolerance: CONVERGED / arrows.order, getEdgeWeight: "weight" };
  for (const [node, rank] of Object.entries(pagerank(arrows, options))) scores[Number(node)] = rank;
  return scores;
}

/** From here on betweenness is estimated from so many pivots (Brandes & Pich 2007): exact, it costs nodes × edges. */
const EXACT_NODES = 2_000;
const PIVOTS = 256;

/**
 * Betweenness (Brandes 2001), unweighted and undirected, over pairs in both orders, divided by (n − 1)(n − 2): 0–1. The middle of a path of three has 1, the
 * centre of a star 1. Path counts are doubles here: they overflow 32 bits, which the library's own version uses, in any dense graph of a few layers.
 */
export function betweenness(graph: IndexedGraph): { readonly scores: Scores; readonly sampled: boolean } {
  const scores = silent(graph);
  const { size, node, starts, rows } = neighboursOf(graph);
  const sampled = size > EXACT_NODES;
  const pivots = sampled ? PIVOTS : size;
  const sums = new Float64Array(size);
  const distance = new Int32Array(size);
  const paths = new Float64Array(size);
  const share = new Float64Array(size);
  const order = new Uint32Array(size);
  for (let pivot = 0; pivot < pivots; pivot++) {
    const source = Math.floor((pivot * size) / pivots);
    distance.fill(-1);
    paths.fill(0);
    share.fill(0);
    distance[source] = 0;
    paths[source] = 1;
    order[0] = source;
    let found = 1;
    for (let at = 0; at < found; at++) {
      const here = order[at] ?? 0;
      const next = (distance[here] ?? 0) + 1;
      for (let link = starts[here] ?? 0; link < (starts[here + 1] ?? 0); link++) {
        const other = rows[link] ?? 0;
        if (distance[other] === -1) {
          distance[other] = next;
          order[found++] = other;
        }
        if (distance[other] === next) paths[other] = (paths[other] ?? 0) + (paths[here] ?? 0);
      }
    }
    for (let at = found - 1; at > 0; at--) {
      const here = order[at] ?? 0;
      const before = (distance[here] ?? 0) - 1;
      const portion = (1 + (share[here] ?? 0)) / (paths[here] ?? 1);
      for (let link = starts[here] ?? 0; link < (starts[here + 1] ?? 0); link++) {
        const other = rows[link] ?? 0;
        if (distance[other] === before) share[other] = (share[other] ?? 0) + (paths[other] ?? 0) * portion;
      }
      sums[here] = (sums[here] ?? 0) + (share[here] ?? 0);
    }
  }
  const scale = size < 3 ? 0 : size / pivots / ((size - 1) * (size - 2));
  for (const [row, sum] of sums.entries()) scores[node[row] ?? 0] = Math.min(1, sum * scale);
  return { scores, sampled };
}

/**
 * Distances to everybody else, undirected: harmonic Σ 1/d (Boldi & Vigna 2014), which graphs in pieces do not disturb, and closeness reachable/Σ d
 * (Bavelas 1950). A star with four leaves: centre 4 and 1, leaf 2.5 and 0.5714.
 */
export function closeness(graph: IndexedGraph): { readonly harmonic: Scores; readonly closeness: Scores } {
  const [harmonic, close] = [silent(graph), silent(graph)];
  const { size, node, starts, rows } = neighboursOf(graph);
  const distance = new Int32Array(size);
  const order = new Uint32Array(size);
  for (let source = 0; source < size; source++) {
    distance.fill(-1);
    distance[source] = 0;
    order[0] = source;
    let found = 1;
    let inverse = 0;
    let sum = 0;
    for (let at = 0; at < found; at++) {
      const here = order[at] ?? 0;
      const next = (distance[here] ?? 0) + 1;
      for (let link = starts[here] ?? 0; link < (starts[here + 1] ?? 0); link++) {
        const other = rows[link] ?? 0;
        if (distance[other] !== -1) continue;
        distance[other] = next;
        order[found++] = other;
        inverse += 1 / next;
        sum += next;
      }
    }
    harmonic[node[source] ?? 0] = inverse;
    close[node[source] ?? 0] = sum === 0 ? 0 : (found - 1) / sum;
  }
  return { harmonic, closeness: close };
}

/**
 * k-core of each node (Seidman 1983): the largest k such that it keeps k neighbours when everybody with fewer is peeled off. Buckets by degree, O(edges)
 * (Batagelj & Zaveršnik 2003). Triangle 2, 2, 2; star 1.
 */
export function cores(graph: IndexedGraph): Scores {
  const scores = silent(graph);
  const { size, node, starts, rows } = neighboursOf(graph);
  const degree = Uint32Array.from({ length: size }, (_, row) => (starts[row + 1] ?? 0) - (starts[row] ?? 0));
  const most = degree.reduce((high, each) => Math.max(high, each), 0);
  const bucket = new Uint32Array(most + 2);
  for (const each of degree) bucket[each + 1] = (bucket[each + 1] ?? 0) + 1;
  for (let at = 1; at < bucket.length; at++) bucket[at] = (bucket[at] ?? 0) + (bucket[at - 1] ?? 0);
  // Rows by degree, where each stands, and where each degree begins.
  const sorted = new Uint32Array(size);
  const place = new Uint32Array(size);
  const filled = bucket.slice();
  for (let row = 0; row < size; row++) {
    const of = degree[row] ?? 0;
    const at = filled[of] ?? 0;
    filled[of] = at + 1;
    sorted[at] = row;
    place[row] = at;
  }
  for (let at = 0; at < size; at++) {
    const row = sorted[at] ?? 0;
    for (let link = starts[row] ?? 0; link < (starts[row + 1] ?? 0); link++) {
      const other = rows[link] ?? 0;
      const current = degree[other] ?? 0;
      if (current <= (degree[row] ?? 0)) continue;
      // To the front of its bucket, then into the one below.
      const front = bucket[current] ?? 0;
      const first = sorted[front] ?? 0;
      const was = place[other] ?? 0;
      sorted[was] = first;
      place[first] = was;
      sorted[front] = other;
      place[other] = front;
      bucket[current] = front + 1;
      degree[other] = current - 1;
    }
  }
  for (const [row, core] of degree.entries()) scores[node[row] ?? 0] = core;
  return scores;
}

/** What a node is worth to whoever walks past: 0.75 · its rank (its importance where it has none) + 0.25 · its betweenness, at most 1. */
export const energy = (rank: number, between: number): number => Math.min(1, 0.75 * rank + 0.25 * between);
