/** Whether the kinds of errors changed: a χ² test of the last week against the month before (`tools-maintenance.md` §7.2). */

export interface TypeCounts {
  readonly type: string;
  /** Errors of the last 7 days. */
  readonly recent: number;
  /** Errors of the 30 days before. */
  readonly before: number;
}

export interface Drift {
  readonly chiSquared: number;
  readonly degreesOfFreedom: number;
  readonly pValue: number;
  readonly isDrift: boolean;
  /** Types that the month before did not have. */
  readonly newTypes: readonly string[];
}

/** Weeks in the month that the week is compared with. */
const WEEKS = 30 / 7;
/** Added to both sides, so that a type that is new, or gone, counts and does not count without end. */
const SMOOTHING = 0.5;
const SIGNIFICANT = 0.05;

/** Complementary error function by Abramowitz & Stegun 7.1.26; error below 1.5e-7. */
function erfc(x: number): number {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const tail = series * Math.exp(-x * x);
  return x >= 0 ? tail : 2 - tail;
}

/**
 * P(χ² > x) with so many degrees of freedom, by the cube-root normal approximation (Wilson & Hilferty 1931). (3.841, 1) → 0.0472; (10, 1) → 0.0017; x ≤ 0 → 1.
 */
export function chiSquaredSurvival(x: number, degreesOfFreedom: number): number {
  if (x <= 0) return 1;
  const spread = 2 / (9 * degreesOfFreedom);
  const z = (Math.cbrt(x / degreesOfFreedom) - (1 - spread)) / Math.sqrt(spread);
  return erfc(z / Math.SQRT2) / 2;
}

/** Drift over all types that either time had. */
export function errorDrift(counts: readonly TypeCounts[]): Drift {
  const chiSquared = counts.reduce((sum, { recent, before }) => {
    const expected = before / WEEKS + SMOOTHING;
    return sum + (recent + SMOOTHING - expected) ** 2 / expected;
  }, 0);
  const degreesOfFreedom = Math.max(counts.length - 1, 1);
  const pValue = chiSquaredSurvival(chiSquared, degreesOfFreedom);
  const newTypes = counts.filter(({ recent, before }) => recent > 0 && before === 0).map(({ type }) => type);
  return { chiSquared, degreesOfFreedom, pValue, isDrift: pValue < SIGNIFICANT, newTypes };
}
