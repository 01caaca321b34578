/**
 * Measures on questions that this memory answers from where on it should refuse (`retrieval.md` §7). Each question is asked twice, as the memory stands
 * and with the rows that answer it left out; what tells the two apart becomes the rule, and the threshold leaves `alpha` of the first unanswered.
 */
import {
  conformalQuantile,
  isGuaranteed,
  type Spread,
  spreadOf,
  theoreticalThreshold,
} from "../../../domain/retrieval/abstention/conformal.ts";
import {
  type FittedRule,
  fitRule,
  isAnswered,
  type MatchedStatistics,
  type MeasuredQuestion,
  matchedStatisticNames,
  meaningStatisticNames,
  type StatisticName,
  wordStatisticNames,
} from "../../../domain/retrieval/abstention/rule.ts";
import { distanceFrom } from "../../../domain/retrieval/abstention/shrinkage.ts";
import { type TokenSpace, type TokenVectors, tokenSpace } from "../../../domain/retrieval/abstention/word-match.ts";
import { percentile } from "../../../domain/retrieval/metrics.ts";
import type { Embedder } from "../../../inference/port.ts";
import { type CallContext, projectOf } from "../../../kernel/context.ts";
import type { Clock } from "../../../kernel/deadline.ts";
import { causeChain, invalid, unavailable } from "../../../kernel/errors.ts";
import { isUuid } from "../../../kernel/ids.ts";
import type { Database } from "../../../store/port.ts";
import { embeddedSample, putThresholds, servedObservations } from "../../../store/queries/abstention.ts";
import { existingIds } from "../../../store/queries/evaluation.ts";
import type { Question } from "../../evaluation/dataset.ts";
import { fitted, LEAST_SAMPLES, sampleOf } from "./distances.ts";
import { embeddedText } from "./matching.ts";
import { createProbe, type Probe } from "./probe.ts";
import type { GateStatistics } from "./statistics.ts";
import { meaningKey, storedMatched, type ThresholdMetadata, wordsKey } from "./thresholds.ts";

export interface ThresholdRequest {
  readonly questions: readonly Question[];
  /** Share of the answerable questions that may be refused, 0–1. */
  readonly alpha: number;
  /** Vectors that the distribution is fitted on, at most. */
  readonly samples: number;
  /** Words alone are measured: no model is meant. */
  readonly lexicalOnly: boolean;
  readonly apply: boolean;
}

export interface MeasuredRule extends FittedRule {
  /** Share of the questions marked `abstain` that is refused; undefined where the dataset has none. */
  readonly refusedForeign: number | undefined;
}

export interface ThresholdReport {
  readonly model: string | undefined;
  readonly dimensions: number | undefined;
  /** Vectors that the distribution was fitted on; 0 without a model. */
  readonly fitSamples: number;
  readonly theoreticalThreshold: number | undefined;
  readonly corpus: Spread | undefined;
  readonly queries: Spread | undefined;
  readonly alpha: number;
  readonly conformalThreshold: number | undefined;
  readonly theoreticalRejectsCorpus: number | undefined;
  readonly memories: number;
  readonly asked: number;
  readonly foreign: number;
  /** Questions whose answers are no longer there; nothing was measured on them. */
  readonly gone: number;
  /** Questions without ids: the row that was found first stands for their answer. */
  readonly guessed: number;
  readonly guaranteed: boolean;
  readonly meaning: MeasuredRule | undefined;
  /** With the tokens of the nearest rows read, which goes before `meaning`; undefined where the model gives none. */
  readonly matched: MeasuredRule | undefined;
  readonly words: MeasuredRule;
  readonly applied: boolean;
}

export interface ThresholdMeasure {
  /** @throws MemoryError where there is nothing to measure on, or no model and words alone were not asked for. */
  run(ctx: CallContext, request: ThresholdRequest): Promise<ThresholdReport>;
}

export interface ThresholdMeasureParts {
  readonly db: Database;
  readonly embedder: Embedder;
  readonly clock: Clock;
  /** Questions that hardly any memory answers: what is found for them is learned from too. */
  readonly everyday: readonly string[];
  /** Called once new thresholds stand in the database. */
  readonly onApplied: () => void;
}

export function createThresholdMeasure({ db, embedder, clock, everyday, onApplied }: ThresholdMeasureParts): ThresholdMeasure {
  const probe = createProbe({ db, embedder });

  async function store(ctx: CallContext, report: ThresholdReport, space: TokenSpace | undefined): Promise<void> {
    const projectId = projectOf(ctx.scope);
    const common = { alpha: report.alpha, calibration_queries: report.asked, corpus_rows: report.memories, method: "conformal" };
    const rows: { key: string; value: number; metadata: ThresholdMetadata & Record<string, unknown> }[] = [
      { key: wordsKey(projectId), value: report.words.rule.threshold, metadata: { ...common, rule: report.words.rule } },
    ];
    if (report.meaning !== undefined && report.conformalThreshold !== undefined && report.dimensions !== undefined)
      rows.push({
        key: meaningKey(projectId),
        value: report.conformalThreshold,
        metadata: {
          ...common,
          embedding_dim: report.dimensions,
          embedding_model: report.model ?? "",
          fit_samples: report.fitSamples,
          theoretical_threshold: report.theoreticalThreshold,
          rule: report.meaning.rule,
          ...(report.matched === undefined || space === undefined ? {} : { matched: storedMatched({ rule: report.matched.rule, space }) }),
        },
      });
    await db.write(ctx, async (tx) => {
      await tx.all(putThresholds({ rows }));
    });
    onApplied();
  }

  return {
    async run(ctx, { questions, alpha, samples, lexicalOnly, apply }) {
      const model = !lexicalOnly;
      if (model) requireModel(embedder);
      const memories = await db.read(
        ctx,
        async (tx) => (await tx.first(servedObservations({ projectId: projectOf(ctx.scope) })))?.rows ?? 0,
      );
      if (memories < LEAST_SAMPLES)
        throw invalid(
          `A threshold needs at least ${LEAST_SAMPLES} memories to be measured on, and here are ${memories}. Nothing was measured or written.`,
        );
      const ids = questions.flatMap(({ relevantIds }) => relevantIds).filter(isUuid);
      const alive = new Set((await db.read(ctx, (tx) => tx.all(existingIds({ ids })))).map(({ id }) => id));
      const isGone = ({ relevantIds }: Question) => relevantIds.length > 0 && !relevantIds.some((id) => alive.has(id));
      const asked = questions.filter((question) => question.abstain || !isGone(question));
      if (!asked.some(({ abstain }) => !abstain))
        throw invalid(
          "The dataset holds no question that this memory answers: rows without abstain whose relevant_ids exist. Nothing was measured or written.",
        );

      const vectors = model ? await sampleOf(db, ctx, embedder.label, samples) : [];
      const distribution = await fitted(vectors, clock);
      if (model && distribution === undefined)
        throw unavailable(
          `${vectors.length} memories have a vector of ${embedder.label}, and a threshold needs at least ${LEAST_SAMPLES}. Nothing was measured or written. ` +
            "'memory-industry reembed' computes the missing ones.",
        );
      const space = model ? await tokenSpaceOf({ db, embedder, everyday }, ctx) : undefined;
      const probes: Probe[] = [];
      for (const question of asked) {
        probes.push(await probe(ctx, question, { alive, distribution, withMeaning: model, space }));
        ctx.progress(probes.length, asked.length + everyday.length);
      }
      const elsewhere: GateStatistics[] = [];
      for (const query of everyday) {
        const options = { alive, distribution: undefined, withMeaning: model, space };
        const found = await probe(ctx, { query, relevantIds: [], abstain: true }, options);
        elsewhere.push(found.present);
        ctx.progress(probes.length + elsewhere.length, asked.length + everyday.length);
      }
      const answerable = probes.filter(({ absent }) => absent !== undefined);
      const distancesOf = (of: readonly Probe[]) => of.flatMap(({ distance }) => (distance === undefined ? [] : [distance]));
      const ofCorpus = distribution === undefined ? [] : vectors.flatMap((each) => distanceFrom(distribution, each) ?? []);
      const ofQueries = distancesOf(answerable);
      const theoretical = distribution && theoreticalThreshold(distribution.dimensions);
      const words = measured(wordStatisticNames, probes, elsewhere, (found) => found.words, alpha);
      if (words === undefined) throw new Error("a rule was fitted on no question");
      const report: ThresholdReport = {
        model: model ? embedder.label : undefined,
        dimensions: distribution?.dimensions,
        fitSamples: distribution?.samples ?? 0,
        theoreticalThreshold: theoretical,
        corpus: spreadOf(ofCorpus),
        queries: spreadOf(ofQueries),
        alpha,
        conformalThreshold: conformalQuantile(ofQueries, alpha),
        theoreticalRejectsCorpus:
          theoretical === undefined ? undefined : ofCorpus.filter((each) => each > theoretical).length / ofCorpus.length,
        memories,
        asked: answerable.length,
        foreign: probes.length - answerable.length,
        gone: questions.length - asked.length,
        guessed: answerable.filter(({ question }) => question.relevantIds.length === 0).length,
        guaranteed: isGuaranteed(answerable.length, alpha),
        meaning: model ? measured(meaningStatisticNames, probes, elsewhere, (found) => found.meaning, alpha) : undefined,
        matched: space && measured(matchedStatisticNames, probes, elsewhere, withMatch, alpha),
        words,
        applied: apply,
      };
      if (apply) await store(ctx, report, space);
      return report;
    },
  };
}

function requireModel(embedder: Embedder): void {
  const state = embedder.status();
  if (state.state === "missing" || state.state === "failed")
    throw unavailable(
      `Nothing was measured or written: ${state.reason} A threshold that reads meaning needs the model ('memory-industry models embed'); ` +
        "--lexical-only measures the words alone.",
    );
}

/** Rows whose tokens show what all tokens of a model have in common, beside the everyday questions: some 4,500 tokens, a second and a half of the model. */
const SPACE_ROWS = 100;

/** What the model's token vectors have in common; undefined where it gives none, and then nothing is measured with them. */
export async function tokenSpaceOf(
  { db, embedder, everyday }: Pick<ThresholdMeasureParts, "db" | "embedder" | "everyday">,
  ctx: CallContext,
): Promise<TokenSpace | undefined> {
  const { tokens } = embedder;
  if (tokens === undefined) return undefined;
  const rows = await db.read(ctx, (tx) => tx.all(embeddedSample({ scope: ctx.scope, label: embedder.label, limit: SPACE_ROWS })));
  try {
    const read: TokenVectors[] = [];
    // One at a time, so that a question waits for one text at most.
    for (const query of everyday) read.push(...(await tokens([query], "query", ctx.signal)));
    for (const row of rows) read.push(...(await tokens([embeddedText(row)], "passage", ctx.signal)));
    return tokenSpace(read);
  } catch (cause) {
    if (ctx.signal.aborted) throw cause;
    ctx.log.warn("the rule was measured without reading rows word by word", { cause: causeChain(cause) });
    return undefined;
  }
}

/** What the rule reads that has the tokens too; undefined where they were not read. */
export const withMatch = ({ meaning, match }: GateStatistics): MatchedStatistics | undefined =>
  meaning === undefined || match === undefined ? undefined : { ...meaning, match };

const MEDIAN = 0.5;

/** Fits a rule over these statistics, and counts what it does to questions that are marked as foreign. */
export function measured<Name extends StatisticName>(
  names: readonly Name[],
  probes: readonly Probe[],
  everyday: readonly GateStatistics[],
  pick: (found: GateStatistics) => Readonly<Record<Name, number>> | undefined,
  alpha: number,
): MeasuredRule | undefined {
  const pairs = probes.flatMap(({ present, absent }): MeasuredQuestion<Name>[] => {
    const [with_, without] = [pick(present), absent && pick(absent)];
    return with_ === undefined || without === undefined ? [] : [{ present: with_, absent: without }];
  });
  const covered = percentile(
    probes.flatMap(({ present, absent }) => (absent === undefined ? [] : [present.words.coverage])),
    MEDIAN,
  );
  // A memory about cooking answers some of them: those that it covers like its own questions say nothing about others.
  const elsewhere = everyday.flatMap((found) => (found.words.coverage >= covered ? [] : (pick(found) ?? [])));
  const fit = fitRule(names, pairs, alpha, elsewhere);
  if (fit === undefined) return undefined;
  const foreign = probes.flatMap(({ present, absent }) => (absent === undefined ? [pick(present)] : []));
  const refused = foreign.filter((found) => found === undefined || !isAnswered(fit.rule, found)).length;
  return { ...fit, refusedForeign: foreign.length === 0 ? undefined : refused / foreign.length };
}
