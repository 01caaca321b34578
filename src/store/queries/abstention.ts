/** What the abstention gate keeps and reads: measured thresholds, the size of the memory they were measured on, a sample of its vectors. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { float8, floatArray, int8, jsonArray, query, textArray, timestamp, uuid, uuidArray, vector } from "../codecs.ts";
import { inScope, isServed } from "./predicates.ts";
import { kindNumber, type RowKind, tableOf, UNSCOPED_KEY } from "./search-filters.ts";

export const StoredThreshold = z.object({ key: z.string(), value: float8, metadata: z.unknown(), updatedAt: timestamp });
export type StoredThreshold = z.output<typeof StoredThreshold>;

export const thresholdsAt = query(
  StoredThreshold,
  (q: { readonly keys: readonly string[] }) => sql`
  select c.key, c.value, c.metadata, c.updated_at as "updatedAt"
  from brain_calibration as c where c.key = any(${textArray(q.keys)}) order by c.key`,
);

/** Every threshold of the gate, of all projects. */
export const abstentionThresholds = query(
  StoredThreshold,
  () => sql`
  select c.key, c.value, c.metadata, c.updated_at as "updatedAt"
  from brain_calibration as c where c.key ~ '^ood_(threshold|words)(:|$)' order by c.key`,
);

/** Keeps thresholds, all in one statement; one of the same key is replaced. */
export const putThresholds = query(
  z.object({ key: z.string() }),
  (q: { readonly rows: readonly { readonly key: string; readonly value: number; readonly metadata: unknown }[] }) => sql`
  insert into brain_calibration (key, value, metadata)
  select n.key, n.value, n.metadata
  from unnest(${textArray(q.rows.map(({ key }) => key))}, ${floatArray(q.rows.map(({ value }) => value))},
    ${jsonArray(q.rows.map(({ metadata }) => metadata))}) as n(key, value, metadata)
  on conflict (key) do update set value = excluded.value, metadata = excluded.metadata, updated_at = now()
  returning key`,
);

/** Observations that search may answer with, of one project or of all. Plan: the totals beside the index of words, a few rows a project. */
export const servedObservations = query(
  z.object({ rows: int8 }),
  (q: { readonly projectId: string | null }) => sql`
  select coalesce(sum(t.row_count), 0)::bigint as rows from brain_posting_totals as t
  where t.kind = 1 and (${q.projectId}::uuid is null or t.project_key = ${q.projectId}::uuid)`,
);

/** Vectors of what search serves, by id: ids are random, so the first of them are a random sample that stays the same. Asked once in five minutes at most. */
export const vectorSample = query(
  z.object({ id: uuid, vector }),
  (q: { readonly scope: Scope; readonly label: string; readonly after: string; readonly limit: number }) => sql`
  select o.id, o.embedding::text as vector from brain_observations as o
  where o.id > ${q.after}::uuid and o.embedding_model = ${q.label}::text and ${isServed("o")} and ${inScope("o", q.scope)}
  order by o.id limit ${q.limit}::int`,
);

const EmbeddedText = z.object({ id: uuid, content: z.string(), subject: z.string(), subjectType: z.string() });

/** What the vectors of a few observations and episodes were made of; of an observation that a piece found, the piece. Plan: primary keys. */
export const embeddedTexts = query(
  EmbeddedText,
  (q: { readonly ids: readonly string[]; readonly chunks: readonly number[] }) => sql`
  select w.id, coalesce(c.content, o.content, p.content) as content, e.name as subject, e.entity_type as "subjectType"
  from unnest(${uuidArray(q.ids)}, ${floatArray(q.chunks)}) as w(id, chunk)
  left join brain_observations as o on o.id = w.id
  left join brain_observation_chunks as c on c.observation_id = w.id and c.chunk_index = w.chunk::int
  left join brain_episodes as p on p.id = w.id
  join brain_entities as e on e.id = coalesce(o.entity_id, p.entity_id)
  order by w.id`,
);

/** What some vectors were made of, by id, a random sample that stays the same. Asked where a threshold is measured. */
export const embeddedSample = query(
  EmbeddedText,
  (q: { readonly scope: Scope; readonly label: string; readonly limit: number }) => sql`
  select o.id, o.content, e.name as subject, e.entity_type as "subjectType"
  from brain_observations as o join brain_entities as e on e.id = o.entity_id
  where o.embedding_model = ${q.label}::text and ${isServed("o")} and ${inScope("o", q.scope)}
  order by o.id limit ${q.limit}::int`,
);

/**
 * Which of these forms each row has, as indices of `terms`; rows that have none are left out.
 * Plan: an index seek a form and row (`offset 0` keeps the planner from reading whole ranges). Kept honest by search-plans.test.ts.
 */
export const formsInRows = query(
  z.object({ id: uuid, forms: z.string().transform((text) => text.split(",").map(Number)) }),
  (q: { readonly kind: RowKind; readonly terms: readonly string[]; readonly ids: readonly string[] }) => sql`
  select x.id, string_agg((f.at - 1)::text, ',') as forms
  from ${tableOf(q.kind)} as x
  cross join unnest(${textArray(q.terms)}) with ordinality as f(term, at)
  cross join lateral (
    select from brain_postings as p
    where p.term = f.term and p.kind = ${kindNumber[q.kind]}::int and p.project_key = coalesce(x.project_id, ${UNSCOPED_KEY}::uuid) and p.row_id = x.id
    offset 0
  ) as p
  where x.id = any(${uuidArray(q.ids)})
  group by x.id
  order by x.id`,
);
