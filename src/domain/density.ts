/** How much a text says, and what an observation is worth when it is written (`tools-graph.md` §3.7). */
import { alphanumericWords } from "./words.ts";

/** Shannon entropy of the words' frequencies, in bits: −Σ p·log2 p. 0 for no word. `a a a b` → 0.811278. */
export function entropyBits(words: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / words.length) * Math.log2(count / words.length);
  return Math.max(bits, 0);
}

/**
 * Entropy of the words ÷ log2 of the number of different words, in [0, 1]; 0 for one word or one repeated word. Case counts.
 * All different → 1; five times `fast` and `safe modern language` → 0.7744.
 */
export function informationDensity(text: string): number {
  const words = alphanumericWords(text);
  const vocabulary = new Set(words).size;
  if (words.length <= 1 || vocabulary <= 1) return 0;
  return clamp(entropyBits(words) / Math.log2(vocabulary), 0, 1);
}

/**
 * Importance in [0, 1] of a new observation of this type whose text has this density. Decisions, lessons and fixes are worth keeping
 * whatever their wording; of the rest the wordy repetition starts low.
 */
export function initialImportance(observationType: string, density: number): number {
  switch (observationType) {
    case "decision":
      return 0.8;
    case "lesson":
      return 0.75;
    case "error":
    case "solution":
      return 0.7;
    case "fact":
    case "preference":
      return clamp(0.6 * density, 0.1, 0.9);
    case "context":
    case "tool_usage":
      return clamp(0.4 * density, 0.1, 0.7);
    default:
      return clamp(density, 0.1, 0.8);
  }
}

const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high);
