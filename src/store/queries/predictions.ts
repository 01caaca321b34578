/** The log of verifications and what became of them, and how far each source can be believed. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { float8, int8, query, timestamp, uuid, uuidArray } from "../codecs.ts";
import { inScope } from "./predicates.ts";

/** Outcomes of each level. Plan: one scan of the log of a scope; a verification is written by a person's or an agent's question, thousands a year. */
export const outcomesByLevel = query(
  z.object({ level: z.string(), correct: int8, incorrect: int8, pending: int8, unknown: int8 }),
  (q: { scope: Scope }) => sql`
  select v.grounding_level as level,
    count(*) filter (where v.outcome = 'correct') as correct, count(*) filter (where v.outcome = 'incorrect') as incorrect,
    count(*) filter (where v.outcome = 'pending') as pending, count(*) filter (where v.outcome = 'unknown') as unknown
  from brain_verify_log as v
  where ${inScope("v", q.scope)}
  group by v.grounding_level
  order by v.grounding_level`,
);

export const predictions = query(
  z.object({
    id: uuid,
    claim: z.string(),
    entityName: z.string().nullable(),
    confidence: float8,
    level: z.string(),
    outcome: z.string(),
    createdAt: timestamp,
    total: int8,
  }),
  (q: { scope: Scope; limit: number; offset: number }) => sql`
  select v.id, v.claim, v.entity_name as "entityName", v.confidence, v.grounding_level as level, v.outcome, v.created_at as "createdAt",
    count(*) over () as total
  from brain_verify_log as v
  where ${inScope("v", q.scope)}
  order by v.created_at desc, v.id
  limit ${q.limit}::int offset ${q.offset}::int`,
);

/** Every prediction whose outcome is known, of the levels that predict something. */
export const resolvedOutcomes = query(
  z.object({ confidence: float8, level: z.string(), isCorrect: z.boolean() }),
  (q: { scope: Scope }) => sql`
  select v.confidence, v.grounding_level as level, v.outcome = 'correct' as "isCorrect"
  from brain_verify_log as v
  where ${inScope("v", q.scope)} and v.outcome in ('correct', 'incorrect')
  order by v.created_at, v.id`,
);

/** Closes a pending prediction. @returns nothing where it is unknown, of another project or closed already. */
export const closePrediction = query(
  z.object({ entityName: z.string().nullable(), evidenceIds: z.array(uuid) }),
  (q: { id: string; outcome: "correct" | "incorrect"; scope: Scope }) => sql`
  update brain_verify_log as v set outcome = ${q.outcome}::text, resolved_at = now()
  where v.id = ${q.id}::uuid and v.outcome = 'pending' and ${inScope("v", q.scope)}
  returning v.entity_name as "entityName", v.evidence_ids as "evidenceIds"`,
);

/** One more right or wrong outcome for each source of these observations; a source that is not on record yet starts at 1 and 1. */
export const creditSources = query(
  z.object({ source: z.string() }),
  (q: { ids: readonly string[]; isCorrect: boolean }) => sql`
  insert into brain_source_trust as t (source, alpha, beta)
  select distinct o.source, 1 + ${q.isCorrect ? 1 : 0}::int, 1 + ${q.isCorrect ? 0 : 1}::int
  from brain_observations as o
  where o.id = any(${uuidArray(q.ids)})
  order by o.source
  on conflict (source) do update set
    alpha = t.alpha + ${q.isCorrect ? 1 : 0}::int, beta = t.beta + ${q.isCorrect ? 0 : 1}::int, updated_at = now()
  returning t.source`,
);

export const sourceTrust = query(
  z.object({ source: z.string(), alpha: float8, beta: float8, updatedAt: timestamp }),
  () => sql`
  select t.source, t.alpha, t.beta, t.updated_at as "updatedAt"
  from brain_source_trust as t
  order by t.alpha / (t.alpha + t.beta) desc, t.source`,
);
