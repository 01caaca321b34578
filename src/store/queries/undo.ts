/**
 * One observation with everything that goes when it goes, and the way back. Rows travel as `jsonb`, so that a column that is added later
 * travels too; vectors and generated columns stay behind, they are computed again.
 */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { json, query, textArray, uuid, uuidArray } from "../codecs.ts";

const row = z.record(z.string(), z.unknown());

/** Observations, each with its entity, its project's name, its chunks in order, and the facts that mirror it. */
export const observationsWithParts = query(
  z.object({
    observation: row,
    entity: row,
    project: z.string().nullable(),
    chunks: z.array(z.string()),
    facts: z.array(row),
  }),
  (q: { readonly ids: readonly string[] }) => sql`
  select to_jsonb(o) - 'embedding' - 'embedding_model' - 'search_vector' - 'lexical_length' as observation,
         to_jsonb(e) - 'search_vector' - 'lexical_length' as entity,
         (select p.name from brain_projects as p where p.id = o.project_id) as project,
         coalesce((select jsonb_agg(c.content order by c.chunk_index) from brain_observation_chunks as c where c.observation_id = o.id), '[]') as chunks,
         coalesce((select jsonb_agg(to_jsonb(f) - 'is_current' order by f.fact_id) from brain_facts as f where f.observation_id = o.id), '[]') as facts
  from brain_observations as o
  join brain_entities as e on e.id = o.entity_id
  where o.id = any(${uuidArray(q.ids)})
  order by o.id`,
);

/** Deletes one observation, if it still is what was seen. The triggers leave the tombstones. */
export const deleteSeenObservation = query(
  z.object({ id: uuid }),
  (q: { readonly id: string; readonly version: number }) => sql`
  delete from brain_observations where id = ${q.id}::uuid and version = ${q.version}::int returning id`,
);

export const observationExists = query(
  z.object({ found: z.boolean() }),
  (q: { readonly id: string }) => sql`select exists (select from brain_observations where id = ${q.id}::uuid) as found`,
);

/** Whether a bundle has been written since the observation was deleted: then peers may hold its tombstone, which wins over the row. */
export const leftSinceDeletion = query(
  z.object({ left: z.boolean() }),
  (q: { readonly id: string }) => sql`
  select exists (
    select from brain_tombstones as t join brain_sync_exports as s on s.exported_at >= t.deleted_at
    where t.table_name = 'brain_observations' and t.row_id = ${q.id}::uuid) as left`,
);

/** The entity to put an observation back under: its own, or the one that has its name today. */
export const entityFor = query(
  z.object({ id: uuid }),
  (q: { readonly entity: unknown }) => sql`
  select e.id from brain_entities as e, jsonb_populate_record(null::brain_entities, ${json(q.entity)}) as was
  where e.id = was.id or (e.name = was.name and e.project_id is not distinct from was.project_id)
  order by e.id <> was.id, e.id limit 1`,
);

export const projectExists = query(
  z.object({ found: z.boolean() }),
  (q: { readonly id: string }) => sql`select exists (select from brain_projects where id = ${q.id}::uuid) as found`,
);

export const insertEntity = (entity: unknown) => sql`
  insert into brain_entities (id, name, name_key, entity_type, importance, access_count, bcm_theta, last_boosted_at, project_id, created_at, updated_at, lexical)
  select id, name, name_key, entity_type, importance, access_count, bcm_theta, last_boosted_at, project_id, created_at, updated_at, lexical
  from jsonb_populate_record(null::brain_entities, ${json(entity)})`;

/** @param observation the row as it was; what it points to may be gone, and is left out then */
export const insertObservation = (observation: unknown) => sql`
  insert into brain_observations (id, entity_id, content, observation_type, superseded_from, superseded_at, superseded_by, importance, access_count,
    last_accessed, last_decayed_at, source, trust, evidence, verification, verified_at, tags, version, previous_versions, origin_node, session_id,
    project_id, extracted_at, extraction_attempts, created_at, updated_at, lexical)
  select id, entity_id, content, observation_type, superseded_from, superseded_at,
    (select o.id from brain_observations as o where o.id = was.superseded_by), importance, access_count,
    last_accessed, last_decayed_at, source, trust, evidence, verification, verified_at, tags, version, previous_versions, origin_node,
    (select s.id from brain_sessions as s where s.id = was.session_id),
    project_id, extracted_at, extraction_attempts, created_at, updated_at, lexical
  from jsonb_populate_record(null::brain_observations, ${json(observation)}) as was`;

export const insertChunks = (q: {
  readonly observationId: string;
  readonly projectId: string | null;
  readonly contents: readonly string[];
}) => sql`
  insert into brain_observation_chunks (observation_id, chunk_index, content, project_id)
  select ${q.observationId}::uuid, at - 1, content, ${q.projectId}::uuid from unnest(${textArray(q.contents)}) with ordinality as c(content, at)`;

export const insertFacts = (facts: readonly unknown[]) => sql`
  insert into brain_facts (fact_id, subject_entity_id, observation_id, project_id, subject, predicate, object, layer, confidence, valid_from, valid_to,
    observed_at, superseded_by, supersede_reason, created_at, closed_at)
  select fact_id, subject_entity_id, observation_id, project_id, subject, predicate, object, layer, confidence, valid_from, valid_to,
    observed_at, (select f.fact_id from brain_facts as f where f.fact_id = was.superseded_by), supersede_reason, created_at, closed_at
  from jsonb_populate_recordset(null::brain_facts, ${json(facts)}) as was`;

/** Forgets that rows were deleted: they are back under their own ids. */
export const clearTombstones = (q: {
  readonly observationId: string;
  readonly factIds: readonly string[];
  readonly entityId: string;
}) => sql`
  delete from brain_tombstones
  where (table_name = 'brain_observations' and row_id = ${q.observationId}::uuid)
     or (table_name = 'brain_entities' and row_id = ${q.entityId}::uuid)
     or (table_name = 'brain_facts' and row_id::text = any(${textArray(q.factIds)}))`;
