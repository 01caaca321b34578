/** A model's golden text or pairs: the proof that weights, tokenizer, pooling and prefixes together still give what they gave. */
import type { Answer, CallLimits, Embedder, Entailment, Reranker } from "../port.ts";
import type { Golden, GoldenPairs } from "./description.ts";

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

/**
 * Above it something is wrong. Scores and probabilities lie in 0–1: half precision and other kernels move them by 0.003 (`retrieval.md` §11), swapped
 * labels, a lost segment or a wrong padding id by tenths.
 */
export const GOLDEN_MOST_DIFFERENCE = 0.02;

/** The largest difference between golden values and those of now, one value a pair and label. */
export function goldenDifference({ values }: GoldenPairs, now: readonly (readonly number[])[]): number {
  const differences = values.flatMap((row, at) =>
    row.map((value, label) => Math.abs(value - (now[at]?.[label] ?? Number.POSITIVE_INFINITY))),
  );
  return Math.max(...differences);
}

/** What a reranker gives for golden pairs now, in their form. Loads the model. */
export async function scoredPairs(
  reranker: Pick<Reranker, "score">,
  { pairs }: Pick<GoldenPairs, "pairs">,
  limits: CallLimits,
): Promise<Answer<readonly number[]>> {
  const values: (readonly number[])[] = [];
  for (const [question, passage] of pairs) {
    const answer = await reranker.score(question, [passage], limits);
    if (answer.kind === "none") return answer;
    values.push(answer.values);
  }
  return { kind: "answered", values };
}

/** What an entailment model gives for golden pairs now, in their form. Loads the model. */
export async function entailedPairs(
  entailment: Pick<Entailment, "entail">,
  { pairs }: Pick<GoldenPairs, "pairs">,
  limits: CallLimits,
): Promise<Answer<readonly number[]>> {
  const answer = await entailment.entail(
    pairs.map(([premise, hypothesis]) => ({ premise, hypothesis })),
    limits,
  );
  if (answer.kind === "none") return answer;
  return { kind: "answered", values: answer.values.map((reading) => [reading.entailment, reading.neutral, reading.contradiction]) };
}
