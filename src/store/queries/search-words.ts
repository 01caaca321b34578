/** The word arms: statistics of the words of a question, the rows that BM25 ranks first, and the full-text scores of those. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { SCORE_UNITS } from "../../domain/retrieval/bm25.ts";
import type { LengthNorm } from "../../domain/retrieval/tally.ts";
import { bytes, float8, floatArray, int8, intArray, query, textArray, timestamp, uuid, uuidArray } from "../codecs.ts";
import { fixed } from "./predicates.ts";
import { type Filters, inProjectKeys, isVisible, kindNumber, type RowKind, rowKinds, tableOf, writtenAt } from "./search-filters.ts";

/** `at` ≥ 0: `rows` of the kind that have the form at this index. {@link TOTALS}: `rows` and `words` of the kind in scope. {@link NAMES}: `rows` rises with each change of an entity. */
export const TOTALS = -1;
export const NAMES = -2;
const Packed = { ids: bytes.nullable(), counts: bytes.nullable(), lengths: bytes.nullable() };
const Statistic = z.object({ at: z.int(), kind: z.int(), rows: int8, words: int8, ...Packed });

/** The postings `p` as {@link PackedPostings}: one row whatever their number. All three are in one order. */
const packed = sql`string_agg(uuid_send(p.row_id), ''::bytea) as ids, string_agg(int2send(p.tf), ''::bytea) as counts, string_agg(int4send(p.length), ''::bytea) as lengths`;

/**
 * N, the sum of lengths and the document frequencies of a question's forms, for each kind; of forms that at most `packUpTo` rows have, the postings too.
 * Plan: one index-only range a form and kind, the beginning of a frequent one twice. Counted, not estimated: the same rows give the same scores. Kept honest
 * by search-plans.test.ts.
 */
export const wordStatistics = query(
  Statistic,
  (q: { forms: readonly string[]; kinds: readonly RowKind[]; packUpTo: number; filters: Filters }) => {
    const postings = sql`brain_postings as p where p.term = f.term and p.kind = k.kind and ${inProjectKeys("p", q.filters)}`;
    const isRare = sql`c.rows <= ${fixed(q.packUpTo)}`;
    return sql`
  select ${TOTALS}::int as at, t.kind, sum(t.row_count)::bigint as rows, sum(t.word_count)::bigint as words,
    null::bytea as ids, null::bytea as counts, null::bytea as lengths
  from brain_posting_totals as t
  where t.kind = any(${intArray(q.kinds.map((kind) => kindNumber[kind]))}) and ${inProjectKeys("t", q.filters)}
  group by t.kind
  union all
  select ${NAMES}::int, 2, coalesce(sum(t.changes), 0)::bigint, 0, null, null, null
  from brain_posting_totals as t where t.kind = 2 and ${inProjectKeys("t", q.filters)}
  union all
  select f.at::int - 1, k.kind, case when ${isRare} then c.rows else (select count(*) from ${postings}) end, 0,
    case when ${isRare} then c.ids end, case when ${isRare} then c.counts end, case when ${isRare} then c.lengths end
  from unnest(${textArray(q.forms)}) with ordinality as f(term, at)
  cross join unnest(${intArray(q.kinds.map((kind) => kindNumber[kind]))}) as k(kind)
  cross join lateral (
    select count(*) as rows, ${packed} from (select p.row_id, p.tf, p.length from ${postings} limit ${fixed(q.packUpTo + 1)}) as p
  ) as c
  where c.rows > 0`;
  },
);

/** The postings of forms among the rows of one kind. Plan: one index-only range a form. */
export const packedPostings = query(
  z.object({ at: z.int(), ids: bytes, counts: bytes, lengths: bytes }),
  (q: { kind: RowKind; forms: readonly string[]; filters: Filters }) => sql`
  select f.at::int - 1 as at, c.ids, c.counts, c.lengths
  from unnest(${textArray(q.forms)}) with ordinality as f(term, at)
  cross join lateral (
    select ${packed} from brain_postings as p
    where p.term = f.term and p.kind = ${kindNumber[q.kind]}::int and ${inProjectKeys("p", q.filters)}
  ) as c
  where c.ids is not null`,
);

/** In how many rows of these kinds each form stands, counted up to `most` a kind. Plan: the beginning of one index-only range a form and kind. */
export const rowsWithWords = query(
  z.object({ at: z.int(), rows: int8 }),
  (q: { forms: readonly string[]; kinds: readonly RowKind[]; most: number; filters: Filters }) => sql`
  select f.at::int - 1 as at, sum(c.rows)::bigint as rows
  from unnest(${textArray(q.forms)}) with ordinality as f(term, at)
  cross join unnest(${intArray(q.kinds.map((kind) => kindNumber[kind]))}) as k(kind)
  cross join lateral (
    select count(*) as rows from (
      select from brain_postings as p where p.term = f.term and p.kind = k.kind and ${inProjectKeys("p", q.filters)} limit ${fixed(q.most)}
    ) as p
  ) as c
  group by f.at
  having sum(c.rows) > 0`,
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

/** One form of a question's word with what it weighs among the rows of one kind. */
export interface WeighedForm {
  readonly term: string;
  /** Which word of the question it is a form of: a row is paid once for a word, by its best form. */
  readonly word: number;
  /** `idf · (k1 + 1)`. */
  readonly weight: number;
}

/**
 * What the forms add to the scores of these rows, in units of {@link SCORE_UNITS}; rows that have none of them are left out. The same whole numbers as
 * `tally.ts` adds up. Plan: an index seek a form and row (`offset 0` keeps the planner from reading whole ranges).
 */
export const scoresInRows = query(
  z.object({ id: uuid, score: int8 }),
  (q: { kind: RowKind; forms: readonly WeighedForm[]; norm: LengthNorm; ids: readonly string[] }) => sql`
  select w.id, sum(w.score) as score
  from (
    select r.id, max((f.weight * p.tf / (p.tf + ${q.norm.base}::float8 + ${q.norm.perWord}::float8 * p.length))::int) as score
    from ${tableOf(q.kind)} as r
    cross join unnest(${textArray(q.forms.map(({ term }) => term))}, ${intArray(q.forms.map(({ word }) => word))},
      ${floatArray(q.forms.map(({ weight }) => weight * SCORE_UNITS))}) as f(term, word, weight)
    cross join lateral (
      select p.tf, p.length from brain_postings as p
      where p.term = f.term and p.kind = ${kindNumber[q.kind]}::int and p.project_key = brain_project_key(r.project_id) and p.row_id = r.id
      offset 0
    ) as p
    where r.id = any(${uuidArray(q.ids)})
    group by r.id, f.word
  ) as w
  group by w.id`,
);

/** Of rows those that a time window and a tag let pass: a matter of the row itself, which the index of words does not know. Plan: primary key. */
export const visibleRows = query(
  z.object({ id: uuid }),
  (q: { kind: RowKind; ids: readonly string[]; filters: Filters }) => sql`
  select x.id from ${tableOf(q.kind)} as x where x.id = any(${uuidArray(q.ids)}) and ${isVisible(q.kind, "x", q.filters)} order by x.id`,
);

/** Weight of a match and of importance in the text arm's score (`retrieval.md` §2.5). */
const MATCH_WEIGHT = 0.7;
const IMPORTANCE_WEIGHT = 0.3;

const TextHit = z.object({ kind: z.int(), id: uuid, at: timestamp, score: float8, coverDensity: float8.nullable() });

/** Rows of each kind that the words found. */
export type FoundIds = Readonly<Partial<Record<RowKind, readonly string[]>>>;

/**
 * Full-text scores of rows that the words found, best first: `(ts_rank + similarity of an entity's name)·0.7 + importance·0.3`, of errors the
 * match alone. `at` is when the row was written. `coverDensity` is `ts_rank_cd` where it is asked for: it costs as much as all the rest, and only `eval` compares with it.
 * @param text the question's selecting lexemes with blanks between; @param name the question as asked.
 * Plan: primary keys.
 */
export const textScores = query(TextHit, (q: { found: FoundIds; text: string; name: string; coverDensity: boolean; filters: Filters }) => {
  const match: Readonly<Record<RowKind, SQL>> = {
    observation: sql`ts_rank(x.search_vector, w.q)::float8 * ${MATCH_WEIGHT}::float8 + x.importance * ${IMPORTANCE_WEIGHT}::float8`,
    episode: sql`ts_rank(x.search_vector, w.q)::float8 * ${MATCH_WEIGHT}::float8 + x.importance * ${IMPORTANCE_WEIGHT}::float8`,
    entity: sql`(ts_rank(x.search_vector, w.q) + similarity(x.name, ${q.name}::text))::float8 * ${MATCH_WEIGHT}::float8
      + x.importance * ${IMPORTANCE_WEIGHT}::float8`,
    error: sql`ts_rank(x.search_vector, w.q)::float8`,
  };
  const coverDensity = q.coverDensity ? sql`ts_rank_cd(x.search_vector, w.q)::float8` : sql`null::float8`;
  const parts = rowKinds.flatMap((kind) => {
    const ids = q.found[kind] ?? [];
    if (ids.length === 0) return [];
    return [
      sql`select ${kindNumber[kind]}::int as kind, x.id, x.${writtenAt(kind)} as at, ${match[kind]} as score, ${coverDensity} as "coverDensity"
      from w cross join ${tableOf(kind)} as x
      where x.id = any(${uuidArray(ids)}) and ${isVisible(kind, "x", q.filters)}`,
    ];
  });
  return sql`
  with w as materialized (select cuba_or_tsquery(${q.text}::text) as q)
  select r.* from (${parts.length === 0 ? sql`select 1 as kind, null::uuid as id, null::timestamptz as at, 0::float8 as score, null::float8 as "coverDensity" where false` : sql.join(parts, sql` union all `)}) as r
  order by r.score desc, r.id`;
});
