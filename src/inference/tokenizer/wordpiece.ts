/** BERT's WordPiece: the longest piece first, then on with continuation pieces; a word that cannot be covered is one `unk`. */
import type { PieceTable } from "./piece-table.ts";

export interface WordPieceModel {
  readonly table: PieceTable;
  readonly unkId: number;
  /** Marks a piece inside a word, `##`. */
  readonly continuation: string;
  /** Longer words, in code points, are unknown as a whole. */
  readonly longestWord: number;
}

/** A function that appends the ids of one word to `out`. */
export function createWordPiece({ table, unkId, continuation, longestWord }: WordPieceModel): (word: string, out: number[]) => void {
  return (word, out) => {
    const chars = Array.from(word);
    const start = out.length;
    let whole = chars.length <= longestWord;
    for (let at = 0; whole && at < chars.length; ) {
      let end = chars.length;
      let id = -1;
      for (; end > at && id < 0; end--) id = table.find((at > 0 ? continuation : "") + chars.slice(at, end).join(""));
      if (id < 0) whole = false;
      else {
        out.push(id);
        at = end + 1;
      }
    }
    if (whole) return;
    out.length = start;
    out.push(unkId);
  };
}
