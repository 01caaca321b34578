/** Whether a new observation adds anything to what its entity has (`tools-graph.md` §3.9). Decides; finding candidates and writing are others' work. */
import { type DifferenceKind, differenceKind, sameWords } from "./same-words.ts";
import { isAtLeastAsTrusted, type Trust } from "./trust.ts";

/** An observation of the same entity whose trigram similarity with the new text is above {@link CANDIDATE_SIMILARITY}. */
export interface DuplicateCandidate {
  readonly id: string;
  readonly content: string;
  /** `similarity(content, new text)` of pg_trgm, 0–1. */
  readonly similarity: number;
  readonly trust: Trust;
  /** A retired row never stands for a new one: the knowledge would be gone. */
  readonly isSuperseded?: boolean;
}

export interface GateInput {
  readonly content: string;
  readonly trust: Trust;
  /** Any order; the best few are enough, accepted items of the same call included. */
  readonly candidates: readonly DuplicateCandidate[];
  /** Similarities of the new text with the newest {@link RECENT_ROWS} rows of the entity that are not superseded. */
  readonly recentSimilarities: readonly number[];
}

/** A stored text very close to the new one that says something else. */
export interface PossibleConflict {
  readonly id: string;
  readonly contentPreview: string;
  readonly similarity: number;
  readonly kind: DifferenceKind;
}

export type GateDecision =
  | { readonly kind: "unique"; readonly possibleConflict: PossibleConflict | undefined; readonly matchesQuarantined: readonly string[] }
  | { readonly kind: "duplicate"; readonly existingId: string; readonly similarity: number; readonly contentPreview: string }
  | { readonly kind: "reinforce"; readonly existingId: string; readonly similarity: number };

export const CANDIDATE_SIMILARITY = 0.3;
export const RECENT_ROWS = 20;
/** Above it, the same words are the same text. */
export const DUPLICATE_SIMILARITY = 0.85;
/** Importance that a reinforced row gains, up to 1. */
export const REINFORCEMENT = 0.05;
const PREVIEW_CHARS = 80;

/** `reinforce` at or above R; `update` (U ≤ similarity < R) has no effect of its own. */
export interface Thresholds {
  readonly reinforce: number;
  readonly update: number;
}

/** With fewer values than this no quantile means anything. */
const MIN_RECENT = 5;
const FIXED: Thresholds = { reinforce: 0.92, update: 0.75 };
/** One-sided two-sigma and one-sigma quantiles. */
const REINFORCE_QUANTILE = 0.977;
const UPDATE_QUANTILE = 0.841;
const MIN_DISTANCE = 0.05;

/** Linearly interpolated quantile at index p·(n−1). @returns NaN for no value. */
export function quantile(values: readonly number[], p: number): number {
  const ordered = [...values].sort((a, b) => a - b);
  const at = p * (ordered.length - 1);
  const low = ordered[Math.floor(at)] ?? Number.NaN;
  const high = ordered[Math.ceil(at)] ?? Number.NaN;
  return low + (high - low) * (at - Math.floor(at));
}

const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high);

/** R and U from how similar an entity's texts usually are; always at least 0.05 apart. Five times 0.83 → 0.83, 0.78. */
export function adaptiveThresholds(recentSimilarities: readonly number[]): Thresholds {
  if (recentSimilarities.length < MIN_RECENT) return FIXED;
  const reinforce = clamp(quantile(recentSimilarities, REINFORCE_QUANTILE), 0.8, 0.98);
  return { reinforce, update: clamp(quantile(recentSimilarities, UPDATE_QUANTILE), 0.5, reinforce - MIN_DISTANCE) };
}

const preview = (text: string) =>
  Array.from(text.slice(0, PREVIEW_CHARS * 2))
    .slice(0, PREVIEW_CHARS)
    .join("");

const bestFirst = (a: DuplicateCandidate, b: DuplicateCandidate) => b.similarity - a.similarity || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

/**
 * Refuses only what adds nothing: a text with the same words as a live row that is at least as trusted. A text that differs in any
 * word is unique; where it is close to a row, the answer names that row as a possible conflict.
 */
export function decideDuplicate({ content, trust, candidates, recentSimilarities }: GateInput): GateDecision {
  const { reinforce } = adaptiveThresholds(recentSimilarities);
  const live = candidates
    .filter((candidate) => candidate.isSuperseded !== true && candidate.similarity > CANDIDATE_SIMILARITY)
    .sort(bestFirst);
  const matchesQuarantined: string[] = [];
  let possibleConflict: PossibleConflict | undefined;
  for (const candidate of live) {
    const { id, similarity } = candidate;
    const isDuplicate = similarity > DUPLICATE_SIMILARITY;
    if (!isDuplicate && similarity < reinforce) continue;
    const isSame = sameWords(content, candidate.content);
    if (!isAtLeastAsTrusted(candidate.trust, trust)) {
      if (isSame) matchesQuarantined.push(id);
      continue;
    }
    if (isSame && isDuplicate) return { kind: "duplicate", existingId: id, similarity, contentPreview: preview(candidate.content) };
    if (isSame) return { kind: "reinforce", existingId: id, similarity };
    // What waits for review is shown to nobody, not even as a preview.
    if (isDuplicate && candidate.trust === "trusted")
      possibleConflict ??= { id, contentPreview: preview(candidate.content), similarity, kind: differenceKind(content, candidate.content) };
  }
  return { kind: "unique", possibleConflict, matchesQuarantined };
}
