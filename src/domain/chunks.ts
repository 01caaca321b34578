/** Pieces of a long text that get vectors of their own (`tools-graph.md` §3.14, `retrieval.md` §5.6). All lengths in code points. */

import { type Steps, toEnd } from "../kernel/steps.ts";

export interface ChunkSize {
  /** Longest piece. */
  readonly sizeChars: number;
  /** How much of a piece the next one repeats; never more than half a piece. */
  readonly overlapChars: number;
}

/** A text longer than this gets pieces: an embedder reads about so much of it (512 tokens). */
export const CHUNK_THRESHOLD_CHARS = 1800;
export const DEFAULT_CHUNKS: ChunkSize = { sizeChars: 1400, overlapChars: 200 };

const SENTENCE_ENDS = new Set([".", "!", "?", "。", "！", "？", "；", "\n"]);
const isBlank = (char: string) => /\s/u.test(char);

/** One past the last character of `chars[from, to)` that fits, or undefined. */
function cutBehind(chars: readonly string[], from: number, to: number, fits: (char: string) => boolean): number | undefined {
  for (let at = to - 1; at >= from; at--) if (fits(chars[at] ?? "")) return at + 1;
  return undefined;
}

/**
 * Splits a text into pieces: at the last sentence end in the second half of the window, else at the last blank there, else hard.
 * Pieces are trimmed, empty ones dropped; a text no longer than `sizeChars` is one piece. No word is lost, no code point broken.
 */
export const splitText = (text: string, size: ChunkSize = DEFAULT_CHUNKS): string[] => toEnd(pieceSteps(text, size));

/** {@link splitText} in steps, one a piece: of a text of millions of characters only the window is taken apart. */
export function* pieceSteps(text: string, { sizeChars, overlapChars }: ChunkSize): Steps<string[]> {
  const overlap = Math.min(overlapChars, Math.floor(sizeChars / 2));
  const middle = Math.floor(sizeChars / 2);
  const pieces: string[] = [];
  /** UTF-16 units of the text before the window. */
  let unit = 0;
  for (;;) {
    // Twice as many units as code points hold them all, one more tells whether the window is the last; a pair cut at its end lies behind both.
    const ahead = Array.from(text.slice(unit, unit + 2 * (sizeChars + 1)));
    const isLast = ahead.length <= sizeChars;
    const chars = ahead.slice(0, sizeChars);
    const end = isLast
      ? chars.length
      : (cutBehind(chars, middle, chars.length, (char) => SENTENCE_ENDS.has(char)) ??
        cutBehind(chars, middle, chars.length, isBlank) ??
        chars.length);
    const piece = chars.slice(0, end).join("").trim();
    if (piece !== "") pieces.push(piece);
    if (isLast) return pieces;
    const next = end - overlap > 0 ? end - overlap : sizeChars - overlap;
    unit += chars.slice(0, next).join("").length;
    yield;
  }
}

/** The chunks of an observation: none up to `thresholdChars`. */
export function chunksOf(content: string, thresholdChars = CHUNK_THRESHOLD_CHARS, size: ChunkSize = DEFAULT_CHUNKS): string[] {
  if (content.length <= thresholdChars || Array.from(content).length <= thresholdChars) return [];
  return splitText(content, size);
}
