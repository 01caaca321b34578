/** Text in, token ids out; the order of steps that every tokenizer of ours shares. */
import { assemblePair, type EncodedPair, type PairItem } from "./pair.ts";
import type { AddedToken } from "./recipe.ts";

export interface Encoder {
  /**
   * Token ids with the model's special tokens, at most `limit` of them: what is too long is cut before the closing special tokens, which stay.
   * @param limit in tokens, at least the number of special tokens.
   */
  encode(text: string, limit: number): number[];
  /**
   * Both texts in the model's frame for pairs, at most `limit` tokens, the longer text cut first.
   * @throws Error for a tokenizer that has no frame for two texts.
   */
  encodePair(first: string, second: string, limit: number): EncodedPair;
  /**
   * The text of each token, a blank in front where it begins a word after white space; special tokens are empty. Undefined for a tokenizer that cannot
   * tell a token's text by itself (byte-level BPE).
   */
  readonly pieces?: ((ids: readonly number[]) => string[]) | undefined;
}

export interface EncoderParts {
  readonly normalize: (text: string) => string;
  readonly split: (text: string, first: boolean) => string[];
  /** Appends a word's ids to `out`. */
  readonly segment: (word: string, out: number[]) => void;
  readonly added: readonly AddedToken[];
  readonly before: readonly number[];
  readonly after: readonly number[];
  /** Empty where the tokenizer has none. */
  readonly pair: readonly PairItem[];
  /** The text of a token that is no special one, a blank in front where it begins a word after white space. */
  readonly pieceOf: (id: number) => string;
}

export function createEncoder({ normalize, split, segment, added, before, after, pair, pieceOf }: EncoderParts): Encoder {
  const special = new Set([...before, ...after, ...added.map(({ id }) => id)]);
  const asWritten = cutter(added.filter((token) => !token.normalized));
  const normalized = cutter(added.filter((token) => token.normalized).map((token) => ({ ...token, content: normalize(token.content) })));

  /** Appends a text's own ids until `out` has `enough` of them, or some more: a text may be a hundred times longer than the model reads. */
  const append = (text: string, out: number[], enough: number) => {
    let first = true;
    for (const outer of asWritten(text.toWellFormed())) {
      for (const part of typeof outer === "number" ? [outer] : normalized(normalize(outer))) {
        if (out.length >= enough) return;
        if (typeof part === "number") out.push(part);
        else if (part !== "")
          for (const word of split(part, first)) {
            if (out.length >= enough) return;
            segment(word, out);
          }
        first = false;
      }
    }
  };
  const own = (text: string, enough: number): number[] => {
    const out: number[] = [];
    append(text, out, enough);
    return out;
  };

  return {
    encode(text, limit) {
      const out = [...before];
      const room = limit - after.length;
      append(text, out, room);
      if (out.length > room) out.length = room;
      out.push(...after);
      return out;
    },
    encodePair(first, second, limit) {
      if (pair.length === 0) throw new Error("the tokenizer has no form for two texts");
      // One more than fits tells a text that is cut from one that just fits.
      return assemblePair(pair, own(first, limit + 1), own(second, limit + 1), limit);
    },
    pieces: (ids) => ids.map((id) => (special.has(id) ? "" : pieceOf(id))),
  };
}

/** Cuts a text at added tokens: their ids, and the text between them. */
function cutter(tokens: readonly AddedToken[]): (text: string) => readonly (string | number)[] {
  const byContent = new Map(tokens.filter(({ content }) => content !== "").map((token) => [token.content, token]));
  if (byContent.size === 0) return (text) => [text];
  // Longest first: the reference takes the longest of two that begin alike.
  const contents = [...byContent.keys()].sort((a, b) => b.length - a.length || (a < b ? -1 : 1)).map((content) => RegExp.escape(content));
  const any = new RegExp(`(${contents.join("|")})`, "u");
  return (text) => {
    if (!any.test(text)) return [text];
    const parts = text.split(any);
    for (const [i, part] of parts.entries()) {
      const token = byContent.get(part);
      if (token === undefined) continue;
      if (token.lstrip && i > 0) parts[i - 1] = (parts[i - 1] ?? "").replace(/\p{White_Space}+$/u, "");
      if (token.rstrip && i + 1 < parts.length) parts[i + 1] = (parts[i + 1] ?? "").replace(/^\p{White_Space}+/u, "");
    }
    return parts.map((part) => byContent.get(part)?.id ?? part);
  };
}
