/**
 * Whether a memory holds an answer at all (`retrieval.md` §6.3, `docs/decisions/0110-abstention.md`): a few statistics of what was found, a
 * monotone score over them, and the threshold that leaves a chosen share of answerable questions unanswered.
 */
import { isGuaranteed, lowerConformalQuantile } from "./conformal.ts";

/** What the words say: needs no model. */
export interface WordStatistics {
  /** Weight (idf) of the question's words that the best row has, as a share of all of them, 0–1. */
  readonly coverage: number;
  /** Weight of the words that any row has, 0–1. */
  readonly known: number;
}

/** What the vectors say too. */
export interface MeaningStatistics extends WordStatistics {
  /** Cosine of the nearest row. */
  readonly bestCosine: number;
  /** How far the nearest row stands out: its cosine minus that of the sixth. */
  readonly lead: number;
  /** Best coverage among the nearest five rows. That of the nearest alone is 0 for a twentieth of the questions of `bench/corpus`. */
  readonly nearCoverage: number;
}

/** What the vectors of single tokens say beside them. */
export interface MatchedStatistics extends MeaningStatistics {
  /** How well one of the nearest rows holds every word of the question, 0–1 (`word-match.ts`). */
  readonly match: number;
}

export const wordStatisticNames = ["coverage", "known"] as const;
export const meaningStatisticNames = ["bestCosine", "lead", "coverage", "nearCoverage", "known"] as const;
export const matchedStatisticNames = [...meaningStatisticNames, "match"] as const;

export type StatisticName = (typeof matchedStatisticNames)[number];
type Statistics<Name extends StatisticName> = Readonly<Record<Name, number>>;

/** A score over statistics, larger = more likely answered here, and the score from which a question is answered. */
export interface AbstentionRule {
  /** None is negative: nothing that speaks for an answer can count against one. */
  readonly weights: Readonly<Partial<Record<StatisticName, number>>>;
  readonly bias: number;
  readonly threshold: number;
}

type SomeStatistics = Readonly<Partial<Record<StatisticName, number>>>;

/** Log-odds of the fit. A statistic without a weight adds nothing. */
export const scoreOf = ({ weights, bias }: Pick<AbstentionRule, "weights" | "bias">, statistics: SomeStatistics): number =>
  matchedStatisticNames.reduce((total, name) => total + (weights[name] ?? 0) * (statistics[name] ?? 0), bias);

/** False below the threshold; on it a question is answered. */
export const isAnswered = (rule: AbstentionRule, statistics: SomeStatistics): boolean => scoreOf(rule, statistics) >= rule.threshold;

/**
 * Strength of the pull towards zero, on standardised statistics: keeps the weights finite where both groups lie apart. Between .003 and .03 nothing
 * moved on XQuAD-R.
 */
const RIDGE = 0.01;
/** Steps of the descent, and their length on standardised statistics: the loss is smooth there, and 1,000 steps agree with 3,000 to three digits. */
const STEPS = 1_000;
const STEP = 1;

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/**
 * Logistic regression with weights that cannot be negative (projected gradient). Answerable and unanswerable count the same whatever their numbers, and so
 * does each kind of unanswerable. Deterministic.
 */
function fitScore<Name extends StatisticName>(
  names: readonly Name[],
  answerable: readonly Statistics<Name>[],
  kinds: readonly (readonly Statistics<Name>[])[],
): Pick<AbstentionRule, "weights" | "bias"> {
  const unanswerable = kinds.filter(({ length }) => length > 0);
  const all = [...answerable, ...unanswerable.flat()];
  const centres = names.map((name) => sum(all.map((each) => each[name])) / all.length);
  const scales = names.map((name, at) => Math.sqrt(sum(all.map((each) => (each[name] - (centres[at] ?? 0)) ** 2)) / all.length) || 1);
  const rows = [
    ...answerable.map((each) => ({ each, answer: 1, share: 0.5 / answerable.length })),
    ...unanswerable.flatMap((kind) => kind.map((each) => ({ each, answer: 0, share: 0.5 / unanswerable.length / kind.length }))),
  ].map(({ each, answer, share }) => ({
    x: names.map((name, at) => (each[name] - (centres[at] ?? 0)) / (scales[at] ?? 1)),
    answer,
    share,
  }));
  const weights = names.map(() => 0);
  let bias = 0;
  for (let step = 0; step < STEPS; step++) {
    const slope = weights.map((weight) => RIDGE * weight);
    let biasSlope = 0;
    for (const { x, answer, share } of rows) {
      let score = bias;
      for (let at = 0; at < x.length; at++) score += (x[at] ?? 0) * (weights[at] ?? 0);
      const error = share * (1 / (1 + Math.exp(-score)) - answer);
      for (let at = 0; at < x.length; at++) slope[at] = (slope[at] ?? 0) + error * (x[at] ?? 0);
      biasSlope += error;
    }
    for (let at = 0; at < weights.length; at++) weights[at] = Math.max(0, (weights[at] ?? 0) - STEP * (slope[at] ?? 0));
    bias -= STEP * biasSlope;
  }
  const raw = weights.map((weight, at) => weight / (scales[at] ?? 1));
  return {
    weights: Object.fromEntries(names.map((name, at) => [name, raw[at] ?? 0])),
    bias: bias - sum(raw.map((weight, at) => weight * (centres[at] ?? 0))),
  };
}

/** One question that a threshold is measured on: as the memory stands, and with the rows that answer it left out. */
export interface MeasuredQuestion<Name extends StatisticName> {
  readonly present: Statistics<Name>;
  readonly absent: Statistics<Name>;
}

export interface FittedRule {
  readonly rule: AbstentionRule;
  /** Scored by rules that did not see the question, against the threshold of the one that did: share of the answerable that is answered. */
  readonly answered: number;
  /** Share of the same questions that is refused once their answer is left out. */
  readonly refusedAbsent: number;
  /** The sample carries the conformal guarantee. */
  readonly guaranteed: boolean;
}

/** Parts of the questions; each is scored by a rule fitted on the others, so that no question is measured by a rule that has seen it. */
const FOLDS = 5;

/**
 * Learns what tells an answerable question from one whose answer was left out and from those about something else, and where to draw the line so that a
 * share `alpha` of the answerable falls below it. Undefined for no question.
 * @param elsewhere what was found for questions that this memory does not answer; may be empty.
 */
export function fitRule<Name extends StatisticName>(
  names: readonly Name[],
  pairs: readonly MeasuredQuestion<Name>[],
  alpha: number,
  elsewhere: readonly Statistics<Name>[] = [],
): FittedRule | undefined {
  if (pairs.length === 0) return undefined;
  const fitOn = (chosen: readonly MeasuredQuestion<Name>[]) =>
    fitScore(
      names,
      chosen.map(({ present }) => present),
      [chosen.map(({ absent }) => absent), elsewhere],
    );
  const whole = fitOn(pairs);
  const folds = pairs.length < 2 * FOLDS ? 1 : FOLDS;
  const scores = Array.from({ length: folds }, (_, fold) =>
    folds === 1 ? whole : fitOn(pairs.filter((_pair, at) => at % folds !== fold)),
  );
  const scored = pairs.map(({ present, absent }, at) => {
    const score = scores[at % folds] ?? whole;
    return { present: scoreOf(score, present), absent: scoreOf(score, absent) };
  });
  // The rule that is kept saw all questions and scores them a little better than it will score others: by so much the line is drawn lower, and never above
  // the quantile of the scores by rules that did not see them, since the hardest questions gain the most. XQuAD-R en, 20 splits: 93.6 % answered without the second.
  const own = pairs.map(({ present }) => scoreOf(whole, present));
  const optimism = (sum(own) - sum(scored.map(({ present }) => present))) / pairs.length;
  const unseen = scored.map(({ present }) => present);
  const threshold = Math.min((lowerConformalQuantile(own, alpha) ?? 0) - Math.max(0, optimism), lowerConformalQuantile(unseen, alpha) ?? 0);
  const share = (passes: (each: { present: number; absent: number }) => boolean) => scored.filter(passes).length / scored.length;
  return {
    rule: { ...whole, threshold },
    answered: share(({ present }) => present >= threshold),
    refusedAbsent: share(({ absent }) => absent < threshold),
    guaranteed: isGuaranteed(pairs.length, alpha),
  };
}
