/** How memories fade: facts by half-life, episodes by a power of their age (`tools-maintenance.md` §5.1, §5.7, §16). */

/** Nothing fades below this; only negative feedback goes lower. */
export const IMPORTANCE_FLOOR = 0.01;
/** Rows used within the last day are left alone. */
export const REST_DAYS = 1;

const DEFAULT_HALF_LIFE_DAYS = 30;
const HALF_LIFE_DAYS: Readonly<Record<string, number>> = { fact: 30, preference: 30, error: 14, solution: 14, context: 7, tool_usage: 7 };

/** Types that never fade: the record of a decision, a lesson paid for once, and what is retired already. */
export const undecayingTypes = ["decision", "lesson", "superseded"] as const;
export const neverDecays = (observationType: string): boolean => undecayingTypes.some((type) => type === observationType);

/** Days after which an observation of this type that nobody used has half its importance. */
export const halfLifeDays = (observationType: string): number => HALF_LIFE_DAYS[observationType] ?? DEFAULT_HALF_LIFE_DAYS;

export interface Idle {
  /** Days since the later of last access and last decay, so that the result does not depend on how often the decay runs. */
  readonly idleDays: number;
  readonly halfLifeDays: number;
  readonly accessCount: number;
}

/**
 * Retention after `idleDays`: 2^(−t / (h·(1 + ln(1 + n)))), in (0, 1]. t idle days, h half-life in days, n accesses.
 * Forgetting curve (Ebbinghaus 1885); the logarithm because the tenth use should add less than the second. t 30, h 30, n 9 → 0.811.
 */
export const retention = ({ idleDays, halfLifeDays, accessCount }: Idle): number =>
  2 ** (-Math.max(idleDays, 0) / (halfLifeDays * (1 + Math.log1p(Math.max(accessCount, 0)))));

/** A longer time without any decay at all counts as this: the machine was off, its owner away, or its clock was set wrong. */
export const LONGEST_ABSENCE_DAYS = 30;

/**
 * Idle days that count. What lies in one absence of the whole memory counts 30 days at most, so that a holiday, or a clock that was a year
 * ahead for an hour, does not take everything to the floor. Idle 400, last decay 365 days ago → 65; idle 400, last decay an hour ago → 400.
 * @param sinceDecayDays since the last decay of everything; undefined where there was none
 */
export const countedIdleDays = (idleDays: number, sinceDecayDays: number | undefined): number =>
  idleDays - Math.max(0, Math.min(idleDays, sinceDecayDays ?? 0) - LONGEST_ABSENCE_DAYS);

export interface FadingObservation {
  readonly importance: number;
  readonly observationType: string;
  readonly idleDays: number;
  readonly accessCount: number;
  /** One half-life for all types that fade, where a caller names it. */
  readonly halfLifeDays?: number;
}

/**
 * Importance after the idle time; unchanged for types that never fade and where it is already at or below the floor.
 * (0.8, fact, 30 days, 9 accesses) → 0.6485.
 */
export function decayedImportance(observation: FadingObservation): number {
  const { importance, observationType, idleDays, accessCount } = observation;
  if (neverDecays(observationType)) return importance;
  const kept = importance * retention({ idleDays, accessCount, halfLifeDays: observation.halfLifeDays ?? halfLifeDays(observationType) });
  return Math.min(importance, Math.max(kept, IMPORTANCE_FLOOR));
}

export interface PowerLaw {
  readonly c: number;
  readonly beta: number;
}
export const EPISODE_DECAY: PowerLaw = { c: 0.1, beta: 0.5 };

/**
 * Importance of an episode at an age: max(initial / (1 + c·days)^β, 0.01) (Wixted 2004). Depends on age and initial value only, so
 * running it twice changes nothing. Initial 0.5: 10 days → 0.3536, 30 → 0.25, 90 → 0.1581.
 */
export const decayedEpisode = (initialImportance: number, ageDays: number, { c, beta }: PowerLaw = EPISODE_DECAY): number =>
  Math.max(initialImportance / (1 + c * Math.max(ageDays, 0)) ** beta, IMPORTANCE_FLOOR);
