/** The word arms: statistics of the words of a question, the rows that BM25 ranks first, and the full-text scores of those. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { SCORE_UNITS } from "../../domain/retrieval/bm25.ts";
import { float8, floatArray, int8, intArray, query, textArray, uuid, uuidArray } from "../codecs.ts";
import { fixed } from "./predicates.ts";
import {
  type Filters,
  inProjectKeys,
  isVisible,
  kindNumber,
  narrowsRows,
  type RowKind,
  rowKinds,
  tableOf,
  writtenAt,
} from "./search-filters.ts";

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

/** What `tf` is weighed against: `k1 · (1 − b)` and, for each word of a row, `k1 · b ÷ average length`. */
export interface LengthNorm {
  readonly base: number;
  readonly perWord: number;
}

const ScoredRow = z.object({ id: uuid, key: uuid, score: int8 });
/** Score in units of {@link SCORE_UNITS}; `key` is the project's in the index. */
export type ScoredRow = z.output<typeof ScoredRow>;

const asRows = (forms: readonly WeighedForm[]): SQL =>
  sql`unnest(${textArray(forms.map(({ term }) => term))}, ${intArray(forms.map(({ word }) => word))},
    ${floatArray(forms.map(({ weight }) => weight * SCORE_UNITS))}) as f(term, word, weight)`;

/**
 * Scores of the rows that have one of the forms. Whole numbers add up to the same sum in any order: equal rows tie, on both engines.
 * @param postings what `f` is joined with to give the postings `p`.
 */
function summed(forms: readonly WeighedForm[], { base, perWord }: LengthNorm, postings: SQL): SQL {
  const score = sql`(f.weight * p.tf / (p.tf + ${base}::float8 + ${perWord}::float8 * p.length))::int as score`;
  const formsOf = new Map<number, number>();
  for (const { word } of forms) formsOf.set(word, (formsOf.get(word) ?? 0) + 1);
  const [single, several] = [true, false].map((wanted) => forms.filter(({ word }) => (formsOf.get(word) === 1) === wanted));
  // The best form of a word must be found before words are added up; most words have one form, and need no second round.
  return sql`select w.id, w.key, sum(w.score) as score
    from (
      select p.row_id as id, p.project_key as key, ${score} from ${asRows(single ?? [])} ${postings}
      union all
      select s.id, s.key, max(s.score)
      from (select p.row_id as id, p.project_key as key, f.word, ${score} from ${asRows(several ?? [])} ${postings}) as s
      group by s.id, s.key, s.word
    ) as w
    group by w.id, w.key`;
}

/** A time window or a tag is a matter of the row itself. */
const narrowed = (kind: RowKind, filters: Filters): SQL =>
  narrowsRows(filters)
    ? sql`where exists (select from ${tableOf(kind)} as x where x.id = s.id and ${isVisible(kind, "x", filters)} offset 0)`
    : sql``;

/**
 * Rows of one kind that have one of the forms, with their BM25 scores: at least the `limit` best, in no order. Of rows that tie for the last places the
 * newest. Plan: an index-only range a form, then a lookup by key for each row that ties. Kept honest by search-plans.test.ts.
 */
export const bestRows = query(
  ScoredRow,
  (q: { kind: RowKind; forms: readonly WeighedForm[]; norm: LengthNorm; limit: number; filters: Filters }) => sql`
  with scored as materialized (
    select s.id, s.key, s.score from (${summed(
      q.forms,
      q.norm,
      sql`join brain_postings as p on p.term = f.term and p.kind = ${kindNumber[q.kind]}::int and ${inProjectKeys("p", q.filters)}`,
    )}) as s ${narrowed(q.kind, q.filters)}
  ), edge as materialized (
    select min(b.score) as score from (select s.score from scored as s order by s.score desc limit ${q.limit}::int) as b
  )
  select s.id, s.key, s.score from edge join scored as s on s.score > edge.score
  union all
  (select s.id, s.key, s.score from edge join scored as s on s.score = edge.score join ${tableOf(q.kind)} as x on x.id = s.id
  where ${isVisible(q.kind, "x", q.filters)}
  order by x.${writtenAt(q.kind)} desc, x.id
  limit ${q.limit}::int)`,
);

/** What the forms add to the scores of these rows; rows that have none of them are left out. Plan: an index seek a form and row (`offset 0` keeps the planner from reading whole ranges). */
export const scoresInRows = query(
  ScoredRow,
  (q: { kind: RowKind; forms: readonly WeighedForm[]; norm: LengthNorm; rows: readonly Pick<ScoredRow, "id" | "key">[] }) => sql`
  select s.id, s.key, s.score from (${summed(
    q.forms,
    q.norm,
    sql`cross join unnest(${uuidArray(q.rows.map(({ id }) => id))}, ${uuidArray(q.rows.map(({ key }) => key))}) as r(id, key)
    cross join lateral (
      select p.row_id, p.project_key, p.tf, p.length from brain_postings as p
      where p.term = f.term and p.kind = ${kindNumber[q.kind]}::int and p.project_key = r.key and p.row_id = r.id
      offset 0
    ) as p`,
  )}) as s`,
);

/** Weight of a match and of importance in the text arm's score (`retrieval.md` §2.5). */
const MATCH_WEIGHT = 0.7;
const IMPORTANCE_WEIGHT = 0.3;

const TextHit = z.object({ kind: z.int(), id: uuid, score: float8, coverDensity: float8.nullable() });

/** Rows of each kind that the words found. */
export type FoundIds = Readonly<Partial<Record<RowKind, readonly string[]>>>;

/**
 * Full-text scores of rows that the words found, best first: `(ts_rank + similarity of an entity's name)·0.7 + importance·0.3`, of errors the
 * match alone. `coverDensity` is `ts_rank_cd` where it is asked for: it costs as much as all the rest, and only `eval` compares with it.
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
      sql`select ${kindNumber[kind]}::int as kind, x.id, ${match[kind]} as score, ${coverDensity} as "coverDensity"
      from w cross join ${tableOf(kind)} as x
      where x.id = any(${uuidArray(ids)}) and ${isVisible(kind, "x", q.filters)}`,
    ];
  });
  return sql`
  with w as materialized (select cuba_or_tsquery(${q.text}::text) as q)
  select r.* from (${parts.length === 0 ? sql`select 1 as kind, null::uuid as id, 0::float8 as score, null::float8 as "coverDensity" where false` : sql.join(parts, sql` union all `)}) as r
  order by r.score desc, r.id`;
});
