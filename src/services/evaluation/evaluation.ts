/**
 * Measures search as a client gets it (`retrieval.md` §9): the real `cuba_faro`, question by question, read-only.
 * A degraded answer fails the run unless a run on words alone is meant: once such a run passed for a measurement of everything.
 */
import { DIVERSITY_LAMBDA } from "../../domain/defaults.ts";
import { exactMatch, mean, ndcg, percentile, precision, recall, reciprocalRank, wordF1 } from "../../domain/retrieval/metrics.ts";
import { bootstrapInterval, detectableEffect } from "../../domain/retrieval/statistics.ts";
import type { CallContext } from "../../kernel/context.ts";
import { invalid, unavailable } from "../../kernel/errors.ts";
import { isUuid } from "../../kernel/ids.ts";
import { tokenCounter } from "../../kernel/tokens.ts";
import type { Database } from "../../store/port.ts";
import { existingIds, presentNames, servedRows } from "../../store/queries/evaluation.ts";
import { rowKinds } from "../../store/queries/search-filters.ts";
import type { Ablation } from "../search/request.ts";
import type { Dataset, Question } from "./dataset.ts";
import type { EvaluationSettings, Metrics, Report, RunFacts } from "./report.ts";

type Answer = Readonly<Record<string, unknown>>;

export interface EvaluationParts {
  readonly db: Database;
  /** `cuba_faro` with its public arguments; `ablation` switches arms off that no client can switch off. */
  readonly ask: (ctx: CallContext, args: Readonly<Record<string, unknown>>, ablation: Ablation) => Promise<Answer>;
  readonly facts: Omit<RunFacts, "corpus">;
  /** Milliseconds. */
  readonly clock: () => number;
}

export interface Presence {
  readonly samples: number;
  readonly goldEntities: number;
  readonly present: number;
  /** Per cent, one decimal. */
  readonly presentPercent: number;
}

export interface Evaluation {
  /**
   * @throws MemoryError `unavailable` where an answer was degraded and `lexicalOnly` is not set.
   * An empty list of questions gives a report of zeros without a look at the database or a model.
   */
  run(ctx: CallContext, dataset: Dataset, settings: EvaluationSettings): Promise<Report>;
  /** How many of the entities that a dataset names exist: recall over the graph cannot exceed it. */
  presence(ctx: CallContext, dataset: Dataset): Promise<Presence>;
}

export const DEFAULT_SETTINGS: EvaluationSettings = {
  k: 10,
  format: "verbose",
  maxTokens: 1_000_000,
  associative: false,
  abstain: false,
  rerank: undefined,
  bm25: true,
  text: true,
  vector: true,
  coverDensity: false,
  entityLeg: true,
  fusion: undefined,
  goal: undefined,
  diversify: false,
  mmrLambda: DIVERSITY_LAMBDA,
  lexicalOnly: false,
};

/** One question measured. */
interface Measured {
  readonly question: Question;
  readonly ids: readonly string[];
  /** What counts as found, place by place: ids, or markers that a text holds. */
  readonly ranked: readonly string[];
  readonly relevant: ReadonlySet<string>;
  readonly topText: string;
  readonly tokens: number;
  readonly ms: number;
  readonly graphTokens: number;
  readonly hopTokens: number;
}

export function createEvaluation({ db, ask, facts, clock }: EvaluationParts): Evaluation {
  const askOnce = async (ctx: CallContext, question: Question, settings: EvaluationSettings) => {
    const startedAt = clock();
    const answer = await ask(ctx, argumentsOf(question, settings), {
      noText: !settings.text,
      noVector: !settings.vector,
      coverDensity: settings.coverDensity,
      noEntityLeg: !settings.entityLeg,
      ...(settings.fusion === undefined ? {} : { fusion: settings.fusion }),
      ...(settings.goal === undefined ? {} : { goals: [settings.goal] }),
    });
    const ms = clock() - startedAt;
    if (answer.degraded === true && !settings.lexicalOnly)
      throw unavailable(
        `Search was degraded, so this would not measure what it claims: ${String(answer.degraded_reason)} Nothing was measured. A run on words alone is meant with --lexical-only.`,
      );
    return { answer, ms };
  };

  const measure = async (
    ctx: CallContext,
    question: Question,
    settings: EvaluationSettings,
    alive: ReadonlySet<string>,
  ): Promise<Measured> => {
    const { answer, ms } = await askOnce(ctx, question, settings);
    const rows = rowsOf(answer);
    const count = await tokenCounter();
    const ids = rows.map((row) => textAt(row, "id"));
    const byMarkers = question.relevantIds.length === 0;
    return {
      question,
      ids,
      ranked: byMarkers ? rows.map((row, at) => markerIn(textOfRow(row), question.markers) ?? `nothing ${at}`) : ids,
      relevant: new Set(byMarkers ? question.markers.map(lower) : question.relevantIds.filter((id) => alive.has(id))),
      topText: rows[0] === undefined ? "" : textOfRow(rows[0]),
      tokens: count(JSON.stringify(answer)),
      ms,
      graphTokens: numberAt(answer, "graph_context_tokens"),
      hopTokens: numberAt(answer, "graph_hop_ball_tokens"),
    };
  };

  return {
    async run(ctx, dataset, given) {
      const settings = { ...given, k: Math.min(50, Math.max(1, Math.trunc(given.k))) };
      const { questions } = dataset;
      const asked = questions.filter((question) => question.abstain || question.relevantIds.length > 0 || question.markers.length > 0);
      if (asked.length === 0) return { settings, facts: { ...facts, corpus: {} }, metrics: metricsOf([], settings, dataset, new Set(), 0) };
      if (settings.coverDensity && !settings.bm25)
        throw invalid("--cover-density replaces the third arm and --no-bm25 leaves it out. Give one of them. Nothing was measured.");
      const wanted = [...new Set(asked.flatMap(({ relevantIds }) => relevantIds).filter(isUuid))];
      const { alive, corpus } = await db.read(ctx, async (tx) => ({
        alive: new Set((await tx.all(existingIds({ ids: wanted }))).map(({ id }) => id)),
        corpus: Object.fromEntries((await tx.all(servedRows({}))).map(({ kind, rows }) => [rowKinds[kind - 1] ?? "other", rows])),
      }));
      const first = asked[0];
      // Loads the model and the vocabulary, whose time is told apart.
      const { ms: warmupMs } = first === undefined ? { ms: 0 } : await askOnce(ctx, first, settings);
      const measured: Measured[] = [];
      for (const question of asked) {
        measured.push(await measure(ctx, question, settings, alive));
        ctx.progress(measured.length, asked.length);
      }
      return { settings, facts: { ...facts, corpus }, metrics: metricsOf(measured, settings, dataset, alive, warmupMs) };
    },

    async presence(ctx, { questions }) {
      const names = [...new Set(questions.flatMap(({ goldEntities }) => goldEntities))];
      const present = names.length === 0 ? [] : await db.read(ctx, (tx) => tx.all(presentNames({ names })));
      return {
        samples: questions.filter(({ goldEntities }) => goldEntities.length > 0).length,
        goldEntities: names.length,
        present: present.length,
        presentPercent: names.length === 0 ? 0 : Math.round((1_000 * present.length) / names.length) / 10,
      };
    },
  };
}

/** The arguments of `cuba_faro` that a question is asked with. */
export const argumentsOf = (question: Pick<Question, "query">, s: EvaluationSettings) => ({
  query: question.query,
  mode: "hybrid",
  limit: s.k,
  format: s.format,
  max_tokens: s.maxTokens,
  enable_bm25: s.bm25,
  diversify: s.diversify,
  mmr_lambda: s.mmrLambda,
  track_access: false,
  associative: s.associative,
  ...(s.abstain ? { abstain_ood: true } : {}),
  ...(s.rerank === undefined ? {} : { rerank: s.rerank }),
});

const isRow = (value: unknown): value is Answer => typeof value === "object" && value !== null;
const rowsOf = (answer: Answer): Answer[] => (Array.isArray(answer.results) ? answer.results.filter(isRow) : []);
const textAt = (row: Answer, key: string): string => (typeof row[key] === "string" ? row[key] : "");
const numberAt = (row: Answer, key: string): number => (typeof row[key] === "number" ? row[key] : 0);
const lower = (text: string) => text.toLowerCase();
/** What a row says, in either form. */
const textOfRow = (row: Answer): string =>
  ["c", "content", "error_message", "name", "e"].map((key) => textAt(row, key)).find((text) => text !== "") ?? "";
const markerIn = (text: string, markers: readonly string[]): string | undefined =>
  markers.map(lower).find((marker) => lower(text).includes(marker));

const average = (values: readonly number[]): number | undefined => (values.length === 0 ? undefined : mean(values));

function metricsOf(
  measured: readonly Measured[],
  settings: EvaluationSettings,
  dataset: Dataset,
  alive: ReadonlySet<string>,
  warmupMs: number,
): Metrics {
  const { k } = settings;
  const answerable = measured.filter(({ question }) => !question.abstain);
  const scored = answerable.filter(({ relevant }) => relevant.size > 0);
  const scores = scored.map(({ ranked, relevant }) => ndcg(ranked, relevant, k));
  const withAnswer = scored.filter(({ question }) => question.expectedAnswer !== undefined);
  const abstaining = measured.filter(({ question }) => question.abstain);
  const gone = new Set(dataset.questions.flatMap(({ relevantIds }) => relevantIds).filter((id) => measured.length > 0 && !alive.has(id)));
  const abilities = [...new Set(scored.map(({ question }) => question.ability))].sort();
  return {
    sampleCount: scored.length,
    k,
    ndcg: mean(scores),
    ndcgCommon: mean(scored.map(({ ranked, relevant }) => ndcg(ranked, relevant, k, "common"))),
    mrr: mean(scored.map(({ ranked, relevant }) => reciprocalRank(ranked, relevant))),
    precision: mean(scored.map(({ ranked, relevant }) => precision(ranked, relevant, k))),
    recall: mean(scored.map(({ ranked, relevant }) => recall(ranked, relevant, k))),
    recallAtOne: mean(scored.map(({ ranked, relevant }) => recall(ranked, relevant, 1))),
    exactMatch: average(withAnswer.map(({ topText, question }) => exactMatch(topText, question.expectedAnswer ?? ""))),
    f1: average(withAnswer.map(({ topText, question }) => wordF1(topText, question.expectedAnswer ?? ""))),
    meanTokens: mean(measured.map(({ tokens }) => tokens)),
    maxTokens: Math.max(0, ...measured.map(({ tokens }) => tokens)),
    perAbility: abilities.map((ability) => {
      const mine = scored.filter(({ question }) => question.ability === ability);
      return {
        ability,
        count: mine.length,
        ndcg: mean(mine.map(({ ranked, relevant }) => ndcg(ranked, relevant, k))),
        recall: mean(mine.map(({ ranked, relevant }) => recall(ranked, relevant, k))),
      };
    }),
    abstentionAccuracy: average(abstaining.map(({ ids }) => (ids.length === 0 ? 1 : 0))),
    falseAbstentionRate: average(answerable.map(({ ids }) => (ids.length === 0 ? 1 : 0))),
    interval: bootstrapInterval(scores),
    detectableEffect: detectableEffect(scores),
    perQuery: scored.map(({ question, ranked, relevant }, at) => ({
      key: new Bun.CryptoHasher("sha256").update(question.query).digest("hex").slice(0, 12),
      query: question.query,
      ndcg: scores[at] ?? 0,
      reciprocalRank: reciprocalRank(ranked, relevant),
      recallAtOne: recall(ranked, relevant, 1),
      ability: question.ability,
      questionClass: question.questionClass,
    })),
    scoredById: scored.every(({ question }) => question.relevantIds.length > 0),
    latencyP50Ms: percentile(
      measured.map(({ ms }) => ms),
      0.5,
    ),
    latencyP95Ms: percentile(
      measured.map(({ ms }) => ms),
      0.95,
    ),
    warmupMs,
    missingIds: gone.size,
    questionsWithMissingIds: answerable.filter(({ question }) => question.relevantIds.some((id) => gone.has(id))).length,
    unmeasurable: answerable.length - scored.length,
    dropped: dataset.dropped,
    meanGraphTokens: mean(measured.map(({ graphTokens }) => graphTokens)),
    meanHopTokens: mean(measured.map(({ hopTokens }) => hopTokens)),
  };
}
