/** The rows of an answer, and what is written down about having answered. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { float8, query, timestamp, uuid, uuidArray } from "../codecs.ts";
import { isVouchedFor } from "./entities.ts";
import { type Filters, isVisible, kindNumber, type RowKind, rowKinds, tableOf, writtenAt } from "./search-filters.ts";
import type { FoundIds } from "./search-words.ts";

export const FoundRow = z.object({
  kind: z.int(),
  id: uuid,
  /** Observation, episode: the entity they hang from; entity: its own name; error: null. */
  entity: z.string().nullable(),
  /** Observation: its type; entity: its type; error: the error's type. */
  label: z.string().nullable(),
  content: z.string().nullable(),
  solution: z.string().nullable(),
  resolved: z.boolean().nullable(),
  importance: float8.nullable(),
  createdAt: timestamp,
  evidence: z.string().nullable(),
  verifiedAt: timestamp.nullable(),
  tags: z.array(z.string()).nullable(),
});
export type FoundRow = z.output<typeof FoundRow>;

const columns: Readonly<Record<RowKind, SQL>> = {
  observation: sql`e.name as entity, x.observation_type as label, x.content, null::text as solution, null::bool as resolved, x.importance,
    x.created_at as "createdAt", x.evidence, x.verified_at as "verifiedAt", x.tags`,
  episode: sql`e.name, null, x.content, null, null, x.importance, x.started_at, null, null, null::text[]`,
  entity: sql`x.name, x.entity_type, null, null, null, x.importance, x.created_at, null, null, null::text[]`,
  error: sql`null, x.error_type, x.error_message, x.solution, x.resolved, null, x.created_at, null, null, null::text[]`,
};

/**
 * The rows behind ids, filtered once more: the last word on what may be seen. An entity that only withheld text speaks of is not: its name was written by
 * whoever wrote that text. Plan: primary keys, and the observations of the few entities found.
 */
export const foundRows = query(FoundRow, (q: { ids: FoundIds; filters: Filters }) => {
  const parts = rowKinds
    .filter((kind) => (q.ids[kind] ?? []).length > 0 || kind === "observation")
    .map((kind) => {
      const joined = kind === "observation" || kind === "episode" ? sql` join brain_entities as e on e.id = x.entity_id` : sql``;
      return sql`select ${kindNumber[kind]}::int as kind, x.id, ${columns[kind]}
      from ${tableOf(kind)} as x${joined}
      where x.id = any(${uuidArray(q.ids[kind] ?? [])}) and ${isVisible(kind, "x", q.filters)}${kind === "entity" ? sql` and ${isVouchedFor("x")}` : sql``}`;
    });
  return sql.join(parts, sql` union all `);
});

/** When rows were written; of each list the newest. Plan: primary keys. */
export const rowInstants = query(
  z.object({ id: uuid, at: timestamp }),
  (q: { wanted: readonly { readonly kind: RowKind; readonly ids: readonly string[]; readonly most: number }[]; filters: Filters }) =>
    sql.join(
      q.wanted.map(
        ({ kind, ids, most }) => sql`(select x.id, x.${writtenAt(kind)} as at from ${tableOf(kind)} as x
      where x.id = any(${uuidArray(ids)}) and ${isVisible(kind, "x", q.filters)}
      order by at desc, x.id
      limit ${most}::int)`,
      ),
      sql` union all `,
    ),
);

/** The pieces of long observations that were found by one of them. */
export const chunkTexts = query(
  z.object({ id: uuid, content: z.string() }),
  (q: { ids: readonly string[]; indices: readonly number[] }) => sql`
  select c.observation_id as id, c.content
  from unnest(${uuidArray(q.ids)}, ${sql`array[${sql.join(
    q.indices.map((index) => sql`${index}::int`),
    sql`, `,
  )}]::int[]`}) as w(id, at)
  join brain_observation_chunks as c on c.observation_id = w.id and c.chunk_index = w.at`,
);

/** The testing effect: what was returned was used. Nothing else moves. */
export const recordAccess = (ids: readonly string[]) => sql`
  update brain_observations set last_accessed = now(), access_count = access_count + 1 where id = any(${uuidArray(ids)})`;
