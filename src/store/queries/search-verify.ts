/** Evidence for one claim, and the record of having been asked. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { float8, int8, query, textArray, uuid, uuidArray } from "../codecs.ts";
import { type Filters, isVisible } from "./search-filters.ts";

/** Trigram similarity of observations with a claim, of those that its words found. Plan: primary keys. */
export const similarTo = query(
  z.object({ id: uuid, similarity: float8 }),
  (q: { ids: readonly string[]; claim: string; least: number; limit: number; filters: Filters }) => sql`
  select s.id, s.similarity
  from (
    select x.id, similarity(x.content, ${q.claim}::text)::float8 as similarity from brain_observations as x
    where x.id = any(${uuidArray(q.ids)}) and ${isVisible("observation", "x", q.filters)}
  ) as s
  where s.similarity > ${q.least}::float8
  order by s.similarity desc, s.id
  limit ${q.limit}::int`,
);

export const evidenceRows = query(
  z.object({ id: uuid, content: z.string(), type: z.string(), entity: z.string() }),
  (q: { ids: readonly string[]; filters: Filters }) => sql`
  select x.id, x.content, x.observation_type as type, e.name as entity
  from brain_observations as x join brain_entities as e on e.id = x.entity_id
  where x.id = any(${uuidArray(q.ids)}) and ${isVisible("observation", "x", q.filters)}`,
);

/**
 * Those of the rows that were read which stand as they were. `lock` keeps their entities and them so until the transaction ends: whoever forgets an entity
 * holds it from the beginning, before looking for what speaks of it. Of each row the entity first, as there: held the other way round, the two would wait for
 * each other.
 */
export const keptEvidence = query(
  z.object({ id: uuid }),
  (q: { ids: readonly string[]; contents: readonly string[]; filters: Filters; lock: boolean }) => sql`
  select x.id
  from brain_observations as x
  join unnest(${uuidArray(q.ids)}, ${textArray(q.contents)}) as seen(id, content) on seen.id = x.id and seen.content = x.content
  join brain_entities as e on e.id = x.entity_id
  where ${isVisible("observation", "x", q.filters)}
  order by x.id
  ${q.lock ? sql`for share of e, x` : sql``}`,
);

/** Resolved predictions of one level, in scope. */
export const resolvedPredictions = query(
  z.object({ correct: int8, incorrect: int8 }),
  (q: { level: string; projectId: string | null }) => sql`
  select count(*) filter (where v.outcome = 'correct') as correct, count(*) filter (where v.outcome = 'incorrect') as incorrect
  from brain_verify_log as v
  where v.grounding_level = ${q.level}::text and v.outcome in ('correct', 'incorrect')
    and (${q.projectId}::uuid is null or v.project_id = ${q.projectId}::uuid)`,
);

export const insertPrediction = (q: {
  readonly id: string;
  readonly claim: string;
  readonly entity: string | null;
  readonly confidence: number;
  readonly level: string;
  readonly evidenceIds: readonly string[];
  readonly projectId: string | null;
}) => sql`
  insert into brain_verify_log (id, claim, entity_name, confidence, grounding_level, evidence_ids, project_id)
  values (${q.id}::uuid, ${q.claim}::text, ${q.entity}::text, ${q.confidence}::float8, ${q.level}::text, ${uuidArray(q.evidenceIds)}, ${q.projectId}::uuid)`;
