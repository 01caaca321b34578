/** The vector arm: nearest observations (by their own vector or the best of their chunks) and episodes. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { float8, int8, query, uuid, uuidArray, vectorParam } from "../codecs.ts";
import { fixed } from "./predicates.ts";
import { type Filters, inProjectKeys, isVisible, kindNumber, narrowsRows, tableOf } from "./search-filters.ts";

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
  readonly withEpisodes: boolean;
}

/** Chunks looked at for each observation wanted: several of one text may lie close. */
const CHUNKS_PER_ROW = 4;
/** The kind of a chunk in `brain_vector_signs`. */
const CHUNK = 5;

const nearestOwn = (kind: "observation" | "episode", rows: SQL, q: VectorQuery) => sql`
  (select ${kindNumber[kind]}::int as kind, x.id, x.embedding <=> v.vector as distance, null::int as chunk
  from v cross join ${rows}
  where x.embedding_model = ${q.label}::text and ${isVisible(kind, "x", q.filters)}
  order by distance, x.created_at desc, x.id
  limit ${q.depth}::int)`;

const nearestChunks = (rows: SQL, q: VectorQuery) => sql`
  (select ${kindNumber.observation}::int as kind, n.observation_id as id, n.distance, n.chunk_index as chunk
  from (
    select c.observation_id, c.chunk_index, c.embedding <=> v.vector as distance
    from v cross join ${rows}
    where c.embedding_model = ${q.label}::text and exists (
      select from brain_observations as x where x.id = c.observation_id and ${isVisible("observation", "x", q.filters)})
    order by distance, c.id
    limit ${q.depth * CHUNKS_PER_ROW}::int
  ) as n)`;

/** Where rows come from: all of a table, or those that the signs found. */
type Source = (kind: number, table: SQL, alias: string) => SQL;

const nearest = (q: VectorQuery, from: Source): SQL => {
  const parts = [
    nearestOwn("observation", from(kindNumber.observation, tableOf("observation"), "x"), q),
    nearestChunks(from(CHUNK, sql`brain_observation_chunks`, "c"), q),
  ];
  if (q.withEpisodes) parts.push(nearestOwn("episode", from(kindNumber.episode, tableOf("episode"), "x"), q));
  return sql`select r.* from (${sql.join(parts, sql` union all `)}) as r order by r.distance, r.id, r.chunk`;
};

/**
 * Nearest rows by cosine distance; an observation may come several times, by its own vector and by its chunks. Compares every vector: for the few
 * dozen that a model has before its signs are taken.
 */
export const nearestRows = query(
  VectorHit,
  (q: VectorQuery) => sql`
  with v as materialized (select ${vectorParam(q.vector)} as vector)
  ${nearest(q, (_kind, table, alias) => sql`${table} as ${sql.raw(alias)}`)}`,
);

/** How many vectors of a model had signs when its mean was taken; no row before. */
export const fittedVectors = query(
  z.object({ rows: int8 }),
  (q: { label: string }) => sql`select c.fitted_rows as rows from brain_vector_centers as c where c.label = ${q.label}::text`,
);

/** Rows of a kind nearest by signs. A time window or a tag is a matter of the row itself, looked up in this order until enough passed. */
function nearestSigns(kind: number, q: VectorQuery, pool: number): SQL {
  const byDistance = sql`
    select s.row_id from brain_vector_signs as s
    where s.center = c.id and s.kind = ${fixed(kind)} and ${inProjectKeys("s", q.filters)}
    order by s.signs <~> c.signs, s.row_id`;
  const narrow =
    kind === CHUNK
      ? sql`select from brain_observation_chunks as p join brain_observations as x on x.id = p.observation_id
        where p.id = s.row_id and ${isVisible("observation", "x", q.filters)}`
      : kind === kindNumber.episode
        ? sql`select from brain_episodes as x where x.id = s.row_id and ${isVisible("episode", "x", q.filters)}`
        : sql`select from brain_observations as x where x.id = s.row_id and ${isVisible("observation", "x", q.filters)}`;
  const found = narrowsRows(q.filters)
    ? sql`select s.row_id from (${byDistance} offset 0) as s where exists (${narrow} offset 0) limit ${fixed(pool)}`
    : sql`${byDistance} limit ${fixed(pool)}`;
  return sql`(select ${fixed(kind)} as kind, f.row_id from c cross join lateral (${found}) as f)`;
}

/**
 * The same of the rows that lie nearest by the signs of their vectors (`pool` of each kind), compared exactly.
 * Plan: one index-only range of signs a kind and project, then a lookup by key for each row of the pool. Kept honest by search-plans.test.ts.
 */
export const nearestBySigns = query(VectorHit, (q: VectorQuery & { readonly pool: number }) => {
  const kinds = [kindNumber.observation, CHUNK, ...(q.withEpisodes ? [kindNumber.episode] : [])];
  return sql`
  with v as materialized (select ${vectorParam(q.vector)} as vector),
  c as materialized (
    select c.id, binary_quantize(v.vector - c.mean::vector) as signs
    from brain_vector_centers as c cross join v where c.label = ${q.label}::text and cardinality(c.mean) = vector_dims(v.vector)
  ),
  near as materialized (${sql.join(
    kinds.map((kind) => nearestSigns(kind, q, q.pool)),
    sql` union all `,
  )})
  ${nearest(q, (kind, table, alias) => sql`near join ${table} as ${sql.raw(alias)} on ${sql.raw(alias)}.id = near.row_id and near.kind = ${fixed(kind)}`)}`;
});

/** Vectors of a model, counted up to `most`. */
export const countVectors = query(
  z.object({ rows: int8 }),
  (q: { label: string; most: number }) => sql`
  select count(*) as rows from (select from brain_served_vectors(${q.label}::text) as v limit ${q.most}::int) as v`,
);

/** Takes the mean of a model's vectors and signs all of them; to be run without a scope. */
export const fitVectors = (q: { label: string; sample: number }) => sql`select brain_fit_vectors(${q.label}::text, ${q.sample}::int)`;

/**
 * Memories that search serves and that have no vector, and pieces of long ones that have none; each counted up to `most`.
 * Plan: the partial indexes over rows without a vector.
 */
export const withoutVector = query(z.object({ memories: z.int(), pieces: z.int() }), (q: { filters: Filters; most: number }) => {
  const rows = (kind: "observation" | "episode") => sql`
    (select count(*) from (
      select from ${tableOf(kind)} as x where x.embedding is null and ${isVisible(kind, "x", q.filters)} limit ${q.most}::int) as n)`;
  return sql`
  select least(${rows("observation")} + ${rows("episode")}, ${q.most}::int)::int as memories,
    (select count(*) from (
      select from brain_observation_chunks as c where c.embedding is null and exists (
        select from brain_observations as x where x.id = c.observation_id and ${isVisible("observation", "x", q.filters)})
      limit ${q.most}::int) as n)::int as pieces`;
});

/**
 * Those of some observations and episodes that have no vector of this model, or have a piece without one.
 * Plan: an index seek a row and table. Kept honest by search-plans.test.ts.
 */
export const waitingOf = query(
  z.object({ id: uuid }),
  (q: { readonly ids: readonly string[]; readonly label: string }) => sql`
  select w.id from unnest(${uuidArray(q.ids)}) as w(id)
  cross join lateral (
    select 1 from brain_observations as o where o.id = w.id and o.embedding_model is distinct from ${q.label}::text
    union all
    select 1 from brain_observation_chunks as c where c.observation_id = w.id and c.embedding_model is distinct from ${q.label}::text
    union all
    select 1 from brain_episodes as p where p.id = w.id and p.embedding_model is distinct from ${q.label}::text
    limit 1
  ) as v
  order by w.id`,
);

/** Whether observations that search serves have vectors of another model. Reads every row where there are none; asked rarely (`missing-vectors.ts`). */
export const hasForeignVectors = query(
  z.object({ found: z.boolean() }),
  (q: { filters: Filters; label: string }) => sql`
  select exists (
    select from brain_observations as x where x.embedding_model <> ${q.label}::text and ${isVisible("observation", "x", q.filters)}
  ) as found`,
);
