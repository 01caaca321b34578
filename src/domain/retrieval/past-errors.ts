/** How past errors are ranked (`tools-graph.md` §4.7). */

/** What an error that keeps coming back adds to its place: a hundredth part for each percent of its weight's logarithm. */
const WEIGHT_SHARE = 0.1;

export interface RankedError {
  readonly id: string;
  /** Trigram similarity of question and message, 0–1; 0 where only the solution has the words. */
  readonly similarity: number;
  /** Share 0–1 of what the question's words weigh that the row has. */
  readonly wordRank: number;
  /** `synapse_weight`, 1–5: how often it was reported again. */
  readonly weight: number;
  readonly resolved: boolean;
  /** Sorts as time. */
  readonly createdAt: string;
}

/** `greatest(similarity, wordRank) · (1 + 0.1 · ln weight)`. 0.42, 0, 1 → 0.42; 0.42, 0, 5 → 0.4876. A weight below 1 counts as 1. */
export const errorRelevance = ({ similarity, wordRank, weight }: Pick<RankedError, "similarity" | "wordRank" | "weight">): number =>
  Math.max(similarity, wordRank) * (1 + WEIGHT_SHARE * Math.log(Math.max(1, weight)));

/** Best first; on a tie the resolved one, then the newer. */
export const byRelevance = (a: RankedError, b: RankedError): number =>
  errorRelevance(b) - errorRelevance(a) ||
  Number(b.resolved) - Number(a.resolved) ||
  (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : a.id < b.id ? -1 : 1);
