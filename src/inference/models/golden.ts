/** A model's golden text: the proof that weights, tokenizer, pooling and prefixes together still give the vectors they gave. */
import type { Embedder } from "../port.ts";
import type { Golden } from "./description.ts";

/**
 * Below it something is wrong: the same files give 1.0000 on another machine and runtime, a wrong pooling 0.85, a lost prefix 0.97 or less.
 */
export const GOLDEN_MIN_COSINE = 0.999;

/**
 * Cosine between the golden vector and what this embedder gives for the golden text now, in [-1, 1]. Loads the model.
 * @throws MemoryError `unavailable` where the model does not load.
 */
export async function goldenCosine(embedder: Embedder, golden: Golden, signal: AbortSignal): Promise<number> {
  const [vector] = await embedder.embed([golden.text], golden.role, signal);
  if (vector === undefined || vector.length !== golden.vector.length) return 0;
  let dot = 0;
  let norm = 0;
  for (const [i, value] of golden.vector.entries()) {
    dot += value * (vector[i] ?? 0);
    norm += value * value;
  }
  // Published vectors are rounded, so theirs is not exactly of unit length; ours is.
  return dot / Math.sqrt(norm);
}
