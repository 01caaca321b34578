/** Whether a difference between two runs is one (`retrieval.md` §9.2, H11): seeded bootstrap, paired comparison, least detectable effect. */
import { mean } from "./metrics.ts";

/** Resamples of a bootstrap (Efron 1979), and the seed that makes two runs print the same interval. */
const RESAMPLES = 2000;
const SEED = 20_090_719;

/** Deterministic generator of numbers in [0, 1): mulberry32. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** 95 % percentile interval of the mean. No value → 0 to 0, one value → that value. */
export function bootstrapInterval(values: readonly number[]): Interval {
  if (values.length < 2) return { low: values[0] ?? 0, high: values[0] ?? 0 };
  const random = seededRandom(SEED);
  const means: number[] = [];
  for (let round = 0; round < RESAMPLES; round++) {
    let sum = 0;
    for (let draw = 0; draw < values.length; draw++) sum += values[Math.floor(random() * values.length)] ?? 0;
    means.push(sum / values.length);
  }
  means.sort((a, b) => a - b);
  return { low: means[Math.floor(0.025 * RESAMPLES)] ?? 0, high: means[Math.ceil(0.975 * RESAMPLES) - 1] ?? 0 };
}

/** Sample standard deviation; 0 for fewer than two values. */
function deviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1));
}

/** z of a two-sided 5 % test plus z of 80 % power: 1.96 + 0.84. */
const POWER_FACTOR = 2.8;

/** Least difference that two separate runs of n questions each would show: 2.80·sd·√(2/n). Infinite below two questions. */
export const detectableEffect = (scores: readonly number[]): number =>
  scores.length < 2 ? Number.POSITIVE_INFINITY : POWER_FACTOR * deviation(scores) * Math.sqrt(2 / scores.length);

/** The same for a paired comparison: 2.80·sd(differences)/√n. */
export const pairedDetectableEffect = (differences: readonly number[]): number =>
  differences.length < 2 ? Number.POSITIVE_INFINITY : (POWER_FACTOR * deviation(differences)) / Math.sqrt(differences.length);

export interface PairedComparison {
  readonly n: number;
  /** Mean of after − before. */
  readonly difference: number;
  readonly interval: Interval;
  readonly detectableEffect: number;
  /** Questions whose score changed by more than 1e-12. */
  readonly moved: number;
  readonly better: number;
  readonly worse: number;
  /** True where the interval holds zero: the runs may be equal. */
  readonly touchesZero: boolean;
}

const MOVED = 1e-12;

/** Compares two runs question by question. @throws RangeError for lists of different length: they are not the same questions. */
export function comparePaired(before: readonly number[], after: readonly number[]): PairedComparison {
  if (before.length !== after.length) throw new RangeError(`${before.length} scores before, ${after.length} after: not the same questions`);
  const differences = after.map((score, at) => score - (before[at] ?? 0));
  const interval = bootstrapInterval(differences);
  const better = differences.filter((difference) => difference > MOVED).length;
  const worse = differences.filter((difference) => difference < -MOVED).length;
  return {
    n: differences.length,
    difference: mean(differences),
    interval,
    detectableEffect: pairedDetectableEffect(differences),
    moved: better + worse,
    better,
    worse,
    touchesZero: interval.low <= 0 && interval.high >= 0,
  };
}
