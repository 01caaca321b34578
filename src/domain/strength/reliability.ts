/** How far a record of outcomes can be believed (`tools-cognition.md` §8, §14). */

const Z_95 = 1.96;

/**
 * Wilson score lower bound at 95 % (Wilson 1927), in [0, 1]; 0 without an outcome. 47 of 50 (0.8378) beats 1 of 1 (0.2065).
 * @param successes ≥ 0; @param failures ≥ 0.
 */
export function wilsonLowerBound(successes: number, failures: number): number {
  const n = successes + failures;
  if (n <= 0) return 0;
  const p = successes / n;
  const z2 = Z_95 ** 2;
  const bound = (p + z2 / (2 * n) - Z_95 * Math.sqrt((p * (1 - p) + z2 / (4 * n)) / n)) / (1 + z2 / n);
  return Math.min(Math.max(bound, 0), 1);
}

/** A share that is known only from outcomes: Beta(α, β). Without any it is Beta(1, 1). */
export interface Belief {
  readonly alpha: number;
  readonly beta: number;
}

export const PRIOR: Belief = { alpha: 1, beta: 1 };

/** The belief after so many right and wrong outcomes. 8 right, 1 wrong → Beta(9, 2), 0.8182. */
export const posterior = (correct: number, incorrect: number, prior: Belief = PRIOR): Belief => ({
  alpha: prior.alpha + correct,
  beta: prior.beta + incorrect,
});

/** Expected share of right outcomes. */
export const expectedShare = ({ alpha, beta }: Belief): number => alpha / (alpha + beta);

/** Outcomes behind a belief, prior left out. */
export const resolvedCount = ({ alpha, beta }: Belief): number => Math.max(0, alpha + beta - 2);

/** Two standard deviations, at most 1; shown as `credible_interval_width`. Beta(10, 2) → 0.207. */
export const beliefWidth = ({ alpha, beta }: Belief): number =>
  Math.min(1, 2 * Math.sqrt((alpha * beta) / ((alpha + beta) ** 2 * (alpha + beta + 1))));

/** The central 95 % of a belief: quantiles 0.025 and 0.975 of the Beta distribution. Beta(1, 1) → 0.025 to 0.975. */
export const beliefInterval = (belief: Belief): { readonly low: number; readonly high: number } => ({
  low: betaQuantile(0.025, belief),
  high: betaQuantile(0.975, belief),
});

/** Halvings until the quantile is exact to a double's precision near 1. */
const HALVINGS = 60;

function betaQuantile(p: number, belief: Belief): number {
  let low = 0;
  let high = 1;
  for (let round = 0; round < HALVINGS; round++) {
    const middle = (low + high) / 2;
    if (regularizedBeta(middle, belief) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Distribution function of Beta(α, β) at x: regularised incomplete beta by its continued fraction (Press et al., Numerical Recipes §6.4). */
function regularizedBeta(x: number, { alpha, beta }: Belief): number {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  if (x > (alpha + 1) / (alpha + beta + 2)) return 1 - regularizedBeta(1 - x, { alpha: beta, beta: alpha });
  const front = Math.exp(logGamma(alpha + beta) - logGamma(alpha) - logGamma(beta) + alpha * Math.log(x) + beta * Math.log1p(-x));
  return (front * continuedFraction(x, alpha, beta)) / alpha;
}

const TINY = 1e-300;
const away = (value: number) => (Math.abs(value) < TINY ? TINY : value);

/** Lentz's method; converges in O(√max(α, β)) steps. */
function continuedFraction(x: number, a: number, b: number): number {
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let value = d;
  for (let m = 1; m <= 10_000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    value *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    value *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return value;
}

/** Lanczos coefficients, g = 7. */
const LANCZOS = [
  676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905, -0.13857109526572012,
  9.984369578019572e-6, 1.5056327351493116e-7,
];

/** ln Γ(z) for z > 0, to about 15 digits (Lanczos 1964). */
function logGamma(z: number): number {
  const t = z + 6.5;
  const series = LANCZOS.reduce((sum, coefficient, at) => sum + coefficient / (z + at), 0.9999999999998099);
  return 0.5 * Math.log(2 * Math.PI) + (z - 0.5) * Math.log(t) - t + Math.log(series);
}

/** A prediction whose outcome is known. */
export interface Outcome {
  /** Probability that the prediction is right, 0–1. */
  readonly probability: number;
  readonly isCorrect: boolean;
}

/** A bin of the reliability diagram. */
export interface ReliabilityBin {
  readonly low: number;
  readonly high: number;
  readonly n: number;
  readonly accuracy: number;
  readonly confidence: number;
  readonly gap: number;
}

const BINS = 10;

/** Brier score: mean (p − o)² (Brier 1950). Undefined for no outcome. */
export function brierScore(outcomes: readonly Outcome[]): number | undefined {
  if (outcomes.length === 0) return undefined;
  return outcomes.reduce((sum, { probability, isCorrect }) => sum + (probability - (isCorrect ? 1 : 0)) ** 2, 0) / outcomes.length;
}

/** Bins of a tenth that hold an outcome, ascending; p = 1 goes to the last. */
export function reliabilityDiagram(outcomes: readonly Outcome[]): ReliabilityBin[] {
  return Array.from({ length: BINS }, (_, at) => at).flatMap((at) => {
    const inBin = outcomes.filter(({ probability }) => Math.min(Math.floor(BINS * probability), BINS - 1) === at);
    if (inBin.length === 0) return [];
    const accuracy = inBin.filter((outcome) => outcome.isCorrect).length / inBin.length;
    const confidence = inBin.reduce((sum, outcome) => sum + outcome.probability, 0) / inBin.length;
    return [{ low: at / BINS, high: (at + 1) / BINS, n: inBin.length, accuracy, confidence, gap: Math.abs(accuracy - confidence) }];
  });
}

/** Expected calibration error: Σ n_k/n · |accuracy − confidence| (Naeini et al. 2015). Undefined for no outcome. */
export function calibrationError(outcomes: readonly Outcome[]): number | undefined {
  if (outcomes.length === 0) return undefined;
  return reliabilityDiagram(outcomes).reduce((sum, { n, gap }) => sum + (n / outcomes.length) * gap, 0);
}
