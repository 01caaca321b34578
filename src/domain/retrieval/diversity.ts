/** A result list without repetition: near-duplicates dropped, and Maximal Marginal Relevance on request (`retrieval.md` §2.12, §2.17). */
import { sameWords } from "../same-words.ts";
import { alphanumericWords } from "../words.ts";

/** Shared members ÷ the smaller set's size; 0 where one is empty. `Hello World` and `hello there` → 0.5. */
export function overlapCoefficient(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const smaller = Math.min(a.size, b.size);
  return smaller === 0 ? 0 : sharedCount(a, b) / smaller;
}

/** Shared members ÷ all members; 0 where both are empty. */
export function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const shared = sharedCount(a, b);
  const all = a.size + b.size - shared;
  return all === 0 ? 0 : shared / all;
}

function sharedCount(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  let shared = 0;
  for (const member of small) if (large.has(member)) shared++;
  return shared;
}

/** The set of a text's words, lower case. */
export const wordSet = (text: string): Set<string> => new Set(alphanumericWords(text.toLowerCase()));

/** The part of a result row that decides whether it repeats another. */
export interface RepeatableRow {
  /** Undefined: never a repetition (an entity, an error without text). */
  readonly content: string | undefined;
  /** The same words mean another thing under each entity. */
  readonly entity: string | undefined;
}

/** Below it two texts cannot have the same words; cheap to compute, so it stands before the exact comparison. */
const SAME_WORDS_PRETEST = 0.85;

/** The rows in their order without those that have the same words as an earlier one of the same entity. */
export function withoutRepetitions<T>(rows: readonly T[], view: (row: T) => RepeatableRow): T[] {
  const kept = new Map<string, string[]>();
  /** Made where two rows of one entity meet: most stand alone. */
  const sets = new Map<string, ReadonlySet<string>>();
  const wordsIn = (content: string): ReadonlySet<string> => {
    const words = sets.get(content) ?? wordSet(content);
    sets.set(content, words);
    return words;
  };
  return rows.filter((row) => {
    const { content, entity } = view(row);
    if (content === undefined || content === "") return true;
    const earlier = kept.get(entity ?? "") ?? [];
    const repeats = earlier.some(
      (other) => overlapCoefficient(wordsIn(other), wordsIn(content)) > SAME_WORDS_PRETEST && sameWords(other, content),
    );
    if (!repeats) kept.set(entity ?? "", [...earlier, content]);
    return !repeats;
  });
}

/** Words shorter than this tell nothing about what a row is about. */
const MIN_WORD_CHARS = 3;

/** Similarity of two rows for MMR: Jaccard of their words of three characters or more; of text without spaces, of all. */
export const diversityWords = (text: string): Set<string> =>
  new Set(alphanumericWords(text.toLowerCase()).filter((word) => word.length >= MIN_WORD_CHARS || /[^ -\u02af]/.test(word)));

/**
 * Maximal Marginal Relevance (Carbonell & Goldstein 1998): greedily the row with the greatest λ·relevance − (1−λ)·similarity to what was
 * picked, the most relevant first; ties to the earlier row. Relevance is first stretched to 0–1 over the rows, since fused scores are small beside similarities.
 * @param lambda 1 = relevance only, 0 = diversity only; clamped.
 * @returns indices into `relevance`, at most `count`.
 */
export function pickDiverse(
  relevance: readonly number[],
  similarity: (a: number, b: number) => number,
  lambda: number,
  count: number,
): number[] {
  const weight = Math.min(Math.max(lambda, 0), 1);
  const scaled = stretch(relevance);
  const nearest = scaled.map(() => 0);
  const left = scaled.map((_, at) => at);
  const picked: number[] = [];
  while (picked.length < count && left.length > 0) {
    const gain = (at: number) => (picked.length === 0 ? (scaled[at] ?? 0) : weight * (scaled[at] ?? 0) - (1 - weight) * (nearest[at] ?? 0));
    const best = left.reduce((winner, at) => (gain(at) > gain(winner) ? at : winner));
    picked.push(best);
    left.splice(left.indexOf(best), 1);
    for (const at of left) nearest[at] = Math.max(nearest[at] ?? 0, similarity(best, at));
  }
  return picked;
}

function stretch(values: readonly number[]): number[] {
  const low = Math.min(...values);
  const range = Math.max(...values) - low;
  return values.map((value) => (range > 0 ? (value - low) / range : 1));
}
