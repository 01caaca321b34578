/**
 * SentencePiece's Unigram segmentation: of all ways to cut a word into pieces, the one with the highest sum of log probabilities (Kudo 2018), by one
 * forward pass (Viterbi). Ties go to the cut found first, that is the longer last piece; what no piece covers is one `unk` a run, as in the reference.
 */
import type { PieceTable } from "./piece-table.ts";

/** How far below the rarest piece an unknown character scores; the reference's constant. */
const UNKNOWN_PENALTY = 10;

export interface UnigramModel {
  readonly table: PieceTable;
  /** f64 [pieces]: log probabilities. */
  readonly scores: Float64Array;
  readonly unkId: number;
}

/** A function that appends the ids of one word to `out`. Its work arrays grow to the longest word seen and are reused. */
export function createUnigram({ table, scores, unkId }: UnigramModel): (word: string, out: number[]) => void {
  let rarest = Number.POSITIVE_INFINITY;
  for (const score of scores) if (score < rarest) rarest = score;
  const unknownScore = rarest - UNKNOWN_PENALTY;
  let best = new Float64Array(64);
  let from = new Int32Array(64);
  let piece = new Int32Array(64);

  return (word, out) => {
    const length = word.length;
    if (length >= best.length) {
      best = new Float64Array(length * 2);
      from = new Int32Array(length * 2);
      piece = new Int32Array(length * 2);
    }
    from.fill(-1, 0, length + 1);
    best[0] = 0;
    let here = 0;
    let scoreHere = 0;
    let next = 0;
    let single = false;
    const reach = (end: number, id: number, score: number) => {
      if (from[end] === -1 || score > (best[end] ?? 0)) {
        best[end] = score;
        from[end] = here;
        piece[end] = id;
      }
    };
    const found = (id: number, end: number) => {
      reach(end, id, scoreHere + (scores[id] ?? 0));
      if (end === next) single = true;
    };
    for (here = 0; here < length; here = next) {
      next = here + ((word.codePointAt(here) ?? 0) > 0xffff ? 2 : 1);
      scoreHere = best[here] ?? 0;
      single = false;
      table.prefixes(word, here, found);
      if (!single) reach(next, unkId, scoreHere + unknownScore);
    }
    const start = out.length;
    for (let end = length; end > 0; end = from[end] ?? 0) {
      const id = piece[end] ?? unkId;
      if (id !== unkId || out.length === start || out.at(-1) !== unkId) out.push(id);
    }
    reverse(out, start);
  };
}

function reverse(ids: number[], start: number): void {
  for (let low = start, high = ids.length - 1; low < high; low++, high--) {
    const kept = ids[low] ?? 0;
    ids[low] = ids[high] ?? 0;
    ids[high] = kept;
  }
}
