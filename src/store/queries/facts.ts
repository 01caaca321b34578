/** Bi-temporal facts as the mirror of observations. A fact is closed only through its own observation, never because it resembles another. */
import { sql } from "drizzle-orm";
import { uuidArray } from "../codecs.ts";

/** Appends a current fact for each of these observations that is trusted and live: subject entity, predicate type, object text. */
export const mirrorFacts = (observationIds: readonly string[]) => sql`
  insert into brain_facts (subject_entity_id, observation_id, project_id, subject, predicate, object, confidence)
  select o.entity_id, o.id, o.project_id, e.name, o.observation_type, o.content, o.importance
  from brain_observations as o
  join brain_entities as e on e.id = o.entity_id
  where o.id = any(${uuidArray(observationIds)}) and o.trust = 'trusted' and o.observation_type <> 'superseded'`;

/** The current facts of these observations hold no longer. With `successor` their fact is the one that came in their place. */
export const closeFacts = (q: { observationIds: readonly string[]; reason: string; successor: string | null }) => sql`
  update brain_facts as f
  set valid_to = greatest(now(), f.valid_from), supersede_reason = ${q.reason}::text,
      superseded_by = (
        select n.fact_id from brain_facts as n
        where n.observation_id = ${q.successor}::uuid and n.valid_to is null and n.fact_id <> f.fact_id
        order by n.created_at desc, n.fact_id limit 1)
  where f.observation_id = any(${uuidArray(q.observationIds)}) and f.valid_to is null`;

/** Closes the facts of a corrected observation and appends what it says now. */
export const replaceFacts = (q: { observationId: string; reason: string }) => sql`
  with fresh as (
    insert into brain_facts (subject_entity_id, observation_id, project_id, subject, predicate, object, confidence)
    select o.entity_id, o.id, o.project_id, e.name, o.observation_type, o.content, o.importance
    from brain_observations as o
    join brain_entities as e on e.id = o.entity_id
    where o.id = ${q.observationId}::uuid and o.trust = 'trusted' and o.observation_type <> 'superseded'
    returning fact_id, observation_id
  )
  update brain_facts as f
  set valid_to = greatest(now(), f.valid_from), supersede_reason = ${q.reason}::text, superseded_by = (select fact_id from fresh)
  where f.observation_id = ${q.observationId}::uuid and f.valid_to is null`;

/** Facts of an entity follow its new name. */
export const renameSubject = (q: { entityId: string; name: string }) => sql`
  update brain_facts set subject = ${q.name}::text where subject_entity_id = ${q.entityId}::uuid`;
