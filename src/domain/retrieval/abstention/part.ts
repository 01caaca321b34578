/** The part of a long row that a question is compared with word by word: a model's time grows with every token it reads. */
import type { WeightedWord } from "./word-match.ts";

/** Windows overlap by a half, so that what stands on an edge stands whole in the next. */
const STEPS_PER_SIZE = 2;

const isLowSurrogate = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;
/** Not inside a character of two code units. */
const edge = (text: string, at: number): number => (isLowSurrogate(text.charCodeAt(at)) ? at - 1 : at);

/** The part of at most `size` UTF-16 units that holds most of a question's words by weight, each counted once; the first of equals, so the beginning where none stands there. */
export function partWithWords(text: string, words: readonly WeightedWord[], size: number): string {
  if (text.length <= size) return text;
  const step = Math.ceil(size / STEPS_PER_SIZE);
  let best = { part: "", weight: -1 };
  for (let from = 0; from === 0 || from + size - step < text.length; from += step) {
    const part = text.slice(edge(text, from), edge(text, from + size));
    const lower = part.toLowerCase();
    const weight = words.reduce((sum, word) => sum + (word.forms.some((form) => form !== "" && lower.includes(form)) ? word.weight : 0), 0);
    if (weight > best.weight) best = { part, weight };
  }
  return best.part;
}
