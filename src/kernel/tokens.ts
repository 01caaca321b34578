/**
 * Tokens of a text as the common clients count them (cl100k). The vocabulary costs 3 MB and 40 ms, so it is loaded at the first text
 * whose bytes alone do not settle the question; nobody pays for it at start.
 *
 * Own merge loop over a flat hash table: the two packages that count cl100k hold 50 to 60 MB, and one needs 13 s for 9,000 times `x`.
 */

/** A number of tokens that a text cannot exceed: each token is at least one byte of UTF-8. */
export const mostTokens = (text: string): number => Buffer.byteLength(text);

/** Counts the tokens of a text. Exact for words up to {@link LONGEST_WORD_BYTES}; a longer one is counted in slices, at most one token off a slice. */
export type TokenCounter = (text: string) => number;

/** Merging is quadratic in the bytes of one word; this bounds it. Words of ordinary text and of Chinese sentences are far below. */
const LONGEST_WORD_BYTES = 512;
/** Size of the cl100k vocabulary. */
const TOKENS = 100_256;
/** Slots of the hash table: a power of two, load 0.38. */
const SLOTS = 1 << 18;
/** The published pattern; `\s` of JavaScript counts the byte order mark as a blank, the original does not. */
const words =
  /'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\p{White_Space}\p{L}\p{N}]+[\r\n]*|\p{White_Space}*[\r\n]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

/** The vocabulary as flat arrays: the bytes of all tokens in a row, where each starts, and an open-addressing table from bytes to rank. */
interface Vocabulary {
  /** Rank of a byte sequence, or -1. `bytes[from, to)` */
  rank(bytes: Uint8Array, from: number, to: number): number;
}

function hash(bytes: Uint8Array, from: number, to: number): number {
  let value = 0x811c9dc5;
  for (let at = from; at < to; at++) value = Math.imul(value ^ (bytes[at] ?? 0), 0x01000193);
  return (value ^ (value >>> 15)) & (SLOTS - 1);
}

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/**
 * Reads the published form straight into the flat arrays: an array a token would cost 30 MB on the way.
 * @param encoded lines of `! <first rank> <base64> <base64> …`; the ranks run on from line to line.
 */
function readVocabulary(encoded: string): Vocabulary {
  const sextet = new Int8Array(128).fill(-1);
  for (let value = 0; value < BASE64.length; value++) sextet[BASE64.charCodeAt(value)] = value;
  const pool = new Uint8Array(Math.ceil((encoded.length * 3) / 4));
  const starts = new Uint32Array(TOKENS + 1);
  let used = 0;
  let rank = 0;
  for (let lineAt = 0; lineAt < encoded.length; ) {
    const lineEnd = encoded.indexOf("\n", lineAt) === -1 ? encoded.length : encoded.indexOf("\n", lineAt);
    const body = encoded.indexOf(" ", encoded.indexOf(" ", lineAt) + 1) + 1;
    let bits = 0;
    let held = 0;
    for (let at = body; at <= lineEnd; at++) {
      const value = sextet[at === lineEnd ? 32 : encoded.charCodeAt(at)] ?? -1;
      if (value !== -1) {
        bits = (bits << 6) | value;
        held += 6;
        if (held < 8) continue;
        held -= 8;
        pool[used++] = (bits >> held) & 0xff;
      } else if (at === lineEnd || encoded[at] === " ") {
        starts[++rank] = used;
        held = 0;
      }
    }
    lineAt = lineEnd + 1;
  }
  const slots = new Int32Array(SLOTS).fill(-1);
  for (let at = 0; at < rank; at++) {
    let slot = hash(pool, starts[at] ?? 0, starts[at + 1] ?? 0);
    while (slots[slot] !== -1) slot = (slot + 1) & (SLOTS - 1);
    slots[slot] = at;
  }
  return {
    rank(bytes, from, to) {
      for (let slot = hash(bytes, from, to); ; slot = (slot + 1) & (SLOTS - 1)) {
        const rank = slots[slot] ?? -1;
        if (rank === -1) return -1;
        const start = starts[rank] ?? 0;
        if ((starts[rank + 1] ?? 0) - start !== to - from) continue;
        let same = true;
        for (let i = 0; same && i < to - from; i++) same = pool[start + i] === bytes[from + i];
        if (same) return rank;
      }
    },
  };
}

/** Byte-pair merging of `bytes[from, to)`: the adjacent pair of the lowest rank first, until none is a token. Answers how many parts are left. */
function merged(vocabulary: Vocabulary, bytes: Uint8Array, from: number, to: number): number {
  if (vocabulary.rank(bytes, from, to) !== -1) return 1;
  const edges: number[] = [];
  for (let at = from; at <= to; at++) edges.push(at);
  const rankAt = (part: number) => {
    const end = edges[part + 2];
    return end === undefined ? -1 : vocabulary.rank(bytes, edges[part] ?? from, end);
  };
  const ranks = edges.slice(0, -2).map((_, part) => rankAt(part));
  for (;;) {
    let best = -1;
    for (let part = 0; part < ranks.length; part++) {
      const rank = ranks[part] ?? -1;
      if (rank !== -1 && (best === -1 || rank < (ranks[best] ?? 0))) best = part;
    }
    if (best === -1) return edges.length - 1;
    edges.splice(best + 1, 1);
    ranks.splice(best, 1);
    if (best < ranks.length) ranks[best] = rankAt(best);
    if (best > 0) ranks[best - 1] = rankAt(best - 1);
  }
}

/** End of a slice that starts at `from`: at most {@link LONGEST_WORD_BYTES} on, never inside a code point. */
function sliceEnd(bytes: Uint8Array, from: number, length: number): number {
  let end = Math.min(length, from + LONGEST_WORD_BYTES);
  while (end < length && end > from + 1 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return end;
}

function counterOver(vocabulary: Vocabulary): TokenCounter {
  const encoder = new TextEncoder();
  return (text) => {
    let count = 0;
    for (const [word] of text.toWellFormed().matchAll(words)) {
      const bytes = encoder.encode(word);
      for (let from = 0; from < bytes.length; ) {
        const to = sliceEnd(bytes, from, bytes.length);
        count += merged(vocabulary, bytes, from, to);
        from = to;
      }
    }
    return count;
  };
}

let loading: Promise<TokenCounter> | undefined;

/** The exact counter; loads its vocabulary at the first call. */
export function tokenCounter(): Promise<TokenCounter> {
  loading ??= import("js-tiktoken/ranks/cl100k_base").then(({ default: published }) => counterOver(readVocabulary(published.bpe_ranks)));
  return loading;
}
