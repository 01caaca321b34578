/** Words that no row has may be misspelt: words of the index that begin alike and share most trigrams stand in for them, in the text arm. */
import { trigramSimilarity } from "../../../domain/trigrams.ts";
import type { Tx } from "../../../store/port.ts";
import type { Filters } from "../../../store/queries/search-filters.ts";
import { wordsBeginning } from "../../../store/queries/search-words.ts";

export interface NearSpelling {
  /** Words of the index, nearest first. */
  readonly terms: readonly string[];
  /** Of the nearest, 0–1. */
  readonly similarity: number;
}

/** Letters that must be right; a shorter prefix would have to look at thousands of words. */
const PREFIX_CHARS = 3;
/** A shorter word is like too many others. */
const LEAST_CHARS = 5;
/** Words with the prefix that are looked at. */
const MOST_LOOKED_AT = 400;
/** `postgress` and `postgres` share 0.73 of their trigrams, `retreival` and `retrieval` 0.43, `posts` and `postgres` 0.36. */
const LEAST_SIMILARITY = 0.4;
/** Words that stand in for one, and words of a question that are looked up. */
const MOST_STAND_INS = 3;
const MOST_WORDS = 4;

/** Trigrams and codes only make sense where words are spelt letter by letter. */
const isSpelt = (word: string) =>
  word.length >= LEAST_CHARS && /^\p{L}+$/u.test(word) && !/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u.test(word);

/** Stand-ins for the words that are spelt like words of the index; the others are left out. */
export async function nearSpellings(tx: Tx, unknown: readonly string[], filters: Filters): Promise<readonly NearSpelling[]> {
  const found: NearSpelling[] = [];
  for (const word of unknown.filter(isSpelt).slice(0, MOST_WORDS)) {
    const rows = await tx.all(wordsBeginning({ prefix: word.slice(0, PREFIX_CHARS), limit: MOST_LOOKED_AT, filters }));
    const near = rows
      .map(({ term }) => ({ term, similarity: trigramSimilarity(word, term) }))
      .filter(({ similarity }) => similarity >= LEAST_SIMILARITY)
      .sort((a, b) => b.similarity - a.similarity || (a.term < b.term ? -1 : 1))
      .slice(0, MOST_STAND_INS);
    if (near[0] !== undefined) found.push({ terms: near.map(({ term }) => term), similarity: near[0].similarity });
  }
  return found;
}
