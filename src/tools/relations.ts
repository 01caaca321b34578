import { z } from "zod";
import { relationTypes } from "../domain/graph/edges.ts";
import { DEFAULT_DEPTH, MAX_DEPTH } from "../domain/graph/walk.ts";
import { invalid } from "../kernel/errors.ts";
import type { PredictResult } from "../services/relations/relations.ts";
import { type Answer, action, defineTool } from "./define.ts";
import { choice, clamped, entityName, flag, offset } from "./fields.ts";
import { fitRows, tokensLeft } from "./fit.ts";
import { round } from "./numbers.ts";

/** Likely links shown where nothing else was asked for, and at most. */
const SUGGESTIONS = 10;
const MOST_SUGGESTIONS = 50;

const from = entityName("create, delete: where the relation starts");
const to = entityName("create, delete: where it ends");
const relation = choice(
  relationTypes,
  "create (default related_to), delete (all types when omitted), predict with persist (type of the stored edge, default related_to)",
);
const start = entityName("traverse, infer; predict accepts it in place of entity_name");
const walkOptions = {
  max_depth: clamped(1, MAX_DEPTH, "traverse, infer: steps").default(DEFAULT_DEPTH),
  direction: choice(["out", "in", "both"], "traverse, infer: which way relations are walked").default("out"),
};

export default defineTool({
  name: "cuba_puente",
  group: "graph",
  profile: "agent",
  title: "Relations",
  describe:
    "Typed relations between entities: create, delete, traverse (walk outwards), infer (transitive links), predict (likely missing links). Use strengthens relations.",
  hints: { readOnly: false, destructive: true, openWorld: false },
  actions: {
    create: action({
      input: z.object({
        from_entity: from,
        to_entity: to,
        relation_type: relation.default("related_to"),
        bidirectional: flag("create: holds in both directions").default(false),
      }),
      run: async (ctx, a, { relations }) => {
        const edge = { from: a.from_entity, to: a.to_entity, relation: a.relation_type, bidirectional: a.bidirectional };
        const stored = await relations.assert(ctx, edge);
        return {
          action: "create",
          from: stored.from,
          to: stored.to,
          relation_type: a.relation_type,
          bidirectional: stored.bidirectional,
          created: stored.created,
          strength: round(stored.strength),
          provenance: stored.provenance,
        };
      },
    }),
    delete: action({
      deletesAtOnce: true,
      input: z.object({ from_entity: from, to_entity: to, relation_type: relation.optional() }),
      run: async (ctx, a, { relations }) => {
        const done = await relations.withdraw(ctx, { from: a.from_entity, to: a.to_entity, relation: a.relation_type });
        return { action: "delete", from: done.from, to: done.to, deleted: done.deleted > 0, deleted_count: done.deleted };
      },
    }),
    traverse: action({
      input: z.object({ start_entity: start, ...walkOptions, offset: offset.optional() }),
      run: async (ctx, a, { relations }) => {
        const skip = a.offset ?? 0;
        const walk = await relations.traverse(ctx, a.start_entity, { maxDepth: a.max_depth, direction: a.direction, offset: skip });
        const head = {
          action: "traverse",
          start: walk.start,
          max_depth: a.max_depth,
          direction: a.direction,
          backend: "postgres",
          paths: walk.paths.map(({ path, score }) => ({ path, score: round(score) })),
        };
        const nodes = walk.nodes.map((node) => ({ ...node }));
        const shown = await fitRows({ rows: nodes, total: walk.total, offset: skip, budget: await tokensLeft(head) });
        const { paths, ...rest } = head;
        return {
          ...rest,
          count: shown.rows.length,
          nodes: shown.rows,
          paths,
          truncated: shown.truncated,
          total: shown.total,
          next: shown.next,
          ...(walk.complete
            ? {}
            : { incomplete: "more relations than a walk loads; the strongest were followed. Start from a node closer by." }),
        };
      },
    }),
    infer: action({
      input: z.object({ start_entity: start, ...walkOptions }),
      run: async (ctx, a, { relations }) => {
        const found = await relations.infer(ctx, a.start_entity, { maxDepth: a.max_depth, direction: a.direction });
        const head = { action: "infer", start: found.start };
        const rows = found.connections.map(({ entity, hops, strength, path }) => ({
          entity,
          hops,
          inferred_strength: round(strength),
          path,
        }));
        const shown = await fitRows({ rows, total: rows.length, offset: 0, budget: await tokensLeft(head) });
        return {
          ...head,
          inferred_connections: shown.rows,
          count: shown.rows.length,
          ...(shown.truncated ? { truncated: true, total: shown.total, next: { max_depth: 2 } } : {}),
        };
      },
    }),
    predict: action({
      input: z.object({
        entity_name: entityName("predict").optional(),
        start_entity: start.optional(),
        limit: clamped(1, MOST_SUGGESTIONS, "predict: most suggestions").default(SUGGESTIONS),
        persist: flag("predict: store the suggestions with provenance 'predicted'").default(false),
        relation_type: relation.optional(),
      }),
      run: async (ctx, a, { relations }) => {
        const entity = a.entity_name ?? a.start_entity;
        if (entity === undefined)
          throw invalid("entity_name is required (text of 1 to 200 characters). Nothing was written.", { field: "entity_name" });
        const persistAs = a.persist ? (a.relation_type ?? "related_to") : undefined;
        return await predicted(await relations.predict(ctx, entity, { limit: a.limit, persistAs }), a.persist);
      },
    }),
  },
});

async function predicted(result: PredictResult, persisted: boolean): Promise<Answer> {
  const head = { action: "predict", entity: result.entity, algorithm: "Adamic-Adar + spreading activation", persisted };
  if (result.kind === "unknown")
    return {
      ...head,
      count: 0,
      relations_created: 0,
      predictions: [],
      note: `Entity '${result.entity}' is not known here, so there is nothing to predict from. cuba_faro scope=entities finds names.`,
    };
  const rows = result.predictions.map(({ entity, entityType, score, activation }) => ({
    entity,
    entity_type: entityType,
    adamic_adar_score: round(score),
    ...(activation === undefined ? {} : { activation_score: round(activation) }),
    recommendation:
      activation === undefined
        ? "shares neighbours; look whether a relation is missing and assert it with create"
        : "reached through others; a weak hint",
  }));
  const shown = await fitRows({ rows, total: rows.length, offset: 0, budget: await tokensLeft(head) });
  return {
    ...head,
    count: shown.rows.length,
    relations_created: result.created,
    predictions: shown.rows,
    ...(shown.truncated ? { truncated: true, total: shown.total, next: { limit: shown.rows.length } } : {}),
  };
}
