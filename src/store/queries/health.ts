/** Numbers about a scope and about the database. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { float8, int8, query } from "../codecs.ts";
import { inScope } from "./predicates.ts";

export const scopeCounts = query(
  z.object({ entities: int8, observations: int8, episodes: int8, relations: int8, errors: int8, sessions: int8 }),
  (q: { scope: Scope }) => sql`
  select (select count(*) from brain_entities as t where ${inScope("t", q.scope)}) as entities,
         (select count(*) from brain_observations as t where t.observation_type <> 'superseded' and ${inScope("t", q.scope)}) as observations,
         (select count(*) from brain_episodes as t where ${inScope("t", q.scope)}) as episodes,
         (select count(*) from brain_relations as t where ${inScope("t", q.scope)}) as relations,
         (select count(*) from brain_errors as t where ${inScope("t", q.scope)}) as errors,
         (select count(*) from brain_sessions as t where ${inScope("t", q.scope)}) as sessions`,
);

export const observationHealth = query(
  z.object({ averageImportance: float8.nullable(), stale: int8, withoutVector: int8 }),
  (q: { scope: Scope; staleDays: number }) => sql`
  select avg(o.importance)::float8 as "averageImportance",
         count(*) filter (where o.last_accessed < now() - ${q.staleDays}::int * interval '1 day') as stale,
         count(*) filter (where o.embedding is null) as "withoutVector"
  from brain_observations as o
  where o.observation_type <> 'superseded' and ${inScope("o", q.scope)}`,
);

export const kindCounts = query(
  z.object({ of: z.enum(["entity", "observation"]), type: z.string(), count: int8, unused: int8 }),
  (q: { scope: Scope }) => sql`
  select 'entity' as of, e.entity_type as type, count(*) as count, count(*) filter (where e.access_count = 0) as unused
  from brain_entities as e where ${inScope("e", q.scope)} group by e.entity_type
  union all
  select 'observation', o.observation_type, count(*), 0
  from brain_observations as o where o.observation_type <> 'superseded' and ${inScope("o", q.scope)} group by o.observation_type
  order by 1, 2`,
);

export const errorHealth = query(
  z.object({ all: int8, resolved: int8, minutes: float8.nullable() }),
  (q: { scope: Scope }) => sql`
  select count(*) as all, count(*) filter (where r.resolved) as resolved,
         (avg(extract(epoch from r.resolved_at - r.created_at)) / 60)::float8 as minutes
  from brain_errors as r where ${inScope("r", q.scope)}`,
);

/** Those that may fire in the scope: a reminder of no project fires in all of them. */
export const activeTriggers = query(
  z.object({ count: int8 }),
  (q: { scope: Scope }) => sql`
  select count(*) as count from brain_triggers as t
  where t.active and (t.expires_at is null or t.expires_at > now()) and ${inScope("t", q.scope, { includeUnscoped: true })}`,
);

/** Sizes of the database and of its largest tables, indexes included. */
export const databaseSize = query(
  z.object({ size: z.string() }),
  () => sql`select pg_size_pretty(pg_database_size(current_database())) as size`,
);

export const tableSizes = query(
  z.object({ table: z.string(), size: z.string() }),
  (q: { limit: number }) => sql`
  select c.relname::text as table, pg_size_pretty(pg_total_relation_size(c.oid)) as size
  from pg_class as c
  where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname like 'brain\\_%'
  order by pg_total_relation_size(c.oid) desc, c.relname
  limit ${q.limit}::int`,
);

/** Errors of the last week by type, and those of the month before it. */
export const errorTypes = query(
  z.object({ type: z.string(), recent: int8, before: int8 }),
  (q: { scope: Scope }) => sql`
  select r.error_type as type, count(*) filter (where r.created_at > now() - interval '7 days') as recent,
         count(*) filter (where r.created_at <= now() - interval '7 days') as before
  from brain_errors as r
  where r.created_at > now() - interval '37 days' and ${inScope("r", q.scope)}
  group by r.error_type
  order by 2 desc, 1`,
);

export const entityTypes = query(
  z.object({ type: z.string(), size: int8 }),
  (q: { scope: Scope }) => sql`
  select e.entity_type as type, count(*) as size from brain_entities as e where ${inScope("e", q.scope)} group by e.entity_type order by 2 desc, 1`,
);
