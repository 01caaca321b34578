/** Text in, token ids out; the order of steps that every tokenizer of ours shares. */
import type { AddedToken } from "./recipe.ts";

export interface Encoder {
  /**
   * Token ids with the model's special tokens, at most `limit` of them: what is too long is cut before the closing special tokens, which stay.
   * @param limit in tokens, at least the number of special tokens.
   */
  encode(text: string, limit: number): number[];
}

export interface EncoderParts {
  readonly normalize: (text: string) => string;
  readonly split: (text: string, first: boolean) => string[];
  /** Appends a word's ids to `out`. */
  readonly segment: (word: string, out: number[]) => void;
  readonly added: readonly AddedToken[];
  readonly before: readonly number[];
  readonly after: readonly number[];
}

export function createEncoder({ normalize, split, segment, added, before, after }: EncoderParts): Encoder {
  const ids = new Map(added.map((token) => [token.content, token]));
  // Longest first: the reference takes the longest of two that begin alike.
  const contents = added
    .map(({ content }) => content.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&"))
    .sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  const anyAdded = contents.length > 0 ? new RegExp(`(${contents.join("|")})`, "u") : undefined;

  const sections = (text: string): string[] => {
    if (anyAdded === undefined || !anyAdded.test(text)) return [text];
    const parts = text.split(anyAdded);
    for (const [i, part] of parts.entries()) {
      const token = ids.get(part);
      if (token === undefined) continue;
      if (token.lstrip && i > 0) parts[i - 1] = (parts[i - 1] ?? "").replace(/\p{White_Space}+$/u, "");
      if (token.rstrip && i + 1 < parts.length) parts[i + 1] = (parts[i + 1] ?? "").replace(/^\p{White_Space}+/u, "");
    }
    return parts;
  };

  return {
    encode(text, limit) {
      const out = [...before];
      const room = limit - after.length;
      for (const [i, section] of sections(text.toWellFormed()).entries()) {
        if (out.length >= room) break;
        if (section === "") continue;
        const token = ids.get(section);
        if (token !== undefined) {
          out.push(token.id);
          continue;
        }
        for (const word of split(normalize(section), i === 0)) {
          // A text may be a hundred times longer than the model reads.
          if (out.length >= room) break;
          segment(word, out);
        }
      }
      if (out.length > room) out.length = room;
      out.push(...after);
      return out;
    },
  };
}
