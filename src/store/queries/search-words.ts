/** The word arms: statistics of the words of a question, the rows that BM25 ranks first, and the full-text scores of those. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { float8, int8, intArray, query, textArray, uuid, uuidArray } from "../codecs.ts";
import { type Filters, inProjectKeys, isVisible, kindNumber, narrowsRows, type RowKind, rowKinds, tableOf } from "./search-filters.ts";

/** `at` ≥ 0: `rows` of the kind that have the form at this index. {@link TOTALS}: `rows` and `words` of the kind in scope. {@link NAMES}: `rows` rises with each change of an entity. */
export const TOTALS = -1;
export const NAMES = -2;
const Statistic = z.object({ at: z.int(), kind: z.int(), rows: int8, words: int8 });

/**
 * N, the sum of lengths and the document frequencies of a question's forms, for each kind.
 * Plan: one index-only range a form and kind. Counted, not estimated: the same rows give the same scores. Kept honest by search-plans.test.ts.
 */
export const wordStatistics = query(
  Statistic,
  (q: { forms: readonly string[]; kinds: readonly RowKind[]; filters: Filters }) => sql`
  select ${TOTALS}::int as at, t.kind, sum(t.row_count)::bigint as rows, sum(t.word_count)::bigint as words
  from brain_posting_totals as t
  where t.kind = any(${intArray(q.kinds.map((kind) => kindNumber[kind]))}) and ${inProjectKeys("t", q.filters)}
  group by t.kind
  union all
  select ${NAMES}::int, 2, coalesce(sum(t.changes), 0)::bigint, 0
  from brain_posting_totals as t where t.kind = 2 and ${inProjectKeys("t", q.filters)}
  union all
  select f.at::int - 1, k.kind, c.rows, 0
  from unnest(${textArray(q.forms)}) with ordinality as f(term, at)
  cross join unnest(${intArray(q.kinds.map((kind) => kindNumber[kind]))}) as k(kind)
  cross join lateral (
    select count(*) as rows from brain_postings as p
    where p.term = f.term and p.kind = k.kind and ${inProjectKeys("p", q.filters)}
  ) as c
  where c.rows > 0`,
);

/** Behind every text that begins with a prefix. */
const LAST = "\u{10ffff}";

/**
 * Words of the index that begin alike, in order: what a misspelt word may mean.
 * Plan: one index seek a word, whatever the number of its rows.
 */
export const wordsBeginning = query(
  z.object({ term: z.string() }),
  (q: { prefix: string; limit: number; filters: Filters }) => sql`
  with recursive near as (
    (select p.term from brain_postings as p
    where p.term >= ${q.prefix}::text and p.term < ${q.prefix + LAST}::text and ${inProjectKeys("p", q.filters)} order by p.term limit 1)
    union all
    select (select p.term from brain_postings as p
      where p.term > n.term and p.term < ${q.prefix + LAST}::text and ${inProjectKeys("p", q.filters)} order by p.term limit 1)
    from near as n where n.term is not null
  )
  select near.term from near where near.term is not null limit ${q.limit}::int`,
);

/** A form to look up among the rows of one kind. */
export interface IndexedForm {
  readonly term: string;
  readonly kind: RowKind;
}

/** A row that has a form. */
export interface IndexedRow {
  readonly id: string;
  /** The project's key in the index. */
  readonly key: string;
  /** How often. */
  readonly count: number;
  /** Words in the row. */
  readonly length: number;
}

/**
 * `at`: index of the form asked for. The rows come as one text a form: thousands of small rows cost more to carry over than to find.
 */
const FormRows = z.object({
  at: z.int(),
  rows: z.string().transform((text) =>
    text.split(",").map((row): IndexedRow => {
      const [id = "", key = "", count, length] = row.split(" ");
      return { id, key, count: Number(count), length: Number(length) };
    }),
  ),
});

const packed = sql.raw("string_agg(p.row_id::text || ' ' || p.project_key::text || ' ' || p.tf || ' ' || p.length, ',')");

const formsAsRows = (forms: readonly IndexedForm[]): SQL =>
  sql`unnest(${textArray(forms.map(({ term }) => term))}, ${intArray(forms.map(({ kind }) => kindNumber[kind]))}) with ordinality as f(term, kind, at)`;

/** A time window or a tag is a matter of the row itself. */
function narrowed(filters: Filters): SQL {
  if (!narrowsRows(filters)) return sql``;
  const perKind = rowKinds.map(
    (kind) => sql`(p.kind = ${kindNumber[kind]}::int and exists (
      select from ${tableOf(kind)} as x where x.id = p.row_id and ${isVisible(kind, "x", filters)}))`,
  );
  return sql`and (${sql.join(perKind, sql` or `)})`;
}

/** Every row that has one of the forms. Plan: an index-only range a form. Kept honest by search-plans.test.ts. */
export const rowsWithForms = query(
  FormRows,
  (q: { forms: readonly IndexedForm[]; filters: Filters }) => sql`
  select f.at::int - 1 as at, ${packed} as rows
  from ${formsAsRows(q.forms)}
  join brain_postings as p on p.term = f.term and p.kind = f.kind and ${inProjectKeys("p", q.filters)} ${narrowed(q.filters)}
  group by f.at`,
);

/** Which of these rows have one of the forms. Plan: an index seek a form and row (`offset 0` keeps the planner from reading whole ranges). */
export const formsInRows = query(
  FormRows,
  (q: { forms: readonly IndexedForm[]; rows: readonly (Pick<IndexedRow, "id" | "key"> & { readonly kind: RowKind })[] }) => sql`
  select f.at::int - 1 as at, ${packed} as rows
  from ${formsAsRows(q.forms)}
  join unnest(${uuidArray(q.rows.map(({ id }) => id))}, ${uuidArray(q.rows.map(({ key }) => key))},
    ${intArray(q.rows.map(({ kind }) => kindNumber[kind]))}) as r(id, key, kind) on r.kind = f.kind
  cross join lateral (
    select p.row_id, p.project_key, p.tf, p.length from brain_postings as p
    where p.term = f.term and p.kind = f.kind and p.project_key = r.key and p.row_id = r.id
    offset 0
  ) as p
  group by f.at`,
);

/** Weight of a match and of importance in the text arm's score (`retrieval.md` §2.5). */
const MATCH_WEIGHT = 0.7;
const IMPORTANCE_WEIGHT = 0.3;

export const TextHit = z.object({ kind: z.int(), id: uuid, score: float8, coverDensity: float8 });

/** Rows of each kind that the words found. */
export type FoundIds = Readonly<Partial<Record<RowKind, readonly string[]>>>;

/**
 * Full-text scores of rows that the words found, best first: `(ts_rank + similarity of an entity's name)·0.7 + importance·0.3`, of errors the
 * match alone. `coverDensity` is `ts_rank_cd`, for comparison in `eval`.
 * @param text the question's selecting lexemes with blanks between; @param name the question as asked.
 * Plan: primary keys.
 */
export const textScores = query(TextHit, (q: { found: FoundIds; text: string; name: string; filters: Filters }) => {
  const match: Readonly<Record<RowKind, SQL>> = {
    observation: sql`ts_rank(x.search_vector, w.q)::float8 * ${MATCH_WEIGHT}::float8 + x.importance * ${IMPORTANCE_WEIGHT}::float8`,
    episode: sql`ts_rank(x.search_vector, w.q)::float8 * ${MATCH_WEIGHT}::float8 + x.importance * ${IMPORTANCE_WEIGHT}::float8`,
    entity: sql`(ts_rank(x.search_vector, w.q) + similarity(x.name, ${q.name}::text))::float8 * ${MATCH_WEIGHT}::float8
      + x.importance * ${IMPORTANCE_WEIGHT}::float8`,
    error: sql`ts_rank(x.search_vector, w.q)::float8`,
  };
  const parts = rowKinds.flatMap((kind) => {
    const ids = q.found[kind] ?? [];
    if (ids.length === 0) return [];
    return [
      sql`select ${kindNumber[kind]}::int as kind, x.id, ${match[kind]} as score, ts_rank_cd(x.search_vector, w.q)::float8 as "coverDensity"
      from w cross join ${tableOf(kind)} as x
      where x.id = any(${uuidArray(ids)}) and ${isVisible(kind, "x", q.filters)}`,
    ];
  });
  return sql`
  with w as materialized (select cuba_or_tsquery(${q.text}::text) as q)
  select r.* from (${parts.length === 0 ? sql`select 1 as kind, null::uuid as id, 0::float8 as score, 0::float8 as "coverDensity" where false` : sql.join(parts, sql` union all `)}) as r
  order by r.score desc, r.id`;
});
