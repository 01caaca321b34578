/** The product's reranker: a cross-encoder over (question, passage), with a memory for pairs it has seen. */
import { createHash } from "node:crypto";
import { createPairScorer, type PairScorerOptions } from "./pair-scorer.ts";
import type { Answer, Reranker } from "./port.ts";

export type RerankerOptions = Omit<PairScorerOptions, "what" | "labels">;

/** Agents ask again: 2,048 pairs of 24 bytes and a number are nothing beside the model. */
const CACHED_PAIRS = 2_048;

/** Probability that the passage answers: the logit's sigmoid, in (0, 1). 0 → 0.5. */
const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));

/** One label is that logit, two are "no, yes", of more the first counts (`retrieval.md` §4.3). (-1, 2) → 3. */
export function relevanceOf(logits: Float32Array): number {
  const [first = 0, second = 0] = logits;
  return sigmoid(logits.length === 2 ? second - first : first);
}

export async function createReranker(options: RerankerOptions): Promise<Reranker> {
  const scorer = await createPairScorer({ ...options, what: "reranker" });
  const known = new Map<string, number>();
  const keyOf = (fingerprint: string, query: string, passage: string) =>
    createHash("sha256")
      .update(JSON.stringify([fingerprint, query, passage]))
      .digest("base64");
  const recall = (key: string): number | undefined => {
    const score = known.get(key);
    if (score === undefined) return undefined;
    known.delete(key);
    known.set(key, score);
    return score;
  };
  const keep = (key: string, score: number) => {
    known.delete(key);
    known.set(key, score);
    if (known.size <= CACHED_PAIRS) return;
    for (const oldest of known.keys()) {
      known.delete(oldest);
      return;
    }
  };

  return {
    status: scorer.status,
    warm: scorer.warm,
    async score(query, passages, limits): Promise<Answer<number>> {
      if (passages.length === 0) return { kind: "answered", values: [] };
      const fingerprint = scorer.model?.fingerprint;
      const scores = passages.map((passage) => (fingerprint === undefined ? undefined : recall(keyOf(fingerprint, query, passage))));
      const unknown = [...scores.keys()].filter((at) => scores[at] === undefined);
      if (unknown.length > 0) {
        const pairs = unknown.map((at) => [query, passages[at] ?? ""] as const);
        const answer = await scorer.run(pairs, limits, (rows, model) => {
          for (const { row, logits } of rows) {
            const at = unknown[row] ?? 0;
            const score = relevanceOf(logits);
            scores[at] = score;
            keep(keyOf(model.fingerprint, query, passages[at] ?? ""), score);
          }
        });
        if (answer.kind === "none") return answer;
      }
      return { kind: "answered", values: scores.map((score) => score ?? 0) };
    },
    close: scorer.close,
  };
}
