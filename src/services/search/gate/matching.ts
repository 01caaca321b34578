/** The statistic that reads the nearest rows token by token: their texts are read with the rest, the model reads them after the transaction. */
import { contextualText } from "../../../domain/embedding-text.ts";
import { partWithWords } from "../../../domain/retrieval/abstention/part.ts";
import { type TokenSpace, type TokenVectors, type WeightedWord, wordMatch } from "../../../domain/retrieval/abstention/word-match.ts";
import type { Embedder } from "../../../inference/port.ts";
import type { Tx } from "../../../store/port.ts";
import { embeddedTexts } from "../../../store/queries/abstention.ts";
import type { VectorHits } from "../arms/vector.ts";

/** Nearest rows that are read: on `bench/corpus` a third and a fifth add nothing, and each costs a run of the model (13 ms for 35 tokens). */
export const ROWS_MATCHED = 2;

/**
 * Characters of a row that are read, the part of it with most of the question's words: a piece of 1,400 costs the model 130 ms, this 50. The longest row of `bench/corpus` has
 * 414, so what was measured there is not touched.
 */
const LONGEST_TEXT = 600;

export type ReadTokens = NonNullable<Embedder["tokens"]>;

/** No piece of an observation has this index. */
const NO_PIECE = -1;

/** Ids of the nearest rows that are left. */
export const nearestIds = (near: VectorHits | undefined, without: ReadonlySet<string> = new Set()): readonly string[] =>
  (near?.hits ?? [])
    .filter(({ id }) => !without.has(id))
    .slice(0, ROWS_MATCHED)
    .map(({ id }) => id);

/** Texts of rows as they were embedded, without the prefix of a passage; of a long one the part that has most of the question's words. */
export async function readTexts(
  tx: Tx,
  near: VectorHits | undefined,
  ids: readonly string[],
  words: readonly WeightedWord[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.all(embeddedTexts({ ids, chunks: ids.map((id) => near?.chunks.get(id) ?? NO_PIECE) }));
  return new Map(rows.map(({ id, ...row }) => [id, embeddedText(row, words)]));
}

export const embeddedText = (
  { subject, subjectType, content }: { readonly subject: string; readonly subjectType: string; readonly content: string },
  words: readonly WeightedWord[] = [],
): string => contextualText(subject, subjectType, partWithWords(content, words, LONGEST_TEXT));

/** How well the best of some rows holds every word of the question. */
export const bestMatch = (
  question: TokenVectors,
  rows: readonly TokenVectors[],
  words: readonly WeightedWord[],
  space: TokenSpace,
): number => Math.max(0, ...rows.map((row) => wordMatch(question, row, words, space)));
