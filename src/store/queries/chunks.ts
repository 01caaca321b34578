/** Slices of long observations, for vectors. They live and die with the text of their observation (trigger). */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { json, query, uuid, uuidArray } from "../codecs.ts";

export interface NewChunk {
  readonly observationId: string;
  readonly index: number;
  readonly content: string;
}

/** Stores slices with their observation's project. Slices that are there already keep their vectors. */
export const insertChunks = (chunks: readonly NewChunk[]) => sql`
  insert into brain_observation_chunks (observation_id, chunk_index, content, project_id)
  select o.id, c.chunk_index, c.content, o.project_id
  from jsonb_to_recordset(${json(chunks.map((chunk) => ({ observation_id: chunk.observationId, chunk_index: chunk.index, content: chunk.content })))})
    as c(observation_id uuid, chunk_index int, content text)
  join brain_observations as o on o.id = c.observation_id
  on conflict (observation_id, chunk_index) do nothing`;

export const deleteChunks = (observationIds: readonly string[]) => sql`
  delete from brain_observation_chunks where observation_id = any(${uuidArray(observationIds)})`;

/** Long live observations that have no slices (rows that came by import), longest first. */
export const unsliced = query(
  z.object({ id: uuid, content: z.string() }),
  (q: { thresholdChars: number; limit: number }) => sql`
  select o.id, o.content
  from brain_observations as o
  where char_length(o.content) > ${q.thresholdChars}::int and o.observation_type <> 'superseded'
    and not exists (select from brain_observation_chunks as c where c.observation_id = o.id)
  order by char_length(o.content) desc, o.id
  limit ${q.limit}::int`,
);
