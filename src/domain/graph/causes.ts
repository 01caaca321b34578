/** What may have caused an effect: abduction over typed relations (`tools-cognition.md` §10). */
import { byText, type Edge, type Step } from "./edges.ts";
import { type Path, strongestPaths } from "./walk.ts";

/** How far a mere "related to" carries. */
const RELATED_DAMPING = 0.5;

export interface Cause extends Path {
  readonly node: string;
  /** Path strength × importance of the cause. */
  readonly plausibility: number;
}

/** Steps from effects to causes: `causes` against its arrow, `depends_on` along it (a fault in the dependency explains the effect), `related_to` both ways. */
function stepsToCauses(edges: readonly Edge[]): Map<string, Step[]> {
  const steps = new Map<string, Step[]>();
  const add = (edge: Edge, isForward: boolean) => {
    const step = isForward ? { from: edge.from, to: edge.to, edge, isForward } : { from: edge.to, to: edge.from, edge, isForward };
    steps.set(step.from, [...(steps.get(step.from) ?? []), step]);
  };
  for (const edge of edges) {
    if (edge.from === edge.to) continue;
    const both = edge.isBidirectional || edge.relation === "related_to";
    if (edge.relation === "causes" || (both && edge.relation === "depends_on") || edge.relation === "related_to") add(edge, false);
    if (edge.relation === "depends_on" || (both && edge.relation === "causes") || edge.relation === "related_to") add(edge, true);
  }
  return steps;
}

/**
 * Causes of an effect within `maxDepth` steps, each by its strongest path, most plausible first.
 * A –causes 0.8→ B –causes 0.5→ E with importances 0.9 and 0.6: A 0.36, B 0.30.
 * @param importance of a node, 0–1.
 */
export function explainEffect(edges: readonly Edge[], effect: string, importance: (node: string) => number, maxDepth: number): Cause[] {
  const steps = stepsToCauses(edges);
  const factor = ({ edge }: Step) => edge.strength * (edge.relation === "related_to" ? RELATED_DAMPING : 1);
  return Array.from(
    strongestPaths((node) => steps.get(node) ?? [], effect, maxDepth, factor),
    ([node, path]) => ({
      node,
      ...path,
      plausibility: path.strength * importance(node),
    }),
  ).sort((a, b) => b.plausibility - a.plausibility || byText(a.node, b.node));
}
