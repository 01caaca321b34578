/**
 * `similarity()` of PostgreSQL's extension `pg_trgm`, for texts that are not in the database yet (items of one batch): unique trigrams of
 * the lower-cased words, each with two blanks before and one behind, |A∩B| ÷ |A∪B|.
 */

/** Unique trigrams of a text. */
export function trigramsOf(text: string): Set<string> {
  const trigrams = new Set<string>();
  for (const word of text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []) {
    const chars = [" ", " ", ...word, " "];
    for (let at = 0; at + 2 < chars.length; at++) trigrams.add(`${chars[at]}${chars[at + 1]}${chars[at + 2]}`);
  }
  return trigrams;
}

/** In [0, 1]; 0 where one text has no word. `PostgreSQL is pinned to version 17` / `… 18` → 0.8889. */
export function trigramSimilarity(a: string, b: string): number {
  return sharedShare(trigramsOf(a), trigramsOf(b));
}

/** |A∩B| ÷ |A∪B| of two sets; 0 where one is empty. */
export function sharedShare(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  if (left.size === 0 || right.size === 0) return 0;
  let shared = 0;
  for (const trigram of left) if (right.has(trigram)) shared++;
  return shared / (left.size + right.size - shared);
}
