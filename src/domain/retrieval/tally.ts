/**
 * Adds up what the words of a question give to rows, from postings as the index hands them over: ids, frequencies and lengths packed into bytes. One row of a
 * statement a posting costs ten times as much to carry over as its 22 bytes.
 */
import { BM25_B, BM25_K1, SCORE_UNITS } from "./bm25.ts";
import type { Hit } from "./hits.ts";

/** The rows that have one form of a word, in one order. */
export interface PackedPostings {
  /** Of each row the 16 bytes of its id. */
  readonly ids: Uint8Array;
  /** How often it has the form: `int2`, most significant byte first. */
  readonly counts: Uint8Array;
  /** Its lexemes: `int4`, most significant byte first. */
  readonly lengths: Uint8Array;
}

/** One form of a question's word with what it weighs among the rows of one kind. */
export interface WeighedPostings {
  readonly postings: PackedPostings;
  /** `idf · (k1 + 1)`. */
  readonly weight: number;
}

/** What a count is weighed against: `k1 · (1 − b)` and, for each lexeme of a row, `k1 · b ÷ average length`. */
export interface LengthNorm {
  readonly base: number;
  readonly perWord: number;
}

export const lengthNorm = (averageLength: number): LengthNorm =>
  averageLength > 0 ? { base: BM25_K1 * (1 - BM25_B), perWord: (BM25_K1 * BM25_B) / averageLength } : { base: BM25_K1, perWord: 0 };

const ID_BYTES = 16;
const COUNT_BYTES = 2;
const LENGTH_BYTES = 4;
const ID_WORDS = ID_BYTES / 4;

export const postingsIn = ({ ids }: PackedPostings): number => ids.length / ID_BYTES;

/** The nearest whole number, the even one of two: what the database's cast to `int` gives, so that scores added there and here agree. */
function toUnits(score: number): number {
  const near = Math.round(score);
  return near - score === 0.5 && near % 2 !== 0 ? near - 1 : near;
}

const areEqual = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;
const areSame = (a: PackedPostings, b: PackedPostings): boolean => areEqual(a.ids, b.ids) && areEqual(a.counts, b.counts);

/** Forms that the same rows have equally often (a word and its stem, as a rule) are one: they have the same weight and add the same. */
const withoutTwins = (forms: readonly WeighedPostings[]): readonly WeighedPostings[] =>
  forms.length < 2 ? forms : forms.filter(({ postings }, at) => !forms.slice(0, at).some((other) => areSame(other.postings, postings)));

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function uuidAt(bytes: Uint8Array, from: number): string {
  let text = "";
  for (let at = 0; at < ID_BYTES; at++) {
    if (at === 4 || at === 6 || at === 8 || at === 10) text += "-";
    text += hex[bytes[from + at] ?? 0];
  }
  return text;
}

/** The four words of each id; a copy where the bytes do not lie on a boundary. Signed: the engine of JavaScript keeps those as integers. */
const asWords = (ids: Uint8Array): Int32Array =>
  ids.byteOffset % 4 === 0 ? new Int32Array(ids.buffer, ids.byteOffset, ids.byteLength / 4) : new Int32Array(ids.slice().buffer);

export interface Tally {
  /** Adds what a word gives to each row that has it: its best form. Whole numbers of {@link SCORE_UNITS}, so the order of words does not matter. */
  add(forms: readonly WeighedPostings[]): void;
  /** Rows that have any of the words. */
  readonly rows: number;
  /** The `limit` best rows and all that are as good as the last of them, in no order; scores in units. */
  best(limit: number): Hit[];
}

/** @param capacity rows at most: the postings of all words that will be added. */
export function createTally(capacity: number, { base, perWord }: LengthNorm): Tally {
  /** Open addressing: at most half full. */
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(capacity, 1) * 2)));
  const mask = slots.length - 1;
  const ids = new Int32Array(capacity * ID_WORDS);
  const totals = new Float64Array(capacity);
  /** What the word under way gives so far, and which word that was. */
  const ofWord = new Float64Array(capacity);
  const lastWord = new Int32Array(capacity);
  let rows = 0;
  let word = 0;

  /** Number of a row; given to it where it is new. */
  const rowOf = (words: Int32Array, from: number): number => {
    const [a, b, c, d] = [words[from] ?? 0, words[from + 1] ?? 0, words[from + 2] ?? 0, words[from + 3] ?? 0];
    // The last bytes of an id are random, of whatever version it is.
    for (let slot = (Math.imul(d, 0x9e3779b1) ^ c) & mask; ; slot = (slot + 1) & mask) {
      const row = (slots[slot] ?? 0) - 1;
      if (row < 0) {
        slots[slot] = rows + 1;
        const to = rows * ID_WORDS;
        ids[to] = a;
        ids[to + 1] = b;
        ids[to + 2] = c;
        ids[to + 3] = d;
        return rows++;
      }
      const at = row * ID_WORDS;
      if (ids[at + 3] === d && ids[at + 2] === c && ids[at + 1] === b && ids[at] === a) return row;
    }
  };

  const addForm = ({ postings, weight }: WeighedPostings) => {
    const { counts, lengths } = postings;
    const words = asWords(postings.ids);
    const units = weight * SCORE_UNITS;
    for (let at = 0, end = postingsIn(postings); at < end; at++) {
      const count = ((counts[at * COUNT_BYTES] ?? 0) << 8) | (counts[at * COUNT_BYTES + 1] ?? 0);
      const from = at * LENGTH_BYTES;
      const length =
        ((lengths[from] ?? 0) << 24) | ((lengths[from + 1] ?? 0) << 16) | ((lengths[from + 2] ?? 0) << 8) | (lengths[from + 3] ?? 0);
      const score = toUnits((units * count) / (count + base + perWord * length));
      const row = rowOf(words, at * ID_WORDS);
      if (lastWord[row] !== word) {
        lastWord[row] = word;
        ofWord[row] = 0;
      }
      const more = score - (ofWord[row] ?? 0);
      if (more <= 0) continue;
      ofWord[row] = score;
      totals[row] = (totals[row] ?? 0) + more;
    }
  };

  return {
    add(forms) {
      word++;
      for (const form of withoutTwins(forms)) addForm(form);
    },
    get rows() {
      return rows;
    },
    best(limit) {
      if (limit < 1) return [];
      const scores = totals.slice(0, rows).sort();
      const edge = scores[Math.max(rows - limit, 0)] ?? 0;
      const bytes = new Uint8Array(ids.buffer);
      const hits: Hit[] = [];
      for (let row = 0; row < rows; row++) {
        const score = totals[row] ?? 0;
        if (score >= edge) hits.push({ id: uuidAt(bytes, row * ID_BYTES), score });
      }
      return hits;
    },
  };
}
