/** How memories gain: by being read, by their neighbours being read, by feedback (`tools-maintenance.md` §6.1, §16). All importances in [0, 1]. */

const BOOST = 0.01;
const MIN_THRESHOLD = 10;
/** Share of a read's boost that neighbours get. */
const NEIGHBOUR_SHARE = 0.5;
/** A burst of reads counts little more than one: the boost recovers with this time constant, fully within a day. */
const RECOVERY_SECONDS = 600;
const MAX_RECOVERY_SECONDS = 86_400;

export interface EntityStrength {
  readonly importance: number;
  readonly accessCount: number;
  /** Sliding threshold; null where none was stored. */
  readonly theta: number | null;
}

/**
 * An entity after a read (Hebbian with a BCM sliding threshold, Bienenstock, Cooper & Munro 1982), from its values before it:
 * θ' = max(10, 0.85·θ + 0.15·n); importance + 0.01 · max(0.1, 1 − 0.8·n/max(θ, n)) · (1 − e^(−min(Δs, 86400)/600)), at most 1; n + 1.
 * Importance 0.5, n 0, Δs 600 → 0.506321; n 10, θ 10, 600 s → 0.50126.
 * @param secondsSinceBoost since the last boost; infinite where there was none.
 */
export function boostEntity(
  { importance, accessCount, theta }: EntityStrength,
  secondsSinceBoost: number,
): EntityStrength & { readonly theta: number } {
  const threshold = theta ?? MIN_THRESHOLD;
  const throttle = Math.max(0.1, 1 - (0.8 * accessCount) / Math.max(threshold, accessCount));
  const recovered = 1 - Math.exp(-Math.min(Math.max(secondsSinceBoost, 0), MAX_RECOVERY_SECONDS) / RECOVERY_SECONDS);
  return {
    importance: Math.min(1, importance + BOOST * throttle * recovered),
    accessCount: accessCount + 1,
    theta: Math.max(MIN_THRESHOLD, 0.85 * threshold + 0.15 * accessCount),
  };
}

/** A neighbour of an entity that was read (Collins & Loftus 1975): + 0.005 · the strongest edge between them, at most 1. */
export const boostNeighbour = (importance: number, strongestEdge: number): number =>
  Math.min(1, importance + BOOST * NEIGHBOUR_SHARE * strongestEdge);

/** Step of feedback: 0.05 / √(1 + n/100), smaller the more often a memory was used (Robbins & Monro 1951). */
const feedbackStep = (accessCount: number) => 0.05 / Math.sqrt(1 + accessCount / 100);

/** "That helped" (Oja 1982): w + η·(1 − w). w 0.5, n 0 → 0.525; n 300 → 0.5125. */
export const rewarded = (importance: number, accessCount: number): number =>
  Math.min(1, importance + feedbackStep(accessCount) * (1 - importance));

/** "That was wrong": w − η·w. The only thing that goes below the floor of decay. w 0.5, n 0 → 0.475. */
export const punished = (importance: number, accessCount: number): number =>
  Math.max(0, importance - feedbackStep(accessCount) * importance);

/** What the survivor of a merge gains. */
export const mergedImportance = (importance: number): number => Math.min(1, importance + 0.05);
