/**
 * SentencePiece's precompiled character map (`nmt_nfkc` and its like): which byte sequences become which text before segmentation.
 * Layout: u32 size of the trie in bytes, the trie (a double array of u32, Darts-clone), then NUL-terminated UTF-8 replacements.
 * The walk follows the reference (crates `tokenizers` and `spm_precompiled`): a cluster shorter than six bytes as a whole, else each code point alone,
 * and the *shortest* key that matches wins.
 */

/** Longest grapheme cluster, in UTF-8 bytes, that the reference looks up as a whole. */
const WHOLE_CLUSTER_BYTES = 5;
/** Code points above this never occur in these maps; a bit per BMP code unit says whether a code point alone has a mapping. */
const BMP = 0x10000;

/** Text in which a user-perceived character may span code points; anything else needs no segmenter, which costs ten times the rest. */
const CLUSTERS = /[\p{M}\p{Cf}\p{Regional_Indicator}\p{Emoji_Modifier}\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7fb\u0e33\u0eb3\r]/u;
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

export class CharsMap {
  readonly #units: Uint32Array;
  readonly #replacements: Uint8Array;
  readonly #asciiUntouched: boolean;
  readonly #mapped = new Map<string, string | undefined>();
  readonly #encoder = new TextEncoder();
  readonly #decoder = new TextDecoder();
  readonly #clusters = new Intl.Segmenter("en", { granularity: "grapheme" });

  /** @param blob the decoded `precompiled_charsmap`. @throws RangeError where the blob is shorter than it says. */
  constructor(blob: Uint8Array) {
    const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
    const trieBytes = view.getUint32(0, true);
    if (trieBytes % 4 !== 0 || 4 + trieBytes > blob.byteLength) throw new RangeError("precompiled character map is cut short");
    // Copied, because the trie stands at an odd place in the file; little-endian like every machine we run on.
    this.#units = new Uint32Array(blob.slice(4, 4 + trieBytes).buffer);
    this.#replacements = blob.subarray(4 + trieBytes);
    this.#asciiUntouched = Array.from({ length: 0x7f - 0x20 }, (_, i) => String.fromCharCode(0x20 + i)).every(
      (char) => this.#look(char) === undefined,
    );
  }

  apply(text: string): string {
    if (this.#asciiUntouched && PRINTABLE_ASCII.test(text)) return text;
    let out = "";
    if (CLUSTERS.test(text)) {
      for (const { segment } of this.#clusters.segment(text)) out += this.#cluster(segment);
    } else {
      for (const char of text) out += this.#single(char);
    }
    return out;
  }

  #cluster(cluster: string): string {
    const whole = this.#encoder.encode(cluster).length <= WHOLE_CLUSTER_BYTES ? this.#remembered(cluster) : undefined;
    if (whole !== undefined) return whole;
    let out = "";
    for (const char of cluster) out += this.#single(char);
    return out;
  }

  #single(char: string): string {
    return this.#remembered(char) ?? char;
  }

  /** Looked-up characters are few and repeat; the bound keeps hostile text from filling memory. */
  #remembered(text: string): string | undefined {
    if (this.#mapped.has(text)) return this.#mapped.get(text);
    const found = this.#look(text);
    if (this.#mapped.size >= BMP) this.#mapped.clear();
    this.#mapped.set(text, found);
    return found;
  }

  /** Replacement of the shortest key that begins `text`, or undefined. Unit: label bits 0–7 and 31, leaf bit 8, offset bits 10–30 (bit 9: shifted by 8). */
  #look(text: string): string | undefined {
    const units = this.#units;
    const offset = (unit: number) => (unit >>> 10) << ((unit & 0x200) >>> 6);
    let at = offset(units[0] ?? 0);
    for (const byte of this.#encoder.encode(text)) {
      if (byte === 0) return undefined;
      at ^= byte;
      const unit = units[at] ?? 0;
      if ((unit & 0x800000ff) >>> 0 !== byte) return undefined;
      at ^= offset(unit);
      if ((unit & 0x100) !== 0) return this.#replacement((units[at] ?? 0) & 0x7fffffff);
    }
    return undefined;
  }

  #replacement(start: number): string {
    const end = this.#replacements.indexOf(0, start);
    return this.#decoder.decode(this.#replacements.subarray(start, end < 0 ? undefined : end));
  }
}
