/** Relations: what an entity is linked with, edges around a set of nodes, and writing edges. Both ends of every row shown are in scope. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { GAIN_BY_SIGHT, GAIN_BY_WALK } from "../../domain/graph/edges.ts";
import type { Scope } from "../../kernel/context.ts";
import { floatArray, int8, query, textArray, uuid, uuidArray } from "../codecs.ts";
import { isVouchedFor } from "./entities.ts";
import { inScope, keyedInScope } from "./predicates.ts";

const Linked = z.object({
  entity: z.string(),
  type: z.string(),
  direction: z.enum(["outgoing", "incoming"]),
  strength: z.number(),
  provenance: z.string(),
});
export type LinkedEntity = z.output<typeof Linked>;

const links = (entityId: string, scope: Scope): SQL => sql`
  select r.id, r.to_entity as other, r.relation_type, 'outgoing' as direction, r.strength, r.provenance
  from brain_relations as r where r.from_entity = ${entityId}::uuid and ${inScope("r", scope)}
  union all
  select r.id, r.from_entity, r.relation_type, 'incoming', r.strength, r.provenance
  from brain_relations as r where r.to_entity = ${entityId}::uuid and ${inScope("r", scope)}`;

/** Relations in both directions, as seen from the entity, strongest first. */
export const linksOf = query(
  Linked,
  (q: { entityId: string; scope: Scope; limit: number }) => sql`
  select e.name as entity, l.relation_type as type, l.direction, l.strength, l.provenance
  from (${links(q.entityId, q.scope)}) as l
  join brain_entities as e on e.id = l.other
  where ${inScope("e", q.scope)}
  order by l.strength desc, e.name, l.relation_type, l.direction, l.id
  limit ${q.limit}::int`,
);

export const linkCount = query(
  z.object({ count: int8 }),
  (q: { entityId: string; scope: Scope }) => sql`
  select count(*) as count from (${links(q.entityId, q.scope)}) as l join brain_entities as e on e.id = l.other where ${inScope("e", q.scope)}`,
);

const EdgeRow = z.object({
  id: uuid,
  from: uuid,
  fromName: z.string(),
  to: uuid,
  toName: z.string(),
  relation: z.string(),
  strength: z.number(),
  isBidirectional: z.boolean(),
  provenance: z.enum(["extracted", "inferred", "predicted"]),
});
export type EdgeRow = z.output<typeof EdgeRow>;

/**
 * Edges that lead out of a set of nodes (`out`), into it (`in`), or touch it (`both`); edges flagged bidirectional lead both ways.
 * The strongest first, at most `limit`.
 */
export const edgesAt = query(
  EdgeRow,
  (q: {
    nodes: readonly string[];
    direction: "out" | "in" | "both";
    scope: Scope;
    withPredicted: boolean;
    types?: readonly string[] | undefined;
    limit: number;
  }) => {
    const nodes = uuidArray(q.nodes);
    const ofType = q.types === undefined ? sql`true` : sql`r.relation_type = any(${textArray(q.types)})`;
    const side = (column: "from_entity" | "to_entity", always: boolean) => sql`
      select r.id from brain_relations as r
      where r.${sql.raw(column)} = any(${nodes}) and ${always ? sql`true` : sql`r.bidirectional`} and ${inScope("r", q.scope)}
        and (${q.withPredicted}::bool or r.provenance <> 'predicted') and ${ofType}`;
    return sql`
  select r.id, r.from_entity as from, f.name as "fromName", r.to_entity as to, t.name as "toName", r.relation_type as relation,
         r.strength, r.bidirectional as "isBidirectional", r.provenance
  from (${side("from_entity", q.direction !== "in")} union ${side("to_entity", q.direction !== "out")}) as touching
  join brain_relations as r on r.id = touching.id
  join brain_entities as f on f.id = r.from_entity
  join brain_entities as t on t.id = r.to_entity
  where ${inScope("f", q.scope)} and ${inScope("t", q.scope)}
  order by r.strength desc, f.name, t.name, r.relation_type, r.id
  limit ${q.limit}::int`;
  },
);

/** Types of entities that may be suggested; those that only untrusted text speaks of are left out. */
export const suggestableEntities = query(
  z.object({ id: uuid, name: z.string(), entityType: z.string() }),
  (q: { ids: readonly string[]; scope: Scope }) => sql`
  select e.id, e.name, e.entity_type as "entityType"
  from brain_entities as e
  where e.id = any(${uuidArray(q.ids)}) and ${inScope("e", q.scope)} and ${isVouchedFor("e")}
  order by e.name, e.id`,
);

export interface NewEdge {
  readonly from: string;
  readonly to: string;
  readonly relation: string;
  readonly strength: number;
  readonly provenance: "extracted" | "inferred";
  readonly bidirectional: boolean;
  readonly projectId: string | null;
}

/** Stores an edge, or strengthens the one that is there. An assertion makes it `extracted`; a reading of prose leaves its provenance. */
export const upsertEdge = query(
  z.object({ id: uuid, created: z.boolean(), strength: z.number(), provenance: z.string(), bidirectional: z.boolean() }),
  (q: NewEdge) => sql`
  insert into brain_relations as r (from_entity, to_entity, relation_type, strength, provenance, bidirectional, project_id)
  values (${q.from}::uuid, ${q.to}::uuid, ${q.relation}::text, ${q.strength}::float8, ${q.provenance}::text, ${q.bidirectional}::bool, ${q.projectId}::uuid)
  on conflict on constraint uq_brain_relations_edge do update
  set strength = least(1, r.strength + ${GAIN_BY_SIGHT}::float8), last_traversed = now(),
      provenance = case when excluded.provenance = 'extracted' then 'extracted' else r.provenance end,
      bidirectional = r.bidirectional or excluded.bidirectional
  returning r.id, r.xmax = 0 as created, r.strength, r.provenance, r.bidirectional`,
);

/** Stores guesses; an edge that is there stays as it is. Answers how many are new. */
export const insertPredictions = (q: {
  from: string;
  relation: string;
  projectId: string | null;
  to: readonly { readonly id: string; readonly strength: number }[];
}) => sql`
  insert into brain_relations (from_entity, to_entity, relation_type, strength, provenance, project_id)
  select ${q.from}::uuid, n.id, ${q.relation}::text, n.strength, 'predicted', ${q.projectId}::uuid
  from unnest(${uuidArray(q.to.map((each) => each.id))}, ${floatArray(q.to.map((each) => each.strength))}) as n(id, strength)
  on conflict on constraint uq_brain_relations_edge do nothing`;

/** Deletes the edges from one entity to another, of one type or of all, and of a bidirectional one its mirror too. */
export const deleteEdges = (q: { from: string; to: string; relation: string | undefined; scope: Scope }) => {
  const ofType = q.relation === undefined ? sql`true` : sql`r.relation_type = any(${textArray([q.relation])})`;
  return sql`
  delete from brain_relations as r
  where ${ofType} and ${inScope("r", q.scope)} and (
    (r.from_entity = ${q.from}::uuid and r.to_entity = ${q.to}::uuid)
    or (r.from_entity = ${q.to}::uuid and r.to_entity = ${q.from}::uuid and r.bidirectional and exists (
      select from brain_relations as m
      where m.from_entity = ${q.from}::uuid and m.to_entity = ${q.to}::uuid and m.relation_type = r.relation_type and m.bidirectional)))`;
};

/** Edges that a walk followed; a guess gains nothing by being looked at. */
export const strengthenWalked = (q: { ids: readonly string[]; scope: Scope }) => sql`
  update brain_relations as r set strength = least(1, r.strength + ${GAIN_BY_WALK}::float8), last_traversed = now()
  where r.id = any(${uuidArray(q.ids)}) and r.provenance <> 'predicted' and ${keyedInScope("r", q.scope)}`;
