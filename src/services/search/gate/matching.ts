/** The statistic that reads the nearest rows token by token: their texts are read with the rest, the model reads them after the transaction. */
import { contextualText } from "../../../domain/embedding-text.ts";
import { type TokenSpace, type TokenVectors, type WeightedWord, wordMatch } from "../../../domain/retrieval/abstention/word-match.ts";
import type { Embedder } from "../../../inference/port.ts";
import type { Tx } from "../../../store/port.ts";
import { embeddedTexts } from "../../../store/queries/abstention.ts";
import type { VectorHits } from "../arms/vector.ts";

/** Nearest rows that are read: on `bench/corpus` a third and a fifth add nothing, and each costs a run of the model (13 ms for 35 tokens). */
export const ROWS_MATCHED = 2;

/** Characters of a row that are read: a long row is found by a piece (1,400), and what it says stands in it. */
const LONGEST_TEXT = 1_400;

export type ReadTokens = NonNullable<Embedder["tokens"]>;

/** No piece of an observation has this index. */
const NO_PIECE = -1;

/** Ids of the nearest rows that are left. */
export const nearestIds = (near: VectorHits | undefined, without: ReadonlySet<string> = new Set()): readonly string[] =>
  (near?.hits ?? [])
    .filter(({ id }) => !without.has(id))
    .slice(0, ROWS_MATCHED)
    .map(({ id }) => id);

/** Texts of rows as they were embedded, without the prefix of a passage. */
export async function readTexts(tx: Tx, near: VectorHits | undefined, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.all(embeddedTexts({ ids, chunks: ids.map((id) => near?.chunks.get(id) ?? NO_PIECE) }));
  return new Map(rows.map(({ id, ...row }) => [id, embeddedText(row)]));
}

export const embeddedText = ({ subject, subjectType, content }: { subject: string; subjectType: string; content: string }): string =>
  contextualText(subject, subjectType, content.slice(0, LONGEST_TEXT));

/** How well the best of some rows holds every word of the question. */
export const bestMatch = (
  question: TokenVectors,
  rows: readonly TokenVectors[],
  words: readonly WeightedWord[],
  space: TokenSpace,
): number => Math.max(0, ...rows.map((row) => wordMatch(question, row, words, space)));
