/** Relations: assert and withdraw them, walk them, reason over them, guess missing ones (`tools-graph.md` §4.3). */
import { type Direction, initialStrength, type Provenance, type RelationType } from "../../domain/graph/edges.ts";
import { predictedStrength, predictLinks, spreadActivation } from "../../domain/graph/links.ts";
import { bestPaths, inferConnections, pathText, reachableFrom } from "../../domain/graph/walk.ts";
import { cleanName } from "../../domain/names.ts";
import type { CallContext } from "../../kernel/context.ts";
import { causeChain, conflict, invalid } from "../../kernel/errors.ts";
import type { Database, Tx, TxLimits } from "../../store/port.ts";
import { deleteEdges, insertPredictions, strengthenWalked, suggestableEntities, upsertEdge } from "../../store/queries/relations.ts";
import { findEntity, type ResolvedEntity, resolveEntity } from "../entities/resolve.ts";
import { loadNeighbourhood, type Neighbourhood, nodeId, nodeKey, nodeName, withoutIds } from "./graph.ts";

/** Nodes that a walk shows. */
const SHOWN_NODES = 50;
const ACTIVATION_HOPS = 2;
/** A walk waits a second at most for other writers, then it leaves no trace. */
const TRACE_LIMITS: TxLimits = { lockTimeoutMs: 1_000, byKey: true };

export interface Ends {
  readonly from: string;
  readonly to: string;
}

export interface AssertedEdge extends Ends {
  readonly created: boolean;
  readonly strength: number;
  readonly provenance: string;
  readonly bidirectional: boolean;
}

export interface WalkedNode {
  readonly name: string;
  readonly from: string;
  readonly relation: string;
  readonly strength: number;
  readonly depth: number;
  readonly provenance: Provenance;
}

export interface Walk {
  readonly start: string;
  readonly nodes: readonly WalkedNode[];
  /** Nodes within reach; more where `complete` is false. */
  readonly total: number;
  readonly complete: boolean;
  /** Weakest first. */
  readonly paths: readonly { readonly path: string; readonly score: number }[];
}

export interface InferredConnection {
  readonly entity: string;
  readonly hops: number;
  readonly strength: number;
  readonly path: string;
}

export interface Prediction {
  readonly entity: string;
  readonly entityType: string;
  /** 0 for an entity that activation alone reached. */
  readonly score: number;
  readonly activation: number | undefined;
}

export type PredictResult =
  | { readonly kind: "unknown"; readonly entity: string }
  | { readonly kind: "predicted"; readonly entity: string; readonly predictions: readonly Prediction[]; readonly created: number };

export interface Relations {
  /** @throws MemoryError `not_found` for an unknown end · `invalid` for one and the same · `conflict` across projects. */
  assert(ctx: CallContext, edge: Ends & { readonly relation: RelationType; readonly bidirectional: boolean }): Promise<AssertedEdge>;
  /** @returns how many rows went, mirrors included. */
  withdraw(ctx: CallContext, edge: Ends & { readonly relation: RelationType | undefined }): Promise<Ends & { readonly deleted: number }>;
  traverse(
    ctx: CallContext,
    start: string,
    options: { readonly maxDepth: number; readonly direction: Direction; readonly offset: number },
  ): Promise<Walk>;
  infer(
    ctx: CallContext,
    start: string,
    options: { readonly maxDepth: number; readonly direction: Direction },
  ): Promise<{ readonly start: string; readonly connections: readonly InferredConnection[] }>;
  predict(
    ctx: CallContext,
    entity: string,
    options: { readonly limit: number; readonly persistAs: RelationType | undefined },
  ): Promise<PredictResult>;
}

/** An edge read out of prose or asserted, written in the caller's transaction; endpoints are resolved already. */
export async function writeEdge(
  tx: Tx,
  ends: { readonly from: ResolvedEntity; readonly to: ResolvedEntity },
  edge: { readonly relation: RelationType; readonly bidirectional: boolean; readonly provenance: "extracted" | "inferred" },
) {
  const { from, to } = ends;
  if (from.id === to.id)
    throw invalid(`An entity has no relation to itself: both ends are '${from.name}'. Nothing was written.`, { field: "to_entity" });
  if (from.projectId !== to.projectId)
    throw conflict(`'${from.name}' and '${to.name}' belong to different projects; relations stay inside one. Nothing was written.`);
  const { relation, bidirectional, provenance } = edge;
  const row = { relation, bidirectional, provenance, strength: initialStrength[provenance], projectId: from.projectId };
  const first = await tx.first(upsertEdge({ ...row, from: from.id, to: to.id }));
  if (first === undefined) throw new Error("an upsert returned no row");
  if (first.bidirectional && bidirectional) await tx.first(upsertEdge({ ...row, from: to.id, to: from.id }));
  return first;
}

export function createRelations({ db }: { readonly db: Database }): Relations {
  const ends = async (tx: Tx, ctx: CallContext, { from, to }: Ends) => ({
    from: await resolveEntity(tx, from, ctx.scope, "read", "from_entity"),
    to: await resolveEntity(tx, to, ctx.scope, "read", "to_entity"),
  });

  const around = async (ctx: CallContext, start: string, options: { maxDepth: number; direction: Direction }) =>
    db.read(ctx, async (tx) => {
      const entity = await resolveEntity(tx, start, ctx.scope, "read", "start_entity");
      const load = { depth: options.maxDepth, direction: options.direction, scope: ctx.scope, withPredicted: true };
      return { entity, key: nodeKey(entity.name, entity.id), graph: await loadNeighbourhood(tx, entity.id, load) };
    });

  /** Use strengthens relations; the trace of a walk never fails it. */
  const leaveTrace = async (ctx: CallContext, ids: readonly string[]) => {
    if (ids.length === 0) return;
    try {
      await db.write(ctx, (tx) => tx.run(strengthenWalked({ ids, scope: ctx.scope })), TRACE_LIMITS);
    } catch (cause) {
      ctx.log.warn("a walk left no trace", { cause: causeChain(cause) });
    }
  };

  return {
    assert: (ctx, edge) =>
      db.write(
        ctx,
        async (tx) => {
          const resolved = await ends(tx, ctx, edge);
          const { created, strength, provenance } = await writeEdge(tx, resolved, { ...edge, provenance: "extracted" });
          return { from: resolved.from.name, to: resolved.to.name, created, strength, provenance, bidirectional: edge.bidirectional };
        },
        { byKey: true },
      ),

    withdraw: (ctx, edge) =>
      db.write(ctx, async (tx) => {
        const { from, to } = await ends(tx, ctx, edge);
        const deleted = await tx.run(deleteEdges({ from: from.id, to: to.id, relation: edge.relation, scope: ctx.scope }));
        return { from: from.name, to: to.name, deleted };
      }),

    async traverse(ctx, start, options) {
      const { entity, key, graph } = await around(ctx, start, options);
      const reached = reachableFrom(graph.edges, key, { ...options, limit: Number.POSITIVE_INFINITY });
      const shown = reached.slice(options.offset, options.offset + SHOWN_NODES);
      const walk: Walk = {
        start: entity.name,
        nodes: shown.map(({ node, depth, step }) => ({
          name: nodeName(node),
          from: nodeName(step.from),
          relation: step.edge.relation,
          strength: step.edge.strength,
          depth,
          provenance: step.edge.provenance,
        })),
        total: reached.length,
        complete: graph.complete,
        paths: bestPaths(graph.edges, key, options).map((path) => ({ path: withoutIds(pathText(path)), score: path.score })),
      };
      await leaveTrace(
        ctx,
        shown.flatMap(({ step }) => graph.rowOf.get(step.edge)?.id ?? []),
      );
      return walk;
    },

    async infer(ctx, start, options) {
      const { entity, key, graph } = await around(ctx, start, options);
      const connections = inferConnections(graph.edges, key, options).map((found) => ({
        entity: nodeName(found.node),
        hops: found.steps.length,
        strength: found.strength,
        path: withoutIds(pathText(found)),
      }));
      return { start: entity.name, connections };
    },

    async predict(ctx, name, { limit, persistAs }) {
      const { scope } = ctx;
      const look = async (tx: Tx) => {
        const entity = await findEntity(tx, cleanName(name, "entity_name"), scope);
        if (entity === undefined) return undefined;
        const graph = await loadNeighbourhood(tx, entity.id, { direction: "both", depth: 2, scope, withPredicted: false });
        return { entity, predictions: await candidates(tx, ctx, nodeKey(entity.name, entity.id), graph, limit) };
      };
      if (persistAs === undefined) {
        const found = await db.read(ctx, look);
        return found === undefined
          ? unknown(name)
          : { kind: "predicted", entity: found.entity.name, predictions: found.predictions, created: 0 };
      }
      return await db.write(ctx, async (tx) => {
        const found = await look(tx);
        if (found === undefined) return unknown(name);
        const to = found.predictions.filter((each) => each.score > 0).map(({ id, score }) => ({ id, strength: predictedStrength(score) }));
        const { id: from, projectId } = found.entity;
        const created = to.length === 0 ? 0 : await tx.run(insertPredictions({ from, relation: persistAs, projectId, to }));
        return { kind: "predicted", entity: found.entity.name, predictions: found.predictions, created };
      });
    },
  };
}

const unknown = (name: string): PredictResult => ({ kind: "unknown", entity: cleanName(name, "entity_name") });

/** Adamic–Adar first, then what activation reaches besides; never the entity itself, a neighbour, or what only untrusted text speaks of. */
async function candidates(
  tx: Tx,
  ctx: CallContext,
  start: string,
  graph: Neighbourhood,
  limit: number,
): Promise<(Prediction & { readonly id: string })[]> {
  const linked = predictLinks(graph.edges, start).map(({ node, score }) => ({ node, score, activation: undefined }));
  const taken = new Set([
    ...linked.map(({ node }) => node),
    ...graph.edges.flatMap(({ from, to }) => (from === start ? [to] : to === start ? [from] : [])),
  ]);
  const activated = spreadActivation(graph.edges, [start], ACTIVATION_HOPS).flatMap(({ node, score }) =>
    taken.has(node) ? [] : [{ node, score: 0, activation: score }],
  );
  const ranked = [...linked, ...activated];
  const known = await tx.all(suggestableEntities({ ids: ranked.map(({ node }) => nodeId(node)), scope: ctx.scope }));
  const byId = new Map(known.map((row) => [row.id, row]));
  return ranked
    .flatMap(({ node, score, activation }) => {
      const row = byId.get(nodeId(node));
      return row === undefined ? [] : [{ id: row.id, entity: row.name, entityType: row.entityType, score, activation }];
    })
    .slice(0, limit);
}
