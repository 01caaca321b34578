/** Links that are not there: Adamic–Adar, and spreading activation, which a search with `associative` follows too (`tools-graph.md` §4.3, `retrieval.md` §2.11). */
import { byText, type Edge, stepsByNode, strengthFactor } from "./edges.ts";

export interface ScoredNode {
  readonly node: string;
  readonly score: number;
}

const bestFirst = (a: ScoredNode, b: ScoredNode) => b.score - a.score || byText(a.node, b.node);

/** Guesses never breed guesses. */
const known = (edges: readonly Edge[]) => edges.filter((edge) => edge.provenance !== "predicted");

function neighbours(edges: readonly Edge[]): Map<string, Set<string>> {
  const around = new Map<string, Set<string>>();
  const add = (a: string, b: string) => around.set(a, (around.get(a) ?? new Set()).add(b));
  for (const { from, to } of edges) {
    if (from === to) continue;
    add(from, to);
    add(to, from);
  }
  return around;
}

/**
 * Adamic–Adar (2003) over undirected edges that nobody predicted: Σ over shared neighbours 1 / ln(2 + degree), degree in different neighbours;
 * 2 keeps the logarithm from 0. Only nodes that are no neighbour yet, best first.
 */
export function predictLinks(edges: readonly Edge[], node: string): ScoredNode[] {
  const around = neighbours(known(edges));
  const own = around.get(node) ?? new Set<string>();
  const scores = new Map<string, number>();
  for (const shared of own) {
    const beyond = around.get(shared) ?? new Set<string>();
    for (const other of beyond)
      if (other !== node && !own.has(other)) scores.set(other, (scores.get(other) ?? 0) + 1 / Math.log(2 + beyond.size));
  }
  return Array.from(scores, ([other, score]) => ({ node: other, score })).sort(bestFirst);
}

/** Strength of a predicted edge that is kept: s/(s + 1), at least 0.01. 1.3427 → 0.5731. */
export const predictedStrength = (score: number): number => strengthFactor(score / (score + 1));

const HOP_DECAY = 0.85;

/**
 * Spreading activation (Collins & Loftus 1975), undirected: seeds have 1; per hop a neighbour gets the greatest of 0.85 · activation · strength.
 * A 1 –0.5– B –1– C: B 0.425, C 0.36125.
 * @returns the other nodes, most activated first.
 */
export function spreadActivation(edges: readonly Edge[], seeds: readonly string[], hops: number): ScoredNode[] {
  const steps = stepsByNode(edges, "both");
  const activation = new Map(seeds.map((seed) => [seed, 1]));
  for (let hop = 0; hop < hops; hop++) {
    const before = [...activation];
    for (const [node, active] of before)
      for (const { to, edge } of steps.get(node) ?? []) {
        const reached = active * HOP_DECAY * strengthFactor(edge.strength);
        if (reached > (activation.get(to) ?? 0)) activation.set(to, reached);
      }
  }
  for (const seed of seeds) activation.delete(seed);
  return Array.from(activation, ([node, score]) => ({ node, score })).sort(bestFirst);
}
