/**
 * All pieces of a vocabulary in four flat arrays: no object a piece, so 250,000 pieces cost 7 MB and nothing to load, where a map of strings and a tree
 * of nodes cost 200 MB and most of a second. Open addressing over UTF-16 code units; a piece's index is its token id.
 */

export interface PieceArrays {
  /** u32 [power of two]: 0 empty, else the top {@link TAG_BITS} bits of the hash above `index + 1`. */
  readonly slots: Uint32Array;
  /** u32 [pieces + 1]: where each piece begins in `units`. */
  readonly offsets: Uint32Array;
  /** u16: UTF-16 code units of all pieces, end to end. */
  readonly units: Uint16Array;
  /** u8 [65,536]: the longest piece that begins with this code unit, in code units; 0 none. */
  readonly longest: Uint8Array;
}

const TAG_BITS = 12;
const INDEX_BITS = 32 - TAG_BITS;
const INDEX_MASK = (1 << INDEX_BITS) - 1;
/** The index leaves room for so many pieces; the largest vocabulary in the catalogue has 250,048. */
const MOST_PIECES = INDEX_MASK - 1;
const LONGEST_PIECE = 255;
const CODE_UNITS = 0x10000;

/** FNV-1a over code units, then one round of mixing: neighbouring prefixes of a text must not land in neighbouring slots. */
const HASH_START = 0x811c9dc5;
const step = (hash: number, unit: number) => Math.imul(hash ^ unit, 0x01000193);
const mix = (hash: number) => {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (once ^ (once >>> 13)) >>> 0;
};

/**
 * Lays the pieces out. Of two equal pieces the later id wins, as in the reference.
 * @returns undefined where they are too many or one is too long for the layout.
 */
export function layOut(pieces: readonly string[]): PieceArrays | undefined {
  if (pieces.length > MOST_PIECES) return undefined;
  const total = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const offsets = new Uint32Array(pieces.length + 1);
  const units = new Uint16Array(total);
  const longest = new Uint8Array(CODE_UNITS);
  let size = 2;
  while (size < pieces.length * 2) size *= 2;
  const slots = new Uint32Array(size);
  let at = 0;
  for (const [index, piece] of pieces.entries()) {
    if (piece.length > LONGEST_PIECE) return undefined;
    offsets[index] = at;
    let hash = HASH_START;
    for (let i = 0; i < piece.length; i++) {
      const unit = piece.charCodeAt(i);
      units[at++] = unit;
      hash = step(hash, unit);
    }
    if (piece.length === 0) continue;
    const first = piece.charCodeAt(0);
    longest[first] = Math.max(longest[first] ?? 0, piece.length);
    const mixed = mix(hash);
    let slot = mixed & (size - 1);
    for (let there = slots[slot] ?? 0; there !== 0; there = slots[slot] ?? 0) {
      const other = (there & INDEX_MASK) - 1;
      if (pieces[other] === piece) break;
      slot = (slot + 1) & (size - 1);
    }
    slots[slot] = (((mixed >>> INDEX_BITS) << INDEX_BITS) | (index + 1)) >>> 0;
  }
  offsets[pieces.length] = at;
  return { slots, offsets, units, longest };
}

export class PieceTable {
  readonly #slots: Uint32Array;
  readonly #offsets: Uint32Array;
  readonly #units: Uint16Array;
  readonly #longest: Uint8Array;
  readonly #mask: number;

  constructor(arrays: PieceArrays) {
    this.#slots = arrays.slots;
    this.#offsets = arrays.offsets;
    this.#units = arrays.units;
    this.#longest = arrays.longest;
    this.#mask = arrays.slots.length - 1;
  }

  /** The piece with this token id; empty for one that is not there. */
  textOf(id: number): string {
    return String.fromCharCode(...this.#units.subarray(this.#offsets[id] ?? 0, this.#offsets[id + 1] ?? 0));
  }

  /** Token id of exactly `text`, or -1. */
  find(text: string): number {
    let hash = HASH_START;
    for (let i = 0; i < text.length; i++) hash = step(hash, text.charCodeAt(i));
    return this.#probe(hash, text, 0, text.length);
  }

  /** Calls `found(id, end)` for each piece that begins at `start` of `text`, shortest first. */
  prefixes(text: string, start: number, found: (id: number, end: number) => void): void {
    const last = Math.min(text.length, start + (this.#longest[text.charCodeAt(start)] ?? 0));
    let hash = HASH_START;
    for (let end = start; end < last; ) {
      hash = step(hash, text.charCodeAt(end++));
      const id = this.#probe(hash, text, start, end);
      if (id >= 0) found(id, end);
    }
  }

  #probe(hash: number, text: string, start: number, end: number): number {
    const mixed = mix(hash);
    const tag = mixed >>> INDEX_BITS;
    for (let slot = mixed & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const there = this.#slots[slot] ?? 0;
      if (there === 0) return -1;
      if (there >>> INDEX_BITS === tag && this.#equals((there & INDEX_MASK) - 1, text, start, end)) return (there & INDEX_MASK) - 1;
    }
  }

  #equals(index: number, text: string, start: number, end: number): boolean {
    const from = this.#offsets[index] ?? 0;
    if ((this.#offsets[index + 1] ?? 0) - from !== end - start) return false;
    for (let i = 0; i < end - start; i++) if (this.#units[from + i] !== text.charCodeAt(start + i)) return false;
    return true;
  }
}
