/** Observations and episodes of one entity, as lists. Retired rows never, withheld rows only as a number. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { query, timestamp, uuid } from "../codecs.ts";
import { inScope } from "./predicates.ts";

export interface EntityPage {
  readonly entityId: string;
  readonly scope: Scope;
  readonly limit: number;
  readonly offset: number;
}

const Listed = z.object({
  id: uuid,
  content: z.string(),
  type: z.string(),
  importance: z.number(),
  source: z.string(),
  accessCount: z.int(),
  createdAt: timestamp,
  tags: z.array(z.string()),
  evidence: z.string(),
});
export type ListedObservation = z.output<typeof Listed>;

/** Trusted live observations, most important first, then newest. */
export const observationsOf = query(
  Listed,
  (q: EntityPage) => sql`
  select o.id, o.content, o.observation_type as type, o.importance, o.source, o.access_count as "accessCount",
         o.created_at as "createdAt", o.tags, o.evidence
  from brain_observations as o
  where o.entity_id = ${q.entityId}::uuid and ${inScope("o", q.scope)} and o.observation_type <> 'superseded' and o.trust = 'trusted'
  order by o.importance desc, o.created_at desc, o.id
  limit ${q.limit}::int offset ${q.offset}::int`,
);

const Counts = z.object({ total: z.int(), hidden: z.int() });

/** Live observations of an entity: those that are shown, and those that are withheld. */
export const observationCounts = query(
  Counts,
  (q: { entityId: string; scope: Scope }) => sql`
  select count(*) filter (where o.trust = 'trusted')::int as total, count(*) filter (where o.trust <> 'trusted')::int as hidden
  from brain_observations as o
  where o.entity_id = ${q.entityId}::uuid and ${inScope("o", q.scope)} and o.observation_type <> 'superseded'`,
);

/** Trusted episodes, newest first by when they began. */
export const episodesOf = query(
  z.object({
    id: uuid,
    content: z.string(),
    actors: z.array(z.string()),
    artifacts: z.array(z.string()),
    importance: z.number(),
    startedAt: timestamp,
    endedAt: timestamp.nullable(),
  }),
  (q: EntityPage) => sql`
  select p.id, p.content, p.actors, p.artifacts, p.importance, p.started_at as "startedAt", p.ended_at as "endedAt"
  from brain_episodes as p
  where p.entity_id = ${q.entityId}::uuid and ${inScope("p", q.scope)} and p.trust = 'trusted'
  order by p.started_at desc, p.created_at desc, p.id
  limit ${q.limit}::int offset ${q.offset}::int`,
);

export const episodeCounts = query(
  Counts,
  (q: { entityId: string; scope: Scope }) => sql`
  select count(*) filter (where p.trust = 'trusted')::int as total, count(*) filter (where p.trust <> 'trusted')::int as hidden
  from brain_episodes as p
  where p.entity_id = ${q.entityId}::uuid and ${inScope("p", q.scope)}`,
);

const Moment = z.object({
  kind: z.enum(["observation", "episode"]),
  id: uuid,
  content: z.string(),
  importance: z.number(),
  at: timestamp,
  observationType: z.string().nullable(),
  version: z.int().nullable(),
  previousVersions: z.array(z.unknown()).nullable(),
  actors: z.array(z.string()).nullable(),
  artifacts: z.array(z.string()).nullable(),
});
export type Moment = z.output<typeof Moment>;

/** Observations by when they were written and episodes by when they began, newest first, by instant. */
export const momentsOf = query(
  Moment,
  (q: EntityPage) => sql`
  select t.kind, t.id, t.content, t.importance, t.at, t."observationType", t.version, t."previousVersions", t.actors, t.artifacts
  from (
    (select 'observation' as kind, o.id, o.content, o.importance, o.created_at as at, o.observation_type as "observationType", o.version,
            case when o.version > 1 then o.previous_versions end as "previousVersions", null::text[] as actors, null::text[] as artifacts
     from brain_observations as o
     where o.entity_id = ${q.entityId}::uuid and ${inScope("o", q.scope)} and o.observation_type <> 'superseded' and o.trust = 'trusted'
     order by o.created_at desc, o.id
     limit ${q.limit + q.offset}::int)
    union all
    (select 'episode', p.id, p.content, p.importance, p.started_at, null, null, null, p.actors, p.artifacts
     from brain_episodes as p
     where p.entity_id = ${q.entityId}::uuid and ${inScope("p", q.scope)} and p.trust = 'trusted'
     order by p.started_at desc, p.id
     limit ${q.limit + q.offset}::int)
  ) as t
  order by t.at desc, t.id
  limit ${q.limit}::int offset ${q.offset}::int`,
);
