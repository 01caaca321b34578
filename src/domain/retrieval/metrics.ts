/** How good a ranking is (`retrieval.md` §9.2). `ranked`: ids of the answer, best first; `relevant`: ids that answer the question and still exist. */

/** `original`: the first position undiscounted, position p ≥ 2 ÷ log2 p (Järvelin & Kekäläinen 2002). `common`: ÷ log2(p + 1). */
export type NdcgForm = "original" | "common";

const gainAt = (position: number, form: NdcgForm) =>
  form === "common" ? 1 / Math.log2(position + 1) : position === 1 ? 1 : 1 / Math.log2(position);

/**
 * Discounted gain of the first `k` ÷ that of an ideal list with all that is relevant, in [0, 1]; 0 where nothing is relevant.
 * Two of five found on top, k 10 → 0.5615 (common 0.5531).
 */
export function ndcg(ranked: readonly string[], relevant: ReadonlySet<string>, k: number, form: NdcgForm = "original"): number {
  const seen = new Set<string>();
  let gain = 0;
  for (const [at, id] of ranked.slice(0, k).entries()) {
    if (relevant.has(id) && !seen.has(id)) gain += gainAt(at + 1, form);
    seen.add(id);
  }
  let ideal = 0;
  for (let position = 1; position <= Math.min(relevant.size, k); position++) ideal += gainAt(position, form);
  return ideal === 0 ? 0 : Math.min(gain / ideal, 1);
}

const hitsAmong = (ranked: readonly string[], relevant: ReadonlySet<string>, k: number) =>
  new Set(ranked.slice(0, k).filter((id) => relevant.has(id))).size;

/** Share of what is relevant among the first `k`; 0 where nothing is relevant. */
export const recall = (ranked: readonly string[], relevant: ReadonlySet<string>, k: number): number =>
  relevant.size === 0 ? 0 : hitsAmong(ranked, relevant, k) / relevant.size;

/** Relevant rows among the first `k` ÷ k, however many came back. */
export const precision = (ranked: readonly string[], relevant: ReadonlySet<string>, k: number): number =>
  k <= 0 ? 0 : hitsAmong(ranked, relevant, k) / k;

/** 1 ÷ position of the first relevant row, 0 without one. */
export function reciprocalRank(ranked: readonly string[], relevant: ReadonlySet<string>): number {
  const at = ranked.findIndex((id) => relevant.has(id));
  return at === -1 ? 0 : 1 / (at + 1);
}

/** Mean over questions; 0 for none. */
export const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

const answerWords = (text: string) =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];

/** 1 where two answers have the same words in order, whatever their case and punctuation. */
export const exactMatch = (answer: string, expected: string): number =>
  answerWords(answer).join(" ") === answerWords(expected).join(" ") ? 1 : 0;

/** Harmonic mean of precision and recall over the sets of words; 0 where one is empty. */
export function wordF1(answer: string, expected: string): number {
  const given = new Set(answerWords(answer));
  const wanted = new Set(answerWords(expected));
  const shared = [...given].filter((word) => wanted.has(word)).length;
  return shared === 0 ? 0 : (2 * shared) / (given.size + wanted.size);
}

/** Nearest-rank percentile at index `round((n−1)·q)` of the sorted values; 0 for none. */
export function percentile(values: readonly number[], q: number): number {
  const ordered = [...values].sort((a, b) => a - b);
  return ordered[Math.round((ordered.length - 1) * q)] ?? 0;
}
