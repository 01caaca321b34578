/** What stands around the rows of an answer: names, neighbours, the session's texts, the state of sync. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { float8, query, textArray, timestamp, uuid, uuidArray } from "../codecs.ts";
import { inScope } from "./predicates.ts";
import { type Filters, isVisible } from "./search-filters.ts";

/** Names and aliases of the entities in scope, with the entity they mean. */
export const entityNames = query(
  z.object({ id: uuid, name: z.string(), alias: z.boolean() }),
  (q: { filters: Pick<Filters, "scope" | "includeUnscoped"> }) => {
    const scoped = inScope("e", q.filters.scope, { includeUnscoped: q.filters.includeUnscoped });
    return sql`
  select e.id, e.name, false as alias from brain_entities as e where ${scoped}
  union all
  select e.id, a.alias_text, true from brain_entity_aliases as a join brain_entities as e on e.id = a.entity_id where ${scoped}
  order by name, id`;
  },
);

/** Observations of the entities that a question names, by importance. Plan: idx_obs_entity. */
export const observationsOfMentioned = query(
  z.object({ id: uuid, importance: float8, words: float8 }),
  (q: { entityIds: readonly string[]; text: string; limit: number; filters: Filters }) => sql`
  with w as materialized (select cuba_or_tsquery(${q.text}::text) as q)
  select x.id, x.importance, (ts_rank(x.search_vector, w.q) * 0.7 + x.importance * 0.3)::float8 as words
  from w cross join brain_observations as x
  where x.entity_id = any(${uuidArray(q.entityIds)}) and ${isVisible("observation", "x", q.filters)}
  order by words desc, x.created_at desc, x.id
  limit ${q.limit}::int`,
);

/** Up to `each` strongest neighbours of each named entity, both directions. */
export const neighboursOf = query(
  z.object({ entity: z.string(), name: z.string(), relation: z.string(), importance: float8 }),
  (q: { names: readonly string[]; each: number; filters: Pick<Filters, "scope" | "includeUnscoped"> }) => {
    const options = { includeUnscoped: q.filters.includeUnscoped };
    return sql`
  select n.entity, n.name, n.relation, n.importance
  from (
    select e.name as entity, w.at, o.name, r.relation_type as relation, o.importance, r.strength,
           row_number() over (partition by w.at order by r.strength desc, o.name, r.relation_type, r.id) as place
    from unnest(${textArray(q.names)}) with ordinality as w(name, at)
    join brain_entities as e on e.name = w.name and ${inScope("e", q.filters.scope, options)}
    cross join lateral (
      select r.id, r.to_entity as other, r.relation_type, r.strength from brain_relations as r
      where r.from_entity = e.id and ${inScope("r", q.filters.scope, options)}
      union all
      select r.id, r.from_entity, r.relation_type, r.strength from brain_relations as r
      where r.to_entity = e.id and not r.bidirectional and ${inScope("r", q.filters.scope, options)}
    ) as r
    join brain_entities as o on o.id = r.other and ${inScope("o", q.filters.scope, options)}
  ) as n
  where n.place <= ${q.each}::int
  order by n.at, n.place`;
  },
);

/** Goals and the newest notes of a session: what it is about. */
export const sessionTexts = query(
  z.object({ text: z.string() }),
  (q: { sessionId: string; notes: number }) => sql`
  select g.text from (
    select goal #>> '{}' as text from brain_sessions as s cross join lateral jsonb_array_elements(s.goals) with ordinality as g(goal, at)
    where s.id = ${q.sessionId}::uuid order by at
  ) as g where g.text is not null
  union all
  select w.content from (
    select content from brain_wm where session_id = ${q.sessionId}::uuid and expires_at > now() order by created_at desc, id limit ${q.notes}::int
  ) as w`,
);

/** Known peers and how fresh they are. */
export const peerStates = query(
  z.object({ name: z.string(), ageSeconds: float8.nullable(), failed: z.boolean(), syncedAt: timestamp.nullable() }),
  (_q: object) => sql`
  select p.name, extract(epoch from now() - p.last_synced_at)::float8 as "ageSeconds", coalesce(btrim(p.last_error), '') <> '' as failed,
         p.last_synced_at as "syncedAt"
  from brain_sync_peers as p order by p.name`,
);

/** The most important observations of each entity, entities in the order given. Plan: idx_obs_entity. */
export const importantOf = query(
  z.object({ entityId: uuid, id: uuid, importance: float8 }),
  (q: { entityIds: readonly string[]; each: number; filters: Filters }) => sql`
  select w.id as "entityId", o.id, o.importance
  from unnest(${uuidArray(q.entityIds)}) with ordinality as w(id, at)
  cross join lateral (
    select x.id, x.importance, x.created_at from brain_observations as x
    where x.entity_id = w.id and ${isVisible("observation", "x", q.filters)}
    order by x.importance desc, x.created_at desc, x.id
    limit ${q.each}::int
  ) as o
  order by w.at, o.importance desc, o.created_at desc, o.id`,
);

/** Entities in scope by exact name, in the order of the names. */
export const entitiesByName = query(
  z.object({ id: uuid, name: z.string() }),
  (q: { names: readonly string[]; filters: Pick<Filters, "scope" | "includeUnscoped"> }) => sql`
  select e.id, e.name from unnest(${textArray(q.names)}) with ordinality as w(name, at)
  join brain_entities as e on e.name = w.name
  where ${inScope("e", q.filters.scope, { includeUnscoped: q.filters.includeUnscoped })}
  order by w.at, e.id`,
);
