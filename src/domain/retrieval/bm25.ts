/**
 * BM25 (Robertson & Zaragoza 2009) and its pruning: `score = Σ_t idf(t) · tf·(k1+1) / (tf + k1·(1 − b + b·len/avg))`.
 * A question's word may match by several forms (`lexical.ts`); a row gets the best of them. N 10, df 2, tf 3, len 20, avg 10 → 1.9174.
 */
import type { Hit } from "./hits.ts";
import { byScoreThenId } from "./hits.ts";

export const BM25_K1 = 1.2;
export const BM25_B = 0.75;

/** `ln(1 + (N − df + 0.5)/(df + 0.5))`, > 0. `rows` of the scope, `rowsWithTerm` of them with the lexeme. */
export const inverseDocumentFrequency = (rows: number, rowsWithTerm: number): number =>
  Math.log(1 + (Math.max(rows - rowsWithTerm, 0) + 0.5) / (rowsWithTerm + 0.5));

/** What one lexeme adds to the score of a row that has it `count` times in `length` lexemes; always below {@link termBound}. */
export const termScore = (idf: number, count: number, length: number, averageLength: number): number =>
  (idf * count * (BM25_K1 + 1)) / (count + BM25_K1 * (1 - BM25_B + BM25_B * (averageLength > 0 ? length / averageLength : 1)));

/** More than a lexeme can ever add: `idf · (k1 + 1)`. */
export const termBound = (idf: number): number => idf * (BM25_K1 + 1);

/**
 * The index adds scores up as whole numbers of 1/2^25 (3e-8): such a sum does not depend on the order of its parts, so rows that are equal
 * tie, and both engines agree. A word adds at most 64 of a score before that many units outgrow an `int`; among 10 million rows it adds 37.
 */
export const SCORE_UNITS = 2 ** 25;

/** A row that has a lexeme. */
export interface Posting {
  readonly id: string;
  /** How often. */
  readonly count: number;
  /** Lexemes in the row. */
  readonly length: number;
}

/** One form of a question's word with the rows that have it. */
export interface ScoredForm {
  readonly idf: number;
  readonly postings: readonly Posting[];
}

/** One selecting word of a question. */
export type ScoredTerm = readonly ScoredForm[];

const boundOf = (term: ScoredTerm) => termBound(Math.max(0, ...term.map((form) => form.idf)));

/** Terms by what they can add at most, greatest first, each with what all behind it can still add. Frequent words come last. */
export function pruningOrder(terms: readonly ScoredTerm[]): { readonly term: ScoredTerm; readonly restBound: number }[] {
  const ordered = [...terms].sort((a, b) => boundOf(b) - boundOf(a));
  let rest = ordered.reduce((sum, term) => sum + boundOf(term), 0);
  return ordered.map((term) => {
    rest -= boundOf(term);
    return { term, restBound: Math.max(rest, 0) };
  });
}

/**
 * Score of a row of average length that has every word of the question once; the yardstick of coverage. A word that the corpus lacks
 * in every form weighs as the rarest of all, so a question in another language covers little.
 * @param rows N of the scope.
 */
export function fullMatchScore(terms: readonly ScoredTerm[], rows: number): number {
  return fullMatchOf(
    terms.map((term) => term.filter((form) => form.postings.length > 0).map((form) => form.idf)),
    rows,
  );
}

/** The same from the weights alone: for each word the idf of the forms that the corpus has, none where it has none. */
export function fullMatchOf(words: readonly (readonly number[])[], rows: number): number {
  const absent = inverseDocumentFrequency(rows, 0);
  return words.reduce((sum, idfs) => sum + (idfs.length === 0 ? absent : Math.max(...idfs)), 0);
}

/** The best score of a row by any form of one word. */
function scoresOf(term: ScoredTerm, averageLength: number): Map<string, number> {
  const scores = new Map<string, number>();
  for (const { idf, postings } of term)
    for (const { id, count, length } of postings) {
      const score = termScore(idf, count, length, averageLength);
      if (score > (scores.get(id) ?? 0)) scores.set(id, score);
    }
  return scores;
}

const topOf = (totals: ReadonlyMap<string, number>, limit: number): Hit[] =>
  Array.from(totals, ([id, score]) => ({ id, score }))
    .sort(byScoreThenId)
    .slice(0, limit);

/** Every matching row scored by every word: the definition that {@link topByMaxScore} must equal. */
export function topByFullScore(terms: readonly ScoredTerm[], averageLength: number, limit: number): Hit[] {
  const totals = new Map<string, number>();
  for (const { term } of pruningOrder(terms))
    for (const [id, score] of scoresOf(term, averageLength)) totals.set(id, (totals.get(id) ?? 0) + score);
  return topOf(totals, limit);
}

export interface PrunedHits {
  readonly hits: Hit[];
  /** Rows that were scored; the rest could not have reached the top. */
  readonly candidates: number;
}

/** Guards the comparison below against rounding in the last digit. */
const ROUNDING = 1e-9;

/**
 * The same top rows with less work (MaxScore, Turtle & Flood 1995): once the words still to come cannot lift an unseen row past the
 * `limit`-th best, they score the rows already found and select no more.
 */
export function topByMaxScore(terms: readonly ScoredTerm[], averageLength: number, limit: number): PrunedHits {
  const totals = new Map<string, number>();
  let mayEnter = true;
  let restBound = Number.POSITIVE_INFINITY;
  for (const step of pruningOrder(terms)) {
    if (mayEnter && totals.size >= limit) mayEnter = restBound >= limitScore(totals, limit) - ROUNDING;
    for (const [id, score] of scoresOf(step.term, averageLength)) {
      const sofar = totals.get(id);
      if (sofar !== undefined || mayEnter) totals.set(id, (sofar ?? 0) + score);
    }
    restBound = step.restBound;
  }
  return { hits: topOf(totals, limit), candidates: totals.size };
}

/** The `limit`-th best score so far. */
function limitScore(totals: ReadonlyMap<string, number>, limit: number): number {
  return Array.from(totals.values()).sort((a, b) => b - a)[limit - 1] ?? 0;
}
