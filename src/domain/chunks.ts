/** Pieces of a long text that get vectors of their own (`tools-graph.md` §3.14, `retrieval.md` §5.6). All lengths in code points. */

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
export function splitText(text: string, { sizeChars, overlapChars }: ChunkSize = DEFAULT_CHUNKS): string[] {
  const chars = Array.from(text);
  const overlap = Math.min(overlapChars, Math.floor(sizeChars / 2));
  const pieces: string[] = [];
  for (let start = 0; start < chars.length; ) {
    const hardEnd = Math.min(start + sizeChars, chars.length);
    const middle = start + Math.floor(sizeChars / 2);
    const end =
      hardEnd === chars.length
        ? hardEnd
        : (cutBehind(chars, middle, hardEnd, (char) => SENTENCE_ENDS.has(char)) ?? cutBehind(chars, middle, hardEnd, isBlank) ?? hardEnd);
    const piece = chars.slice(start, end).join("").trim();
    if (piece !== "") pieces.push(piece);
    if (end === chars.length) break;
    start = end - overlap > start ? end - overlap : start + sizeChars - overlap;
  }
  return pieces;
}

/** The chunks of an observation: none up to `thresholdChars`. */
export function chunksOf(content: string, thresholdChars = CHUNK_THRESHOLD_CHARS, size: ChunkSize = DEFAULT_CHUNKS): string[] {
  if (content.length <= thresholdChars || Array.from(content).length <= thresholdChars) return [];
  return splitText(content, size);
}
