/**
 * How far a vector lies from a set of vectors: mean and covariance, shrunk towards a multiple of the identity (Ledoit & Wolf 2004), and the
 * Mahalanobis distance under them (Lee et al. 2018). All in float64.
 *
 *   S = Σ x xᵀ/(n−1)   μ = tr(S)/d   d² = ‖S − μI‖²/d   b̄² = Σ ‖x xᵀ − S‖²/(n²·d)   ρ = min(b̄², d²)/d²   Σ* = ρμI + (1−ρ)S   (x centred)
 *
 * Σ xᵀSx = (n−1)·‖S‖², so b̄² needs the norms of the samples and of S alone: (Σ‖x‖⁴ − 2(n−1)‖S‖² + n‖S‖²)/(n²·d).
 */

export interface Distribution {
  /** Length of a vector. */
  readonly dimensions: number;
  readonly samples: number;
  /** Share of the identity in the covariance, 0–1. */
  readonly shrinkage: number;
  readonly mean: Float64Array;
  /** Lower triangle L of Σ* = L·Lᵀ, row by row. Kept in place of an inverse: ‖L⁻¹(x−m)‖ is the distance, and loses fewer digits. */
  readonly factor: Float64Array;
}

export interface Shrunk {
  readonly shrinkage: number;
  readonly mean: Float64Array;
  /** Σ* in its lower triangle, row by row. */
  readonly covariance: Float64Array;
}

/** Added to the diagonal, as a share of μ: keeps a matrix of few samples invertible. */
const JITTER = 1e-6;
/** Below it all samples are one point, and nothing is shrunk. */
const NO_SPREAD = 1e-300;

const rowOf = (index: number) => (index * (index + 1)) / 2;

/** Yields between two samples, so that whoever drives it can let others run. Undefined for fewer than two samples, no dimension, or ragged ones. */
export function* shrinkSteps(samples: readonly Float32Array[]): Generator<void, Shrunk | undefined> {
  const n = samples.length;
  const d = samples[0]?.length ?? 0;
  if (n < 2 || d === 0 || samples.some((sample) => sample.length !== d)) return undefined;
  const mean = new Float64Array(d);
  for (const sample of samples) for (let i = 0; i < d; i++) mean[i] = (mean[i] ?? 0) + (sample[i] ?? 0) / n;

  const S = new Float64Array(rowOf(d));
  const x = new Float64Array(d);
  let fourth = 0;
  for (const sample of samples) {
    let norm = 0;
    for (let i = 0; i < d; i++) {
      x[i] = (sample[i] ?? 0) - (mean[i] ?? 0);
      norm += (x[i] ?? 0) ** 2;
    }
    fourth += norm * norm;
    for (let i = 0, at = 0; i < d; i++) {
      const xi = (x[i] ?? 0) / (n - 1);
      for (let j = 0; j <= i; j++, at++) S[at] = (S[at] ?? 0) + xi * (x[j] ?? 0);
    }
    yield;
  }
  let trace = 0;
  let square = 0;
  for (let i = 0, at = 0; i < d; i++)
    for (let j = 0; j <= i; j++, at++) {
      const value = S[at] ?? 0;
      if (i === j) trace += value;
      square += (i === j ? 1 : 2) * value * value;
    }
  const mu = trace / d;
  // ‖S − μI‖² = ‖S‖² − 2μ·tr(S) + dμ²
  const spread = Math.max(0, (square - 2 * mu * trace + d * mu * mu) / d);
  const noise = Math.max(0, (fourth - 2 * (n - 1) * square + n * square) / (n * n * d));
  const shrinkage = spread <= NO_SPREAD ? 0 : Math.min(noise, spread) / spread;
  const jitter = Math.max(mu * JITTER, Number.MIN_VALUE);
  for (let i = 0, at = 0; i < d; i++)
    for (let j = 0; j <= i; j++, at++) S[at] = (1 - shrinkage) * (S[at] ?? 0) + (i === j ? shrinkage * mu + jitter : 0);
  return { shrinkage, mean, covariance: S };
}

/** Cholesky's factor of a matrix given by its lower triangle; undefined where it is singular. Yields between two rows. */
function* factorSteps(matrix: Float64Array, d: number): Generator<void, Float64Array | undefined> {
  const L = new Float64Array(matrix.length);
  for (let i = 0; i < d; i++) {
    const ri = rowOf(i);
    for (let j = 0; j <= i; j++) {
      const rj = rowOf(j);
      let sum = matrix[ri + j] ?? 0;
      for (let k = 0; k < j; k++) sum -= (L[ri + k] ?? 0) * (L[rj + k] ?? 0);
      if (i !== j) L[ri + j] = sum / (L[rj + j] ?? 0);
      else if (sum > 0) L[ri + j] = Math.sqrt(sum);
      else return undefined;
    }
    yield;
  }
  return L;
}

/** Fits a distribution, with a pause after each small step. Undefined where there is none: fewer than two samples, ragged, or a singular matrix. */
export function* fitSteps(samples: readonly Float32Array[]): Generator<void, Distribution | undefined> {
  const shrunk = yield* shrinkSteps(samples);
  if (shrunk === undefined) return undefined;
  const { mean, covariance, shrinkage } = shrunk;
  const factor = yield* factorSteps(covariance, mean.length);
  return factor && { dimensions: mean.length, samples: samples.length, shrinkage, mean, factor };
}

/** Drives steps to their end without a pause. */
export function atOnce<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** √((x−m)ᵀ Σ*⁻¹ (x−m)); undefined for a vector of another length. */
export function distanceFrom({ dimensions: d, mean, factor }: Distribution, vector: ArrayLike<number>): number | undefined {
  if (vector.length !== d) return undefined;
  const solved = new Float64Array(d);
  let square = 0;
  for (let i = 0; i < d; i++) {
    const row = rowOf(i);
    let sum = (vector[i] ?? 0) - (mean[i] ?? 0);
    for (let k = 0; k < i; k++) sum -= (factor[row + k] ?? 0) * (solved[k] ?? 0);
    const value = sum / (factor[row + i] ?? 1);
    solved[i] = value;
    square += value * value;
  }
  return Math.sqrt(square);
}
