/** What may have caused an effect (`tools-cognition.md` §10): the graph walked from the effect to its causes. Reads only. */
import { explainEffect } from "../domain/graph/causes.ts";
import { cleanName } from "../domain/names.ts";
import type { CallContext } from "../kernel/context.ts";
import type { Database } from "../store/port.ts";
import { possibleCauses } from "../store/queries/hypotheses.ts";
import { findEntity } from "./entities/resolve.ts";
import { loadNeighbourhood, nodeId, nodeKey, nodeName } from "./relations/graph.ts";

/** Relations that can carry a cause. */
const CAUSAL = ["causes", "depends_on", "related_to"] as const;

export interface Hypothesis {
  readonly cause: string;
  readonly entityType: string;
  readonly importance: number;
  readonly strength: number;
  readonly plausibility: number;
  /** From the effect to the cause: the relation that leads to each entity. */
  readonly path: readonly { readonly entity: string; readonly relation: string }[];
}

export interface Explanation {
  /** Canonical where it is known. */
  readonly effect: string;
  readonly isKnown: boolean;
  /** Most plausible first. */
  readonly hypotheses: readonly Hypothesis[];
  /** False where the surroundings were too large to walk all of them. */
  readonly complete: boolean;
}

export interface Hypotheses {
  explain(ctx: CallContext, effect: string, maxDepth: number): Promise<Explanation>;
}

export const createHypotheses = ({ db }: { readonly db: Database }): Hypotheses => ({
  explain: (ctx, effect, maxDepth) =>
    db.read(ctx, async (tx) => {
      const name = cleanName(effect, "effect");
      const entity = await findEntity(tx, name, ctx.scope);
      if (entity === undefined) return { effect: name, isKnown: false, hypotheses: [], complete: true };
      const start = nodeKey(entity.name, entity.id);
      const load = { depth: maxDepth, direction: "both", scope: ctx.scope, withPredicted: true, types: CAUSAL } as const;
      const { edges, complete } = await loadNeighbourhood(tx, entity.id, load);
      const nodes = [...new Set(edges.flatMap(({ from, to }) => [from, to]))];
      const found = await tx.all(possibleCauses({ ids: nodes.map(nodeId), scope: ctx.scope }));
      const known = new Map(found.map((row) => [row.id, row]));
      const hypotheses = explainEffect(edges, start, (node) => known.get(nodeId(node))?.importance ?? 0, maxDepth).flatMap(
        (cause): Hypothesis[] => {
          const row = known.get(nodeId(cause.node));
          if (row === undefined) return [];
          const path = cause.steps.map((step) => ({ entity: nodeName(step.to), relation: step.edge.relation }));
          const { entityType, importance } = row;
          return [
            { cause: nodeName(cause.node), entityType, importance, strength: cause.strength, plausibility: cause.plausibility, path },
          ];
        },
      );
      return { effect: entity.name, isKnown: true, hypotheses, complete };
    }),
});
