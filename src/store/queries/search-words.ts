/** The word arms: statistics of the words of a question, the rows that BM25 ranks first, and the full-text scores of those. */
import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { BM25_B, BM25_K1 } from "../../domain/retrieval/bm25.ts";
import { float8, floatArray, int8, intArray, query, textArray, uuid, uuidArray } from "../codecs.ts";
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

/** One form of one word of a question, for one kind of rows. */
export interface WeightedForm {
  readonly kind: RowKind;
  readonly term: string;
  /** Index of the word in the question; a row gets the best of a word's forms. */
  readonly word: number;
  readonly idf: number;
  /** Mean length of the kind's rows, in words. */
  readonly averageLength: number;
}

export interface WordQuery {
  /** Forms that select rows. */
  readonly selecting: readonly WeightedForm[];
  /** Forms that score the rows found and select none. */
  readonly scoring: readonly WeightedForm[];
  /** For each kind: what the words of `scoring` can add to a row at most, and the rank whose score decides who may still be lifted by them. */
  readonly rest: readonly { readonly kind: RowKind; readonly bound: number }[];
  readonly thresholdRank: number;
  /** Rows wanted of each kind. */
  readonly depth: number;
  readonly filters: Filters;
}

/** Digits that a score keeps: the order in which the words of a question are added up may change the ones behind. */
const SCORE_DIGITS = 9;

const formRows = (forms: readonly WeightedForm[]): SQL => sql`
  unnest(${intArray(forms.map((form) => kindNumber[form.kind]))}, ${textArray(forms.map((form) => form.term))},
    ${intArray(forms.map((form) => form.word))}, ${floatArray(forms.map((form) => form.idf))}, ${floatArray(forms.map((form) => form.averageLength))})
    as t(kind, term, word, idf, average)`;

/** `termScore` of domain/retrieval/bm25.ts over a posting `p` and a form `t`; a test compares the two. */
const score = sql.raw(
  `max(t.idf * p.tf * ${BM25_K1 + 1}::float8 / (p.tf + ${BM25_K1}::float8 * (${1 - BM25_B}::float8 + ${BM25_B}::float8 * p.length / t.average)))`,
);

/** A time window or a tag is a matter of the row itself. */
const narrowed = (filters: Filters): SQL => {
  if (!narrowsRows(filters)) return sql``;
  const perKind = rowKinds.map(
    (kind) => sql`(f.kind = ${kindNumber[kind]}::int and exists (
      select from ${tableOf(kind)} as x where x.id = f.row_id and ${isVisible(kind, "x", filters)}))`,
  );
  return sql`where ${sql.join(perKind, sql` or `)}`;
};

export const WordHit = z.object({ kind: z.int(), id: uuid, score: float8 });

/**
 * The best rows of each kind by BM25 over the selecting words, with the scoring words added to those that can still reach the threshold rank
 * (MaxScore; Turtle & Flood 1995). The caller checks the bound and asks again with more selecting words where it does not hold.
 * Plan: index-only ranges of the selecting words; one index probe a scoring word and row. Kept honest by search-plans.test.ts.
 */
export const bestByWords = query(WordHit, (q: WordQuery) => {
  const kinds = intArray(q.rest.map(({ kind }) => kindNumber[kind]));
  const bounds = floatArray(q.rest.map(({ bound }) => bound));
  return sql`
  with found as materialized (
    select f.* from (
      select s.kind, s.project_key, s.row_id, sum(s.score) as score
      from (
        select p.kind, p.project_key, p.row_id, t.word, ${score} as score
        from ${formRows(q.selecting)}
        join brain_postings as p on p.term = t.term and p.kind = t.kind and ${inProjectKeys("p", q.filters)}
        group by p.kind, p.project_key, p.row_id, t.word
      ) as s
      group by s.kind, s.project_key, s.row_id
    ) as f
    ${narrowed(q.filters)}
  ), kinds as materialized (
    select k.kind, k.bound,
      (select f.score from found as f where f.kind = k.kind order by f.score desc offset ${q.thresholdRank - 1}::int limit 1) as threshold
    from unnest(${kinds}, ${bounds}) as k(kind, bound)
  ), kept as materialized (
    select f.* from found as f join kinds as k on k.kind = f.kind where k.threshold is null or f.score + k.bound >= k.threshold
  ), added as (
    select s.row_id, sum(s.score) as score
    from (
      select k.row_id, t.word, ${score} as score
      from ${formRows(q.scoring)}
      join kept as k on k.kind = t.kind
      join brain_postings as p on p.term = t.term and p.kind = k.kind and p.project_key = k.project_key and p.row_id = k.row_id
      group by k.row_id, t.word
    ) as s
    group by s.row_id
  ), scored as materialized (
    select k.kind, k.row_id, round((k.score + coalesce(a.score, 0))::numeric, ${SCORE_DIGITS}::int) as score
    from kept as k left join added as a on a.row_id = k.row_id
  )
  select b.kind, b.row_id as id, b.score::float8 as score
  from kinds as k
  cross join lateral (
    select s.* from scored as s where s.kind = k.kind order by s.score desc, s.row_id limit ${q.depth}::int
  ) as b`;
});

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
