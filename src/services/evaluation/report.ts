/** What a measurement found, as the JSON that `--compare` reads and as text for a person (`retrieval.md` §9.3). */
import type { FusionMode } from "../../domain/retrieval/fusion.ts";
import type { Interval } from "../../domain/retrieval/statistics.ts";
import { counted } from "../../kernel/text.ts";

/** Settings of a run; all of them are in its report, so that two reports can be compared honestly. */
export interface EvaluationSettings {
  /** Rows looked at, 1 to 50. */
  readonly k: number;
  readonly format: "compact" | "verbose";
  readonly maxTokens: number;
  readonly associative: boolean;
  readonly abstain: boolean;
  readonly rerank: boolean | undefined;
  readonly bm25: boolean;
  readonly text: boolean;
  readonly vector: boolean;
  readonly coverDensity: boolean;
  /** The leg of the entities that a question names. */
  readonly entityLeg: boolean;
  /** Undefined: as configured. */
  readonly fusion: FusionMode | undefined;
  /** As in a session with this goal. */
  readonly goal: string | undefined;
  readonly diversify: boolean;
  readonly mmrLambda: number;
  /** A run without a model is meant; else a degraded answer fails the run. */
  readonly lexicalOnly: boolean;
}

/** Where and with what a run was made. */
export interface RunFacts {
  readonly version: string;
  readonly commit: string | undefined;
  /** As configured. */
  readonly fusion: FusionMode;
  readonly models: Readonly<Record<string, string>>;
  /** Rows that search may answer with, by kind. */
  readonly corpus: Readonly<Record<string, number>>;
}

export interface AbilityScore {
  readonly ability: string;
  readonly count: number;
  readonly ndcg: number;
  readonly recall: number;
}

export interface Metrics {
  readonly sampleCount: number;
  readonly k: number;
  /** First position undiscounted (`original`); the bars use it. */
  readonly ndcg: number;
  /** ÷ log2(p + 1). */
  readonly ndcgCommon: number;
  readonly mrr: number;
  readonly precision: number;
  readonly recall: number;
  readonly recallAtOne: number;
  /** Undefined where no question names an answer. */
  readonly exactMatch: number | undefined;
  readonly f1: number | undefined;
  readonly meanTokens: number;
  readonly maxTokens: number;
  readonly perAbility: readonly AbilityScore[];
  readonly abstentionAccuracy: number | undefined;
  readonly falseAbstentionRate: number | undefined;
  readonly interval: Interval;
  readonly detectableEffect: number;
  readonly perQuery: readonly {
    readonly key: string;
    readonly query: string;
    readonly ndcg: number;
    readonly reciprocalRank: number;
    readonly recallAtOne: number;
    readonly ability: string;
    readonly questionClass: string;
  }[];
  /** False where some questions were scored by text markers. */
  readonly scoredById: boolean;
  readonly latencyP50Ms: number;
  readonly latencyP95Ms: number;
  readonly warmupMs: number;
  readonly missingIds: number;
  readonly questionsWithMissingIds: number;
  readonly unmeasurable: number;
  readonly dropped: number;
  readonly meanGraphTokens: number;
  readonly meanHopTokens: number;
}

export interface Report {
  readonly settings: EvaluationSettings;
  readonly facts: RunFacts;
  readonly metrics: Metrics;
}

export const graphRatio = ({ meanGraphTokens, meanHopTokens }: Metrics): number =>
  meanHopTokens === 0 ? 0 : meanGraphTokens / meanHopTokens;

/** The report as it is written to a file. */
export function reportJson({ settings, facts, metrics: m }: Report): Readonly<Record<string, unknown>> {
  return {
    version: facts.version,
    commit: facts.commit ?? null,
    samples: m.sampleCount,
    k: m.k,
    ndcg_form: "original: first position undiscounted, position p >= 2 divided by log2 p",
    settings: {
      k: settings.k,
      format: settings.format,
      max_tokens: settings.maxTokens,
      associative: settings.associative,
      abstain: settings.abstain,
      rerank: settings.rerank ?? null,
      bm25: settings.bm25,
      text: settings.text,
      vector: settings.vector,
      cover_density: settings.coverDensity,
      diversify: settings.diversify,
      mmr_lambda: settings.mmrLambda,
      lexical_only: settings.lexicalOnly,
      entity_leg: settings.entityLeg,
      fusion: settings.fusion ?? facts.fusion,
      goal: settings.goal ?? null,
    },
    models: facts.models,
    corpus: facts.corpus,
    metrics: {
      sample_count: m.sampleCount,
      k: m.k,
      ndcg_at_k: m.ndcg,
      ndcg_at_k_log2_p_plus_1: m.ndcgCommon,
      mrr: m.mrr,
      precision_at_k: m.precision,
      recall_at_k: m.recall,
      recall_at_1: m.recallAtOne,
      mean_exact_match: m.exactMatch ?? null,
      mean_f1: m.f1 ?? null,
      mean_response_tokens: m.meanTokens,
      max_response_tokens: m.maxTokens,
      per_ability: m.perAbility.map(({ ability, count, ndcg, recall }) => ({ ability, count, ndcg_at_k: ndcg, recall_at_k: recall })),
      ...(m.abstentionAccuracy === undefined ? {} : { abstention_accuracy: m.abstentionAccuracy }),
      ...(m.falseAbstentionRate === undefined ? {} : { false_abstention_rate: m.falseAbstentionRate }),
      ndcg_ci95: [m.interval.low, m.interval.high],
      minimum_detectable_effect: Number.isFinite(m.detectableEffect) ? m.detectableEffect : null,
      per_query_ndcg: m.perQuery.map(({ ndcg }) => ndcg),
      per_query_ability: m.perQuery.map(({ ability }) => ability),
      per_query_class: m.perQuery.map(({ questionClass }) => questionClass),
      per_query_key: m.perQuery.map(({ key }) => key),
      per_query_text: m.perQuery.map(({ query }) => query),
      scored_by_id: m.scoredById,
      latency_p50_ms: m.latencyP50Ms,
      latency_p95_ms: m.latencyP95Ms,
      warmup_ms: m.warmupMs,
      missing_relevant_ids: m.missingIds,
      questions_with_missing_ids: m.questionsWithMissingIds,
      unmeasurable_questions: m.unmeasurable,
      dropped_rows: m.dropped,
      mean_graph_tokens: m.meanGraphTokens,
      mean_hop_ball_tokens: m.meanHopTokens,
      graph_token_ratio: graphRatio(m),
    },
  };
}

const f = (value: number, digits = 4) => value.toFixed(digits);
const whole = (value: number) => String(Math.round(value));

/** The report for a person: figures first, then what they do not establish. */
export function reportText({ settings, metrics: m }: Report): string {
  if (m.sampleCount === 0 && m.abstentionAccuracy === undefined) return "no question could be measured";
  const lines = [
    `nDCG@${m.k}=${f(m.ndcg)} [95% CI ${f(m.interval.low)}–${f(m.interval.high)}] MRR=${f(m.mrr)} P=${f(m.precision)} R=${f(m.recall)} R@1=${f(m.recallAtOne)} (n=${m.sampleCount})` +
      ` | tokens mean ${whole(m.meanTokens)} max ${whole(m.maxTokens)} | latency p50 ${f(m.latencyP50Ms, 1)} ms p95 ${f(m.latencyP95Ms, 1)} ms | warm-up ${f(m.warmupMs, 0)} ms`,
  ];
  if (m.exactMatch !== undefined && m.f1 !== undefined) lines.push(`answers: exact match ${f(m.exactMatch)} F1 ${f(m.f1)}`);
  if (m.abstentionAccuracy !== undefined || settings.abstain)
    lines.push(
      `abstention: right ${m.abstentionAccuracy === undefined ? "–" : f(m.abstentionAccuracy)}, false ${m.falseAbstentionRate === undefined ? "–" : f(m.falseAbstentionRate)}`,
    );
  for (const { ability, count, ndcg, recall } of m.perAbility) lines.push(`  ${ability}: nDCG ${f(ndcg)} R ${f(recall)} (n=${count})`);
  const limits = limitsOf(m);
  if (limits.length > 0) lines.push("", "What this run does not establish", ...limits.map((limit) => `- ${limit}`));
  return lines.join("\n");
}

function limitsOf(m: Metrics): string[] {
  if (m.sampleCount === 0) return [];
  const limits: string[] = [];
  if (m.missingIds > 0)
    limits.push(`The ceiling is lowered: ${m.missingIds} relevant ids are gone, affecting ${m.questionsWithMissingIds} questions.`);
  if (m.unmeasurable > 0) limits.push(`${m.unmeasurable} questions were left out: none of what answers them is there.`);
  if (m.dropped > 0) limits.push(`${m.dropped} rows of the dataset name nothing that could be found and were left out.`);
  const shown = Number.isFinite(m.detectableEffect) ? `a difference of ${f(m.detectableEffect, 3)} or more` : "no difference";
  limits.push(
    `With ${counted(m.sampleCount, "question")} two separate runs show ${shown}. Use --compare on two --json reports: pairs show less.`,
  );
  if (!m.scoredById) limits.push("Some questions were scored by text markers; such scores are not comparable with scores by id.");
  limits.push("The figures are about this corpus; another one may order two settings differently.");
  limits.push("Latency does not hold the time to load a model.");
  return limits;
}
