/** What `export` and `skills` write to files: only what search may serve, within the caller's scope. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { int8, query, timestamp, uuid, uuidArray } from "../codecs.ts";
import { isVouchedFor } from "./entities.ts";
import { inScope, isServed, keyedInScope } from "./predicates.ts";

const Entity = z.object({
  id: uuid,
  name: z.string(),
  type: z.string(),
  importance: z.number(),
  accesses: z.number(),
  community: z.string().nullable(),
  observations: int8,
});
export type VaultEntity = z.output<typeof Entity>;

/** Entities by id. Plan: the primary key, so that each page costs its own rows. */
export const vaultEntities = query(
  Entity,
  (q: { scope: Scope; after: string; limit: number }) => sql`
  select e.id, e.name, e.entity_type as type, e.importance, e.access_count as accesses,
    (select c.community_name from brain_node_metrics as m join brain_communities as c on c.community_id = m.community_id where m.node_id = e.id) as community,
    (select count(*) from brain_observations as o where o.entity_id = e.id and ${isServed("o")}) as observations
  from brain_entities as e
  where e.id > ${q.after}::uuid and ${inScope("e", q.scope)} and ${isVouchedFor("e")}
  order by e.id
  limit ${q.limit}::int`,
);

const Relation = z.object({ from: uuid, to: uuid, type: z.string(), strength: z.number() });
export type VaultRelation = z.output<typeof Relation>;

/** Relations that start at these entities; both ends in scope. */
export const vaultRelations = query(
  Relation,
  (q: { ids: readonly string[]; scope: Scope }) => sql`
  select r.from_entity as from, r.to_entity as to, r.relation_type as type, r.strength
  from brain_relations as r
  where r.from_entity = any(${uuidArray(q.ids)}) and ${inScope("r", q.scope)}
  order by r.from_entity, r.relation_type, r.to_entity, r.id`,
);

const Observation = z.object({
  entity: uuid,
  id: uuid,
  type: z.string(),
  content: z.string(),
  importance: z.number(),
  createdAt: timestamp,
});
export type VaultObservation = z.output<typeof Observation>;

const observation = sql`o.entity_id as entity, o.id, o.observation_type as type, o.content, o.importance, o.created_at as "createdAt"`;

/** What else is known of the entity of a row, behind that row: the newest first. Plan: idx_obs_entity from where the row stands. */
export const vaultObservationsBehind = query(
  Observation,
  (q: { entity: string; createdAt: string; id: string; scope: Scope; limit: number }) => sql`
  select ${observation} from brain_observations as o
  where o.entity_id = ${q.entity}::uuid and o.created_at <= ${q.createdAt}::timestamptz
    and (o.created_at < ${q.createdAt}::timestamptz or o.id > ${q.id}::uuid) and ${isServed("o")} and ${keyedInScope("o", q.scope)}
  order by o.entity_id, o.created_at desc, o.id
  limit ${q.limit}::int`,
);

/** What is known of the entities behind one, entity by entity, the newest first. Plan: idx_obs_entity. */
export const vaultObservations = query(
  Observation,
  (q: { afterEntity: string; scope: Scope; limit: number }) => sql`
  select ${observation} from brain_observations as o
  where o.entity_id > ${q.afterEntity}::uuid and ${isServed("o")} and ${keyedInScope("o", q.scope)}
  order by o.entity_id, o.created_at desc, o.id
  limit ${q.limit}::int`,
);
