/** Thresholds with a guarantee (Vovk 2005; Angelopoulos & Bates 2023), and the theoretical one that they replace. */
import { percentile } from "../metrics.ts";

const clampShare = (share: number) => Math.min(1, Math.max(0, share));

/** Guards `ceil` against a product that is an integer but for its last digit. */
const ROUNDING = 1e-9;

/**
 * The score that at most a share `alpha` of future ones exceed, if they come as these came: of n sorted scores the ⌈(n+1)(1−α)⌉-th; rank 0 → the
 * smallest, a rank beyond n → the largest. Undefined for none. 1…9, α .1 → 9; α .5 → 5.
 */
export function conformalQuantile(scores: readonly number[], alpha: number): number | undefined {
  const ordered = [...scores].sort((a, b) => a - b);
  const rank = Math.ceil((ordered.length + 1) * (1 - clampShare(alpha)) - ROUNDING);
  return ordered[Math.min(Math.max(rank, 1), ordered.length) - 1];
}

/** The same from below: the score that at most a share `alpha` of future ones fall short of. */
export function lowerConformalQuantile(scores: readonly number[], alpha: number): number | undefined {
  const upper = conformalQuantile(
    scores.map((score) => -score),
    alpha,
  );
  return upper === undefined ? undefined : -upper;
}

/** Fewer scores than 1/α − 1 cannot carry the guarantee: 19 for α .05. */
export const isGuaranteed = (count: number, alpha: number): boolean => count + 1 >= 1 / clampShare(alpha) - ROUNDING;

/** z of the 99 % quantile. */
const Z_99 = 2.3263479;

/** √χ²₀.₉₉(d) by Wilson and Hilferty: √(d·(1 − a + z√a)³), a = 2/(9d). 384 → 21.246, 1024 → 33.648, 0 → 0. Every real question lies beyond it. */
export function theoreticalThreshold(dimensions: number): number {
  if (dimensions <= 0) return 0;
  const a = 2 / (9 * dimensions);
  return Math.sqrt(dimensions * (1 - a + Z_99 * Math.sqrt(a)) ** 3);
}

export interface Spread {
  readonly n: number;
  readonly min: number;
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** Where values lie, by the index round((n−1)·q). Undefined for none. */
export const spreadOf = (values: readonly number[]): Spread | undefined =>
  values.length === 0
    ? undefined
    : {
        n: values.length,
        min: percentile(values, 0),
        p50: percentile(values, 0.5),
        p90: percentile(values, 0.9),
        p95: percentile(values, 0.95),
        p99: percentile(values, 0.99),
        max: percentile(values, 1),
      };
