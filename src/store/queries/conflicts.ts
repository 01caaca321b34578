/** Pairs of memories about one subject, and what a judge once said of them. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { float8, int8, query, timestamp, uuid, uuidArray } from "../codecs.ts";
import { inScope, isServed } from "./predicates.ts";

/** Observations that may be compared: served ones that say something of the subject. `tool_usage` is a record of use, not a statement. */
const isComparable = sql`${isServed("o")} and o.observation_type <> 'tool_usage'`;

/** Vectors are single precision: a cosine of 0.6 comes back as 0.6000000238. */
const ROUNDING = 1e-6;

const Pair = z.object({
  entityId: uuid,
  a: uuid,
  aContent: z.string(),
  aCreatedAt: timestamp,
  aVersion: z.int(),
  b: uuid,
  bContent: z.string(),
  bCreatedAt: timestamp,
  bVersion: z.int(),
  cosine: float8,
  verdict: z.string().nullable(),
  confidence: float8.nullable(),
  reason: z.string().nullable(),
  backend: z.string().nullable(),
  model: z.string().nullable(),
});
export type ObservationPair = z.output<typeof Pair>;

/**
 * Pairs of one entity whose cosine lies in [low, high], nearest to `near` first. Vectors of another model mean nothing beside each other.
 * Plan: the newest `newest` observations of each entity by idx_obs_entity, every pair of them compared: 500 are 125,000 distances, some 0.1 s.
 */
export const observationPairs = query(
  Pair,
  (q: {
    entityIds: readonly string[];
    label: string;
    scope: Scope;
    low: number;
    high: number;
    /** Cosine that interests most. */
    near: number;
    newest: number;
    limit: number;
  }) => sql`
  with usable as (
    select o.id, o.entity_id, o.content, o.created_at, o.version, o.embedding,
      row_number() over (partition by o.entity_id order by o.created_at desc, o.id) as place
    from brain_observations as o
    where o.entity_id = any(${uuidArray(q.entityIds)}) and ${inScope("o", q.scope)} and ${isComparable} and o.embedding_model = ${q.label}::text
  ), compared as (
    select x.entity_id, x.id as a, x.content as a_content, x.created_at as a_created, x.version as a_version,
      y.id as b, y.content as b_content, y.created_at as b_created, y.version as b_version, 1 - (x.embedding <=> y.embedding) as cosine
    from usable as x join usable as y on y.entity_id = x.entity_id and x.id < y.id
    where x.place <= ${q.newest}::int and y.place <= ${q.newest}::int
  )
  select c.entity_id as "entityId", c.a, c.a_content as "aContent", c.a_created as "aCreatedAt", c.a_version as "aVersion",
    c.b, c.b_content as "bContent", c.b_created as "bCreatedAt", c.b_version as "bVersion", c.cosine::float8 as cosine,
    j.verdict, j.confidence, j.reason, j.judge_backend as backend, j.judge_model as model
  from compared as c left join brain_judgments as j on j.observation_a = c.a and j.observation_b = c.b
  where c.cosine between ${q.low - ROUNDING}::float8 and ${q.high + ROUNDING}::float8
  order by abs(c.cosine - ${q.near}::float8), c.a, c.b
  limit ${q.limit}::int`,
);

/** How many observations of an entity can be compared, and how many have a vector of this model. */
export const comparableCount = query(
  z.object({ total: int8, withVector: int8 }),
  (q: { entityIds: readonly string[]; label: string; scope: Scope }) => sql`
  select count(*) as total, count(*) filter (where o.embedding_model = ${q.label}::text) as "withVector"
  from brain_observations as o
  where o.entity_id = any(${uuidArray(q.entityIds)}) and ${inScope("o", q.scope)} and ${isComparable}`,
);

/** The entities with most observations that can be compared, two at least. Plan: one scan of the scope's observations. */
export const mostComparable = query(
  z.object({ id: uuid, name: z.string() }),
  (q: { label: string; scope: Scope; limit: number }) => sql`
  select e.id, e.name
  from brain_observations as o join brain_entities as e on e.id = o.entity_id
  where ${inScope("o", q.scope)} and ${isComparable} and o.embedding_model = ${q.label}::text
  group by e.id, e.name
  having count(*) >= 2
  order by count(*) desc, e.id
  limit ${q.limit}::int`,
);

/** Observations to be judged against each other, in scope and trusted. */
export const observationsToJudge = query(
  z.object({ id: uuid, content: z.string(), createdAt: timestamp, version: z.int() }),
  (q: { ids: readonly string[]; scope: Scope }) => sql`
  select o.id, o.content, o.created_at as "createdAt", o.version
  from brain_observations as o
  where o.id = any(${uuidArray(q.ids)}) and ${inScope("o", q.scope)} and o.trust = 'trusted'
  order by o.id`,
);

export const storedJudgment = query(
  z.object({ verdict: z.string(), confidence: float8, reason: z.string().nullable(), backend: z.string(), model: z.string().nullable() }),
  (q: { a: string; b: string }) => sql`
  select j.verdict, j.confidence, j.reason, j.judge_backend as backend, j.judge_model as model
  from brain_judgments as j
  where j.observation_a = ${q.a}::uuid and j.observation_b = ${q.b}::uuid`,
);

/** Stores a verdict only if both texts are still those that were judged, and keeps them so until the transaction ends. */
export const storeJudgment = (q: {
  readonly a: string;
  readonly aVersion: number;
  readonly b: string;
  readonly bVersion: number;
  readonly verdict: string;
  readonly confidence: number;
  readonly reason: string | null;
  readonly backend: string;
  readonly model: string | null;
}) => sql`
  insert into brain_judgments (observation_a, observation_b, verdict, confidence, reason, judge_backend, judge_model)
  select x.id, y.id, ${q.verdict}::text, ${q.confidence}::float8, ${q.reason}::text, ${q.backend}::text, ${q.model}::text
  from brain_observations as x, brain_observations as y
  where x.id = ${q.a}::uuid and x.version = ${q.aVersion}::int and y.id = ${q.b}::uuid and y.version = ${q.bVersion}::int
  for share of x, y
  on conflict (observation_a, observation_b) do update set
    verdict = excluded.verdict, confidence = excluded.confidence, reason = excluded.reason,
    judge_backend = excluded.judge_backend, judge_model = excluded.judge_model, judged_at = now()`;
