/** The vector arm: nearest observations (by their own vector or the best of their chunks) and episodes. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { float8, query, uuid, vectorParam } from "../codecs.ts";
import { type Filters, isVisible, kindNumber } from "./search-filters.ts";

export const VectorHit = z.object({ kind: z.int(), id: uuid, distance: float8, chunk: z.int().nullable() });
export type VectorHit = z.output<typeof VectorHit>;

export interface VectorQuery {
  /** Unit vector, f32 [dimensions]. */
  readonly vector: Float32Array;
  /** Label of the running model and text form: vectors of another mean nothing to this one. */
  readonly label: string;
  /** Rows wanted of each kind. */
  readonly depth: number;
  readonly filters: Filters;
}

/** Chunks looked at for each observation wanted: several of one text may lie close. */
const CHUNKS_PER_ROW = 4;

const nearestOwn = (kind: "observation" | "episode", table: SQL, q: VectorQuery) => sql`
  (select ${kindNumber[kind]}::int as kind, x.id, x.embedding <=> ${vectorParam(q.vector)} as distance, null::int as chunk
  from ${table} as x
  where x.embedding_model = ${q.label}::text and ${isVisible(kind, "x", q.filters)}
  order by distance, x.created_at desc, x.id
  limit ${q.depth}::int)`;

const nearestChunks = (q: VectorQuery) => sql`
  (select ${kindNumber.observation}::int as kind, n.observation_id as id, n.distance, n.chunk_index as chunk
  from (
    select c.observation_id, c.chunk_index, c.embedding <=> ${vectorParam(q.vector)} as distance
    from brain_observation_chunks as c
    where c.embedding_model = ${q.label}::text and exists (
      select from brain_observations as x where x.id = c.observation_id and ${isVisible("observation", "x", q.filters)})
    order by distance, c.id
    limit ${q.depth * CHUNKS_PER_ROW}::int
  ) as n)`;

/**
 * Nearest rows by cosine distance; an observation may come several times, by its own vector and by its chunks.
 * Plan: HNSW scans with a sort on (distance, id) on a server; exact scans in the embedded engine.
 */
export const nearestRows = query(VectorHit, (q: VectorQuery & { readonly withEpisodes: boolean }) => {
  const parts = [nearestOwn("observation", sql`brain_observations`, q), nearestChunks(q)];
  if (q.withEpisodes) parts.push(nearestOwn("episode", sql`brain_episodes`, q));
  return sql`select r.* from (${sql.join(parts, sql` union all `)}) as r order by r.distance, r.id, r.chunk`;
});
