/** What a measurement asks of the memory, and how an empty one is filled with a corpus. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { floatArray, int8, json, query, textArray, timestampArray, uuid, uuidArray } from "../codecs.ts";

/** Which of these ids are rows of any kind that search answers with. */
export const existingIds = query(
  z.object({ id: uuid }),
  (q: { ids: readonly string[] }) => sql`
  select w.id from unnest(${uuidArray(q.ids)}) as w(id)
  where exists (select from brain_observations as x where x.id = w.id)
     or exists (select from brain_entities as x where x.id = w.id)
     or exists (select from brain_episodes as x where x.id = w.id)
     or exists (select from brain_errors as x where x.id = w.id)`,
);

/** How many of these names are entities, by exact name or alias. */
export const presentNames = query(
  z.object({ name: z.string() }),
  (q: { names: readonly string[] }) => sql`
  select w.name from unnest(${textArray(q.names)}) as w(name)
  where exists (select from brain_entities as e where e.name = w.name)
     or exists (select from brain_entity_aliases as a where a.alias_text = w.name)`,
);

/** Rows of each kind that search may answer with. */
export const servedRows = query(
  z.object({ kind: z.int(), rows: int8 }),
  (_q: object) => sql`
  select t.kind, sum(t.row_count)::bigint as rows from brain_posting_totals as t group by t.kind order by t.kind`,
);

/** A row of the scope, whatever it is; the memory is empty where there is none. */
export const anyRow = query(
  z.object({ found: z.literal(1) }),
  (q: { projectId: string | null }) => sql`
  (select 1 as found from brain_observations as o where o.project_id is not distinct from ${q.projectId}::uuid limit 1)
  union all (select 1 from brain_entities as e where e.project_id is not distinct from ${q.projectId}::uuid limit 1)
  union all (select 1 from brain_episodes as e where e.project_id is not distinct from ${q.projectId}::uuid limit 1)
  union all (select 1 from brain_errors as e where e.project_id is not distinct from ${q.projectId}::uuid limit 1)
  limit 1`,
);

/** Entities of a corpus. */
export const insertCorpusEntities = (q: {
  readonly ids: readonly string[];
  readonly names: readonly string[];
  readonly keys: readonly string[];
  readonly types: readonly string[];
  readonly lexical: readonly string[];
  readonly projectId: string | null;
}) => sql`
  insert into brain_entities (id, name, name_key, entity_type, lexical, project_id)
  select n.id, n.name, n.key, n.type, n.lexical, ${q.projectId}::uuid
  from unnest(${uuidArray(q.ids)}, ${textArray(q.names)}, ${textArray(q.keys)}, ${textArray(q.types)}, ${textArray(q.lexical)})
    as n(id, name, key, type, lexical)`;

/** Observations of a corpus, with the ids they come with. The columns are those that `insertObservations` writes. */
export const insertCorpusObservations = (q: {
  readonly ids: readonly string[];
  readonly entityIds: readonly string[];
  readonly contents: readonly string[];
  readonly lexical: readonly string[];
  readonly importances: readonly number[];
  readonly tags: readonly (readonly string[])[];
  readonly createdAt: readonly (string | null)[];
  readonly projectId: string | null;
}) => sql`
  insert into brain_observations (id, entity_id, content, lexical, importance, tags, project_id, created_at)
  select n.id, n.entity_id, n.content, n.lexical, n.importance, array(select jsonb_array_elements_text(t.tags)), ${q.projectId}::uuid,
         coalesce(n.created_at, now())
  from unnest(${uuidArray(q.ids)}, ${uuidArray(q.entityIds)}, ${textArray(q.contents)}, ${textArray(q.lexical)}, ${floatArray(q.importances)},
    ${timestampArray(q.createdAt)}) with ordinality as n(id, entity_id, content, lexical, importance, created_at, at)
  join jsonb_array_elements(${json(q.tags)}) with ordinality as t(tags, at) on t.at = n.at
  order by n.at`;
