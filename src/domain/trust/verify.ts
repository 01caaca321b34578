/**
 * From what a judge says of single pieces of evidence to how far a claim is grounded (`retrieval.md` §8, `tools-cognition.md` §3.4–3.5).
 * Similarity is never evidence of truth: it only weighs a verdict. What nobody decided counts for nobody.
 */

export const claimVerdicts = ["supports", "contradicts", "unrelated", "unknown"] as const;
/** Does the evidence assert the claim? */
export type ClaimVerdict = (typeof claimVerdicts)[number];

/** How far a claim is grounded, best first; `unknown` where nothing was decided. */
export const groundingLevels = ["verified", "partial", "weak", "unknown", "contradicted"] as const;
export type GroundingLevel = (typeof groundingLevels)[number];

/** What an entailment model gives for one ordered pair; the three sum to 1. */
export interface Entailed {
  readonly entailment: number;
  readonly neutral: number;
  readonly contradiction: number;
}

export interface ClaimDecision {
  readonly verdict: ClaimVerdict;
  /** 0–1; 0 where nothing was decided. */
  readonly confidence: number;
}

/** Confirming a false memory costs more than doubting a true one: spurious entailments live around 0.6–0.7, genuine ones at 0.95 and above. */
export const SUPPORT_FROM = 0.8;
export const CONTRADICTION_FROM = 0.6;
export const UNRELATED_FROM = 0.5;

const UNDECIDED: ClaimDecision = { verdict: "unknown", confidence: 0 };

/**
 * One direction: premise = evidence, hypothesis = claim. Never the largest of three: (.693, .100, .207) decides nothing.
 * (.952, .036, .011) supports; (.002, .267, .731) contradicts; (.016, .887, .097) unrelated; (.45, .45, .10) unknown.
 */
export function decideDirection({ entailment, neutral, contradiction }: Entailed): ClaimDecision {
  if (entailment >= SUPPORT_FROM && entailment > contradiction) return { verdict: "supports", confidence: entailment };
  if (contradiction >= CONTRADICTION_FROM && contradiction > entailment) return { verdict: "contradicts", confidence: contradiction };
  if (neutral >= UNRELATED_FROM && neutral > entailment && neutral > contradiction) return { verdict: "unrelated", confidence: neutral };
  return UNDECIDED;
}

/** True where {@link decideClaim} wants to know the other direction. */
export const needsReverse = ({ verdict }: ClaimDecision): boolean => verdict === "supports" || verdict === "contradicts";

/**
 * Both directions. Contradiction is symmetric, so it must be found both ways; and nothing that follows from a text contradicts it, so a support whose
 * reverse is a contradiction is noise. Entailment itself is not asked back: evidence may say more than the claim.
 * @param forward premise = evidence, hypothesis = claim. @param reverse premise = claim, hypothesis = evidence; read where {@link needsReverse}.
 */
export function decideClaim(forward: Entailed, reverse: Entailed): ClaimDecision {
  const there = decideDirection(forward);
  if (!needsReverse(there)) return there;
  const back = decideDirection(reverse);
  if (there.verdict === "supports") return back.verdict === "contradicts" ? UNDECIDED : there;
  return back.verdict === "contradicts" ? { verdict: "contradicts", confidence: Math.min(there.confidence, back.confidence) } : UNDECIDED;
}

/** A judged piece of evidence. */
export interface Judged {
  /** Of evidence and claim, 0–1. */
  readonly similarity: number;
  /** Any vocabulary: only `supports` and `contradicts` count. */
  readonly verdict: string;
  /** Of the judge, 0–1. */
  readonly confidence: number;
}

export interface Grounding {
  /** Share of support, 0–1; near 0 for a contradicted claim. */
  readonly confidence: number;
  readonly level: GroundingLevel;
}

const VERIFIED_ABOVE = 0.7;
const PARTIAL_ABOVE = 0.5;
const WEAK_ABOVE = 0.3;
/** Sums below it are rounding, not weight. */
const NOTHING = 1e-9;

/** similarity × confidence of the judge, each clamped to 0–1; a number that is none weighs nothing. */
export const weightOf = ({ similarity, confidence }: Judged): number => share(similarity) * share(confidence);

const share = (value: number): number => (Number.isFinite(value) ? Math.min(1, Math.max(0, value)) : 0);

/**
 * S = Σ weights of `supports`, C = Σ of `contradicts`. S + C = 0 → unknown; C > S → S/(S+C), contradicted; else S/(S+C) · (1 − e^(−2S)).
 * [(.57, supports, .95), (.52, supports, .85)] → 0.860 verified; [(.45, supports, .5)] → 0.362 weak; (.9, s, 1) + (.9, c, 1) → 0.417 weak.
 */
export function groundingOf(judged: readonly Judged[]): Grounding {
  const sum = (verdict: ClaimVerdict) =>
    judged.filter((each) => each.verdict === verdict).reduce((total, each) => total + weightOf(each), 0);
  const support = sum("supports");
  const contradiction = sum("contradicts");
  if (support + contradiction < NOTHING) return { confidence: 0, level: "unknown" };
  const ratio = support / (support + contradiction);
  if (contradiction > support) return { confidence: ratio, level: "contradicted" };
  const confidence = ratio * (1 - Math.exp(-2 * support));
  return { confidence, level: levelOf(confidence) };
}

function levelOf(confidence: number): GroundingLevel {
  if (confidence > VERIFIED_ABOVE) return "verified";
  if (confidence > PARTIAL_ABOVE) return "partial";
  return confidence > WEAK_ABOVE ? "weak" : "unknown";
}

/** Whose evidence decided the level: the rows whose verdict counted (`brain_verify_log.evidence_ids`). */
export const decidingEvidence = <T extends Judged>(judged: readonly T[]): T[] =>
  judged.filter((each) => (each.verdict === "supports" || each.verdict === "contradicts") && weightOf(each) > 0);
