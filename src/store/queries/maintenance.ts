/** Maintenance of a scope: what may be pruned and pruning it, retiring what a summary replaces, counts, and the most important entities. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { int8, intArray, query, uuid, uuidArray } from "../codecs.ts";
import { isVouchedFor } from "./entities.ts";
import { inScope } from "./predicates.ts";

/**
 * Observations below a threshold that may go: no decision, no lesson, nothing that was retired from one of them or from nobody knows what, and
 * nothing that waits for review.
 */
const isPrunable = (alias: string, threshold: number): SQL => {
  const o = sql.raw(alias);
  return sql`${o}.importance < ${threshold}::float8 and ${o}.trust = 'trusted'
    and case when ${o}.observation_type = 'superseded' then coalesce(${o}.superseded_from, 'decision') else ${o}.observation_type end
        not in ('decision', 'lesson')`;
};

export const prunableCounts = query(
  z.object({ project: z.string().nullable(), observationType: z.string(), count: int8 }),
  (q: { threshold: number; scope: Scope }) => sql`
  select p.name as project, o.observation_type as "observationType", count(*) as count
  from brain_observations as o
  left join brain_projects as p on p.id = o.project_id
  where ${inScope("o", q.scope)} and ${isPrunable("o", q.threshold)}
  group by p.id, p.name, o.observation_type
  order by count(*) desc, p.name, p.id, o.observation_type`,
);

export interface Seen {
  readonly id: string;
  readonly version: number;
}

/** The least important of them. */
export const prunable = query(
  z.object({ id: uuid, version: z.int() }),
  (q: { threshold: number; scope: Scope; limit: number }) => sql`
  select o.id, o.version
  from brain_observations as o
  where ${inScope("o", q.scope)} and ${isPrunable("o", q.threshold)}
  order by o.importance, o.id
  limit ${q.limit}::int`,
);

/** Deletes those that are still what was seen, and still below the threshold. The triggers leave the tombstones. */
export const pruneSeen = query(
  z.object({ project: z.string().nullable(), observationType: z.string() }),
  (q: { seen: readonly Seen[]; threshold: number; scope: Scope }) => sql`
  with gone as (
    delete from brain_observations as o
    using unnest(${uuidArray(q.seen.map((row) => row.id))}, ${intArray(q.seen.map((row) => row.version))}) as n(id, version)
    where o.id = n.id and o.version = n.version and ${inScope("o", q.scope)} and ${isPrunable("o", q.threshold)}
    returning o.id, o.project_id, o.observation_type
  )
  select p.name as project, gone.observation_type as "observationType"
  from gone left join brain_projects as p on p.id = gone.project_id
  order by gone.id`,
);

/** Live rows of an entity that a summary may stand for, and how many stay because of their type or because nobody reviewed them. */
export const summarizable = query(
  z.object({ id: uuid, isProtected: z.boolean(), isWithheld: z.boolean() }),
  (q: { entityId: string; scope: Scope; except: string }) => sql`
  select o.id, o.observation_type in ('decision', 'lesson') as "isProtected", o.trust <> 'trusted' as "isWithheld"
  from brain_observations as o
  where o.entity_id = ${q.entityId}::uuid and o.id <> ${q.except}::uuid and o.observation_type <> 'superseded' and ${inScope("o", q.scope)}
  order by o.id
  for no key update`,
);

/** Retires rows in favour of one that says the same in fewer words. */
export const retireAll = (q: { ids: readonly string[]; successor: string }) => sql`
  update brain_observations as o set observation_type = 'superseded', superseded_by = ${q.successor}::uuid
  where o.id = any(${uuidArray(q.ids)}) and o.observation_type <> 'superseded'`;

export const maintenanceCounts = query(
  z.object({ entities: int8, observations: int8, superseded: int8 }),
  (q: { scope: Scope }) => sql`
  select (select count(*) from brain_entities as e where ${inScope("e", q.scope)}) as entities,
         count(*) as observations, count(*) filter (where o.observation_type = 'superseded') as superseded
  from brain_observations as o
  where ${inScope("o", q.scope)}`,
);

/** Without those that only withheld text speaks of: their names were written by whoever wrote that text. */
export const topEntities = query(
  z.object({ id: uuid, name: z.string(), type: z.string(), importance: z.number() }),
  (q: { scope: Scope; limit: number; offset: number }) => sql`
  select e.id, e.name, e.entity_type as type, e.importance
  from brain_entities as e
  where ${inScope("e", q.scope)} and ${isVouchedFor("e")}
  order by e.importance desc, e.name, e.id
  limit ${q.limit}::int offset ${q.offset}::int`,
);

export const topEntityCount = query(
  z.object({ count: int8 }),
  (q: { scope: Scope }) => sql`select count(*) as count from brain_entities as e where ${inScope("e", q.scope)} and ${isVouchedFor("e")}`,
);
