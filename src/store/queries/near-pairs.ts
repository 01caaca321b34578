/** Pairs of observations of one entity that say nearly the same, entity by entity. Similarity is that of `pg_trgm`. */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Scope } from "../../kernel/context.ts";
import { query, uuid, uuidArray } from "../codecs.ts";
import type { RowOf } from "../port.ts";
import { MergeableRow, mergeableColumns } from "./observations.ts";
import { fixed, inScope, isTrusted } from "./predicates.ts";

/** Entities with at least two live observations, by id. */
export const pairableEntities = query(
  z.object({ id: uuid, live: z.int() }),
  (q: { scope: Scope; after: string; limit: number }) => sql`
  select o.entity_id as id, count(*)::int as live
  from brain_observations as o
  where o.entity_id > ${q.after}::uuid and o.observation_type <> 'superseded' and ${inScope("o", q.scope)}
  group by o.entity_id having count(*) > 1
  order by o.entity_id
  limit ${q.limit}::int`,
);

const Pair = z.object({
  entity: z.string(),
  a: uuid,
  b: uuid,
  contentA: z.string(),
  contentB: z.string(),
  similarity: z.number(),
});
export type ObservationPair = z.output<typeof Pair>;

interface Compared {
  readonly above: number;
  /** Only pairs of trusted rows: what is shown to somebody. A merge looks at all, since a trusted row may take a withheld one's place. */
  readonly onlyTrusted: boolean;
  readonly scope: Scope;
}

const live = (alias: string, scope: Scope) => sql`${sql.raw(alias)}.observation_type <> 'superseded' and ${inScope(alias, scope)}`;
const compared = (alias: string, q: Compared) =>
  q.onlyTrusted ? sql`${live(alias, q.scope)} and ${isTrusted(alias)}` : live(alias, q.scope);
const together = sql`a.id < b.id and a.project_id is not distinct from b.project_id`;

/** Every pair of these entities above a similarity. */
export const nearPairs = query(
  Pair,
  (q: Compared & { entityIds: readonly string[] }) => sql`
  select e.name as entity, a.id as a, b.id as b, a.content as "contentA", b.content as "contentB", p.similarity
  from brain_observations as a
  join brain_observations as b on b.entity_id = a.entity_id and ${together} and ${compared("b", q)}
  join brain_entities as e on e.id = a.entity_id
  cross join lateral (select similarity(a.content, b.content)::float8 as similarity) as p
  where a.entity_id = any(${uuidArray(q.entityIds)}) and ${compared("a", q)} and p.similarity > ${q.above}::float8
  order by p.similarity desc, a.id, b.id`,
);

/** Neighbours of a row that share one of its marks and are compared with it. */
const SAME_MARK_ROWS = 10;

const marked = (q: Compared, mark: "words_mark" | "head_mark" | "tail_mark") => sql`(
    select b.id, b.content from brain_observations as b
    where b.entity_id = a.entity_id and b.${sql.raw(mark)} = a.${sql.raw(mark)} and ${together} and ${compared("b", q)}
    order by b.created_at desc, b.id limit ${fixed(SAME_MARK_ROWS)})`;

/**
 * Of an entity with too many rows for every pair: pairs that share their words, their beginning or their end (`0070`), for a page of its rows.
 * Plan: an index scan of ten rows a mark, so the cost follows the rows and not their square.
 */
export const nearPairsByMarks = query(
  Pair,
  (q: Compared & { entityId: string; after: string; limit: number }) => sql`
  select distinct e.name as entity, a.id as a, b.id as b, a.content as "contentA", b.content as "contentB", p.similarity
  from (
    select o.* from brain_observations as o
    where o.entity_id = ${q.entityId}::uuid and o.id > ${q.after}::uuid and ${compared("o", q)}
    order by o.id limit ${q.limit}::int) as a
  join brain_entities as e on e.id = a.entity_id
  cross join lateral (${marked(q, "words_mark")} union ${marked(q, "head_mark")} union ${marked(q, "tail_mark")}) as b
  cross join lateral (select similarity(a.content, b.content)::float8 as similarity) as p
  where p.similarity > ${q.above}::float8
  order by p.similarity desc, a.id, b.id`,
);

/** Where a page of an entity's rows ends. */
export const entityPageEnd = query(
  z.object({ last: uuid.nullable() }),
  (q: Compared & { entityId: string; after: string; limit: number }) => sql`
  select (array_agg(s.id order by s.id desc))[1] as last
  from (
    select o.id from brain_observations as o
    where o.entity_id = ${q.entityId}::uuid and o.id > ${q.after}::uuid and ${compared("o", q)}
    order by o.id limit ${q.limit}::int) as s`,
);

/** Rows that are about to be merged, as they are now; locked in one order. */
export const mergeable = query(
  MergeableRow,
  (q: { ids: readonly string[]; scope: Scope }) => sql`
  select ${mergeableColumns}
  from brain_observations as o
  where o.id = any(${uuidArray(q.ids)}) and ${live("o", q.scope)}
  order by o.id
  for no key update`,
);
export type Mergeable = RowOf<typeof mergeable>;

/** Retires one row in favour of another. */
export const retireOne = (q: { id: string; keeper: string }) => sql`
  update brain_observations as o set observation_type = 'superseded', superseded_by = ${q.keeper}::uuid where o.id = ${q.id}::uuid`;

export const saveImportance = (q: { id: string; importance: number }) => sql`
  update brain_observations as o set importance = ${q.importance}::float8 where o.id = ${q.id}::uuid`;
