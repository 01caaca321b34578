/** Reading strengthens: the entity, its neighbours, the rows that were shown (`tools-graph.md` §3.16). None of it moves a clock. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { floatArray, query, uuid, uuidArray } from "../codecs.ts";
import { keyedInScope } from "./predicates.ts";

/** Values of an entity before its boost, locked until they are written back. */
export const strengthOf = query(
  z.object({ importance: z.number(), accessCount: z.int(), theta: z.number(), secondsSinceBoost: z.number() }),
  (q: { id: string; scope: Scope }) => sql`
  select e.importance, e.access_count as "accessCount", e.bcm_theta as theta,
         extract(epoch from now() - e.last_boosted_at)::float8 as "secondsSinceBoost"
  from brain_entities as e
  where e.id = ${q.id}::uuid and ${keyedInScope("e", q.scope)}
  for no key update`,
);

export const saveStrength = (q: { id: string; importance: number; accessCount: number; theta: number }) => sql`
  update brain_entities
  set importance = ${q.importance}::float8, access_count = ${q.accessCount}::int, bcm_theta = ${q.theta}::float8, last_boosted_at = now()
  where id = ${q.id}::uuid`;

/** Most neighbours that a read reaches: a hub is read too. */
const NEIGHBOURS = 200;

/** Entities linked in either direction with the strongest of their links, the strongest first; locked in one order, so that two reads do not wait for each other. */
export const neighboursOf = query(
  z.object({ id: uuid, importance: z.number(), strongest: z.number() }),
  (q: { id: string; scope: Scope }) => sql`
  with linked as (
    select l.id, max(l.strength) as strongest
    from (
      select r.to_entity as id, r.strength from brain_relations as r where r.from_entity = ${q.id}::uuid and ${keyedInScope("r", q.scope)}
      union all
      select r.from_entity, r.strength from brain_relations as r where r.to_entity = ${q.id}::uuid and ${keyedInScope("r", q.scope)}
    ) as l
    group by l.id
    order by 2 desc, l.id
    limit ${NEIGHBOURS}::int
  )
  select e.id, e.importance, linked.strongest
  from linked join brain_entities as e on e.id = linked.id
  where ${keyedInScope("e", q.scope)}
  order by e.id
  for no key update of e`,
);

export const saveImportances = (rows: readonly { readonly id: string; readonly importance: number }[]) => sql`
  update brain_entities as e set importance = n.importance, last_boosted_at = now()
  from unnest(${uuidArray(rows.map((row) => row.id))}, ${floatArray(rows.map((row) => row.importance))}) as n(id, importance)
  where e.id = n.id`;

/** Observations that were shown: access slows their decay. */
export const markAccessed = (q: { ids: readonly string[]; scope: Scope }) => sql`
  update brain_observations as o set last_accessed = now(), access_count = o.access_count + 1
  where o.id = any(${uuidArray(q.ids)}) and ${keyedInScope("o", q.scope)}`;
