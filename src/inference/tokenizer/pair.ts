/** Two texts as one input: the special tokens around and between them, and who is cut when both do not fit. */
import { z } from "zod";

/** A special token, or one of the two texts, with the segment that its tokens belong to. */
export const pairItemSchema = z.union([
  z.object({ special: z.int().nonnegative(), type: z.int().nonnegative() }),
  z.object({ text: z.enum(["first", "second"]), type: z.int().nonnegative() }),
]);
export type PairItem = z.infer<typeof pairItemSchema>;

export interface EncodedPair {
  readonly ids: number[];
  /** Segment of each token; all 0 for XLM-R, 0 and 1 for BERT and DeBERTa. */
  readonly typeIds: number[];
  /** True where a part of a text did not fit: what stands there is invisible to the model. */
  readonly isCut: boolean;
}

/**
 * How many tokens of each text are kept, as the reference cuts (`longest_first`): the longer one gives first; where both are too long, each gets half and the
 * longer one the odd token. (3, 20, room 10) → 3, 7; (20, 20, room 11) → 5, 6.
 */
export function longestFirst(first: number, second: number, room: number): readonly [number, number] {
  if (first + second <= room) return [first, second];
  const short = Math.min(first, second);
  let [less, more] = [short, Math.max(short, room - short)];
  if (less + more > room) [less, more] = [Math.floor(room / 2), Math.ceil(room / 2)];
  return first <= second ? [less, more] : [more, less];
}

/**
 * Puts two texts' own tokens into the frame, at most `limit` tokens in all.
 * @param limit at least the number of special tokens.
 */
export function assemblePair(frame: readonly PairItem[], first: readonly number[], second: readonly number[], limit: number): EncodedPair {
  const specials = frame.filter((item) => "special" in item).length;
  const [keptFirst, keptSecond] = longestFirst(first.length, second.length, Math.max(0, limit - specials));
  const ids: number[] = [];
  const typeIds: number[] = [];
  for (const item of frame) {
    const added = "special" in item ? [item.special] : item.text === "first" ? first.slice(0, keptFirst) : second.slice(0, keptSecond);
    ids.push(...added);
    for (const _ of added) typeIds.push(item.type);
  }
  return { ids, typeIds, isCut: keptFirst < first.length || keptSecond < second.length };
}
