/** Spreading activation (Collins & Loftus 1975), as `associative` uses it (`retrieval.md` §2.11). */
import { byText, type Edge, stepsByNode, strengthFactor } from "./edges.ts";

const DAMPING = 0.85;

/**
 * Activation of every node that `hops` steps reach from the seeds, edges walked both ways: seeds 1, then
 * `next[j] = max(next[j], activation[i] · 0.85 · clamp(strength, 0.01, 1))`. Without the seeds, strongest first, ties by node.
 */
export function spreadActivation(
  edges: readonly Edge[],
  seeds: readonly string[],
  hops: number,
): { readonly node: string; readonly activation: number }[] {
  const steps = stepsByNode(
    edges.map((edge) => ({ ...edge, isBidirectional: true })),
    "both",
  );
  const activation = new Map(seeds.map((seed) => [seed, 1]));
  for (let hop = 0; hop < hops; hop++)
    for (const [node, value] of [...activation])
      for (const { to, edge } of steps.get(node) ?? [])
        activation.set(to, Math.max(activation.get(to) ?? 0, value * DAMPING * strengthFactor(edge.strength)));
  const seeded = new Set(seeds);
  return Array.from(activation, ([node, value]) => ({ node, activation: value }))
    .filter(({ node }) => !seeded.has(node))
    .sort((a, b) => b.activation - a.activation || byText(a.node, b.node));
}
