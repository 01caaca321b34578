/** PageRank, global and personalised (`tools-maintenance.md` §15.1; Brin & Page 1998; HippoRAG, Gutiérrez et al. 2024). */
import type { Edge } from "./edges.ts";
import { stepsByNode } from "./edges.ts";

const DAMPING = 0.85;
/** After 20 rounds the error can still be 0.85^20 ≈ 0.04. */
const MAX_ROUNDS = 100;
const CONVERGED = 1e-6;
/** Below this spread all nodes are equal, and stretching them to 0–1 would make noise of nothing. */
const MIN_SPREAD = 1e-10;

/**
 * Rank of every endpoint of an edge (and every seed), summing to 1; weights are strengths, shared out per node; a bidirectional edge counts both ways.
 * @param seeds where the walk restarts and where the mass of dead ends goes; without them every node alike. Seeds that no edge touches count too.
 *   With an empty list of seeds all ranks are 0: nothing is personal to nobody.
 */
export function pageRank(edges: readonly Edge[], seeds?: readonly string[]): Map<string, number> {
  const steps = stepsByNode(edges, "out");
  const nodes = [...new Set([...edges.flatMap(({ from, to }) => [from, to]), ...(seeds ?? [])])].sort();
  const restart = new Set(seeds ?? nodes);
  if (nodes.length === 0 || restart.size === 0) return new Map(nodes.map((node) => [node, 0]));
  const at = new Map(nodes.map((node, index) => [node, index]));
  const restartShare = nodes.map((node) => (restart.has(node) ? 1 / restart.size : 0));
  const links = nodes.map((node) =>
    (steps.get(node) ?? []).map(({ to, edge }) => ({ to: at.get(to) ?? 0, weight: Math.max(edge.strength, 0) })),
  );
  const weightOut = links.map((out) => out.reduce((sum, { weight }) => sum + weight, 0));

  let ranks = seeds === undefined ? nodes.map(() => 1 / nodes.length) : [...restartShare];
  for (let round = 0; round < MAX_ROUNDS; round++) {
    let stranded = 0;
    const next = nodes.map(() => 0);
    for (const [index, rank] of ranks.entries()) {
      const total = weightOut[index] ?? 0;
      if (total === 0) stranded += rank;
      else for (const { to, weight } of links[index] ?? []) next[to] = (next[to] ?? 0) + (rank * weight) / total;
    }
    const settled = next.map(
      (mass, index) => DAMPING * (mass + stranded * (restartShare[index] ?? 0)) + (1 - DAMPING) * (restartShare[index] ?? 0),
    );
    const change = settled.reduce((sum, rank, index) => sum + Math.abs(rank - (ranks[index] ?? 0)), 0);
    ranks = settled;
    if (change < CONVERGED) break;
  }
  return new Map(nodes.map((node, index) => [node, ranks[index] ?? 0]));
}

/** Ranks stretched to 0–1; undefined where they are all equal (a plain cycle), since then there is nothing to say. */
export function normalizedRanks(ranks: ReadonlyMap<string, number>): Map<string, number> | undefined {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  // A loop, since a call takes only so many arguments: with the ranks of a large graph Math.min(...ranks) throws.
  for (const rank of ranks.values()) {
    low = Math.min(low, rank);
    high = Math.max(high, rank);
  }
  const range = high - low;
  if (ranks.size === 0 || range < MIN_SPREAD) return undefined;
  return new Map(Array.from(ranks, ([node, rank]) => [node, (rank - low) / range]));
}
