/**
 * The abstention gate (`retrieval.md` §6): refuses a question that this memory does not answer. It fails open: where it cannot decide it lets the
 * question pass and says why.
 */
import { type AbstentionRule, isAnswered, scoreOf } from "../../../domain/retrieval/abstention/rule.ts";
import { distanceFrom } from "../../../domain/retrieval/abstention/shrinkage.ts";
import type { Embedder } from "../../../inference/port.ts";
import { type CallContext, projectOf } from "../../../kernel/context.ts";
import { type Clock, signalUntil } from "../../../kernel/deadline.ts";
import { causeChain } from "../../../kernel/errors.ts";
import type { Database, Tx } from "../../../store/port.ts";
import { servedObservations } from "../../../store/queries/abstention.ts";
import type { QuestionVector, VectorHits } from "../arms/vector.ts";
import type { WordHits } from "../arms/words.ts";
import { isWhole, type Unseen } from "../missing-vectors.ts";
import { createDistances, LEAST_SAMPLES } from "./distances.ts";
import { bestMatch, nearestIds, readTexts } from "./matching.ts";
import { createRemembered } from "./remembered.ts";
import { type Evidence, type GateStatistics, readEvidence, type Waiting } from "./statistics.ts";
import { type MatchedRule, readThresholds, type Thresholds } from "./thresholds.ts";

/** What was compared with what. */
export interface GateMeasures {
  /** Mahalanobis distance of the question from the memory's vectors; undefined without a model or with too few of them. */
  readonly distance: number | undefined;
  /** Distance from which questions count as foreign: given by the caller, by configuration, or measured. */
  readonly distanceThreshold: number | undefined;
  readonly statistics: GateStatistics | undefined;
  /** The score that decided and its threshold; undefined where the distance decided. */
  readonly score: number | undefined;
  readonly scoreThreshold: number | undefined;
  readonly decidedBy: "distance" | "words and meaning" | "words";
  /** Why less decided than could have; undefined where everything did. */
  readonly limited: Limited | undefined;
}

/** `outdated`: a measurement that no longer holds, or knows less than this program. `partial`: what was measured could not all be read. */
export interface Limited {
  readonly state: "outdated" | "partial";
  /** One or two sentences. */
  readonly reason: string;
}

export type GateOutcome =
  | ({ readonly kind: "abstained"; readonly reason: string } & GateMeasures)
  | ({ readonly kind: "answered" } & GateMeasures)
  /** It could not decide, and let the question pass. */
  | { readonly kind: "uncalibrated" | "unavailable"; readonly reason: string };

/** The nearest rows are still to be read token by token, which takes the model and no transaction. */
export interface Reading {
  readonly kind: "reading";
  /** Never throws but for a call that is over: what could not be read is done without. */
  finish(): Promise<GateOutcome>;
}

export interface GateQuestion {
  readonly query: string;
  /** A distance given for this call. */
  readonly threshold: number | undefined;
  readonly vector: QuestionVector | undefined;
  /** Label of the running model. */
  readonly label: string;
}

/** What the arms brought; undefined where one failed or was not asked. */
export interface Brought {
  readonly words: WordHits | undefined;
  readonly near: VectorHits | undefined;
  /** How much meaning could not find, and which of the rows that were found. */
  readonly unseen: Unseen | undefined;
  readonly waiting: Waiting;
}

/** Either decided at once, by the distance alone, or once the arms have brought what there is. */
export type OpenGate =
  | { readonly kind: "decided"; readonly outcome: GateOutcome }
  | { readonly kind: "open"; decide(tx: Tx, brought: Brought): Promise<GateOutcome | Reading> };

export interface Gate {
  /** Never throws but for a call that is over. */
  open(ctx: CallContext, question: GateQuestion): Promise<OpenGate>;
  /** Call when thresholds were measured anew, vectors were, or memories were erased: what is remembered is dropped. */
  forget(): void;
}

export interface GateParts {
  readonly db: Database;
  /** Reads the tokens of a question and of its nearest rows. */
  readonly embedder: Pick<Embedder, "tokens">;
  /** Distance of `CUBA_OOD_THRESHOLD`; undefined = the measured one. */
  readonly threshold: number | undefined;
  /** Vectors that a distribution is fitted on, at most. */
  readonly fitLimit: number;
  readonly clock: Clock;
}

/** Thresholds remembered, one for each project and model. */
const THRESHOLDS_KEPT = 256;

const MEASURE = "'memory-industry calibrate --dataset FILE --apply' measures one.";
const UNCALIBRATED = `No threshold was measured on this memory, so nothing was refused. ${MEASURE}`;
const NO_VECTOR = "A threshold of distance needs the question's vector, which is missing, so nothing was refused.";
const NEITHER = "The question has no vector, and no threshold for words alone was measured, so nothing was refused.";
const INSTALL = "'memory-industry models embed' installs a model.";
const MEASURE_WORDS = "'memory-industry calibrate --dataset FILE --lexical-only --apply' measures on words.";
/** What helps a question without a vector. */
const remedyOf = (question: QuestionVector): string =>
  "lost" in question && question.isLoading ? "The embedding model was still loading; ask again in a moment." : INSTALL;
const NO_VECTORS = "What was asked for has no vectors, so a threshold of distance says nothing about it and nothing was refused.";
const TOO_SMALL = `This memory holds fewer than ${LEAST_SAMPLES} memories, too few to call a question foreign, so nothing was refused.`;
const NO_WORDS = "The words could not be searched, so nothing was refused. Run 'memory-industry doctor'.";
const NOT_IN_TIME = "The distribution of this memory's vectors was not ready in time, so nothing was refused. Ask again.";
const UNREAD: Limited = {
  state: "partial",
  reason: "The nearest memories could not be read word by word in time, so the other statistics decided, which refuse fewer questions.",
};
/** The row of an older program, or of a measurement that the model failed in. */
const MEASURED_UNREAD: Limited = {
  state: "outdated",
  reason: `The threshold was measured without reading memories word by word, as this program can, so fewer questions are refused. ${MEASURE}`,
};
const FAILED = "The gate could not read what it needs, so nothing was refused. Run 'memory-industry doctor'.";
/** What is answered where what the arms brought could not be read. */
export const UNDECIDED: GateOutcome = { kind: "unavailable", reason: FAILED };

export function createGate({ db, embedder, threshold: configured, fitLimit, clock }: GateParts): Gate {
  const distances = createDistances({ db, limit: fitLimit, clock });
  const remembered = createRemembered<Thresholds & { readonly rows: number }>(THRESHOLDS_KEPT, clock);

  /** The size is read for each question: whoever adds or erases memories, in whichever process, a threshold speaks for the memory as it is. */
  const thresholdsFor = async (ctx: CallContext, label: string, dimensions: number | undefined) => {
    const projectId = projectOf(ctx.scope);
    const model = dimensions === undefined ? undefined : { label, dimensions };
    const quiet = { principal: ctx.principal, scope: ctx.scope, signal: new AbortController().signal };
    const sizeOf = async (id: string | null) => (await db.read(quiet, (tx) => tx.first(servedObservations({ projectId: id }))))?.rows ?? 0;
    const rows = await sizeOf(projectId);
    const whole = projectId === null ? rows : await sizeOf(null);
    const key = `${projectId ?? "all"} ${rows} ${whole} ${model === undefined ? "words" : `${label} ${dimensions}`}`;
    return await remembered.of(key, () => db.read(quiet, async (tx) => ({ ...(await readThresholds(tx, projectId, model)), rows })));
  };

  /** Undefined where the tokens could not be read in time. */
  async function matchOf(
    ctx: CallContext,
    query: string,
    rows: readonly string[],
    evidence: Evidence,
    { space }: MatchedRule,
  ): Promise<number | undefined> {
    const { tokens } = embedder;
    if (tokens === undefined || rows.length === 0) return undefined;
    using limit = signalUntil(ctx.deadline.share(READ_SHARE).atMost(READ_WAIT_MS), ctx.signal);
    try {
      const [[question], held] = await Promise.all([tokens([query], "query", limit.signal), tokens(rows, "passage", limit.signal)]);
      return question && bestMatch(question, held, evidence.weights(), space);
    } catch (cause) {
      if (ctx.signal.aborted) throw cause;
      ctx.log.warn("the abstention gate decided without reading the nearest rows word by word", { cause: causeChain(cause) });
      return undefined;
    }
  }

  return {
    async open(ctx, { query, threshold, vector: question, label }) {
      const vector = question !== undefined && "vector" in question ? question.vector : undefined;
      try {
        const measured = await thresholdsFor(ctx, label, vector?.length);
        const given = threshold ?? configured;
        const usesDistance = given !== undefined || measured.distance !== undefined;
        const fit = vector === undefined || !usesDistance ? undefined : await inTime(ctx, distances.of(ctx, label));
        const distance = fit !== undefined && fit !== LATE && vector !== undefined ? distanceFrom(fit, vector) : undefined;
        const distanceThreshold = given ?? measured.distance;
        if (given !== undefined || (measured.meaning === undefined && measured.distance !== undefined && vector !== undefined)) {
          if (vector === undefined)
            return passed("unavailable", question === undefined ? NO_VECTORS : `${NO_VECTOR} ${remedyOf(question)}`);
          if (fit === LATE) return passed("unavailable", NOT_IN_TIME);
          if (distance === undefined || distanceThreshold === undefined) return passed("unavailable", TOO_SMALL);
          return { kind: "decided", outcome: byDistance(distance, distanceThreshold) };
        }
        if (measured.meaning === undefined && measured.words === undefined) {
          if (measured.outdated !== undefined) return passed("uncalibrated", `Nothing was refused: ${measured.outdated}. ${MEASURE}`);
          return vector === undefined && question !== undefined
            ? passed("unavailable", `${NEITHER} ${remedyOf(question)} ${MEASURE_WORDS}`)
            : passed("uncalibrated", UNCALIBRATED);
        }
        if (measured.rows < LEAST_SAMPLES) return passed("unavailable", TOO_SMALL);
        return {
          kind: "open",
          async decide(tx, { words, near, unseen, waiting }) {
            if (words === undefined) return { kind: "unavailable", reason: NO_WORDS };
            const sawAll = near === undefined || (unseen !== undefined && isWhole(unseen));
            const evidence = await readEvidence(tx, words, near, { waiting });
            const statistics = evidence.statistics();
            const circumstances = { distance, distanceThreshold, sawAll };
            const { matched } = measured;
            if (statistics.meaning === undefined || embedder.tokens === undefined) return byRule(statistics, measured, circumstances);
            if (matched === undefined) return byRule(statistics, measured, { ...circumstances, unread: MEASURED_UNREAD });
            const texts = await readTexts(tx, near, nearestIds(near), evidence.weights());
            return {
              kind: "reading",
              async finish() {
                const match = await matchOf(ctx, query, [...texts.values()], evidence, matched);
                return byRule({ ...statistics, match }, measured, { ...circumstances, unread: match === undefined ? UNREAD : undefined });
              },
            };
          },
        };
      } catch (cause) {
        if (ctx.signal.aborted) throw cause;
        ctx.log.warn("the abstention gate could not decide", { cause: causeChain(cause) });
        return passed("unavailable", FAILED);
      }
    },
    forget() {
      distances.forget();
      remembered.forget();
    },
  };
}

const passed = (kind: "uncalibrated" | "unavailable", reason: string): OpenGate => ({ kind: "decided", outcome: { kind, reason } });

/** Share of the time a call has left that the first fit of a project may take; a minute's worth of questions shares it. */
const FIT_SHARE = 0.4;
const LATE = Symbol("late");

async function inTime<T>(ctx: Pick<CallContext, "deadline" | "signal">, work: Promise<T>): Promise<T | typeof LATE> {
  using limit = signalUntil(ctx.deadline.share(FIT_SHARE), ctx.signal);
  const { signal } = limit;
  const late = new Promise<typeof LATE>((resolve) => signal.addEventListener("abort", () => resolve(LATE), { once: true }));
  return await (signal.aborted ? LATE : Promise.race([work, late]));
}

/** Share of the time a call has left that reading the nearest rows may take: three runs of the model. */
const READ_SHARE = 0.4;
/** And the longest it may take, milliseconds, as the question's vector may: a model that needs longer is done without, and that is said. */
const READ_WAIT_MS = 2_000;

/** A way out that every refusal names. */
const SHOW = "Without abstain_ood the nearest memories are shown.";

function byDistance(distance: number, threshold: number): GateOutcome {
  const measures = {
    distance,
    distanceThreshold: threshold,
    statistics: undefined,
    score: undefined,
    scoreThreshold: undefined,
    decidedBy: "distance",
    limited: undefined,
  } as const;
  if (distance <= threshold) return { kind: "answered", ...measures };
  return {
    kind: "abstained",
    reason: `The question lies outside of this memory: distance ${distance.toFixed(2)} > threshold ${threshold.toFixed(2)}. ${SHOW}`,
    ...measures,
  };
}

/**
 * Share of a question's weight that an error, a name or a row without a vector must have to answer it by words alone. The rule was measured on longer texts: where some questions
 * share no word with their answer it lets a single word pass, and any name has one.
 */
const MOSTLY_COVERED = 0.5;

/** The rule that reads most of what there is, with what it reads. */
function fullRule({ meaning: values, match }: GateStatistics, meaning: AbstentionRule | undefined, matched: MatchedRule | undefined) {
  if (values === undefined) return undefined;
  if (matched !== undefined && match !== undefined) return { rule: matched.rule, values: { ...values, match } };
  return meaning === undefined ? undefined : { rule: meaning, values };
}

const outdatedWords = (outdated: string | undefined): Limited | undefined =>
  outdated === undefined ? undefined : { state: "outdated", reason: `Words alone decided: ${outdated}. ${MEASURE}` };

/** What a decision was made under. */
export interface Circumstances extends Pick<GateMeasures, "distance" | "distanceThreshold"> {
  /** Meaning could find every memory. */
  readonly sawAll: boolean;
  /** Why no row was read word by word; undefined where that is as it should be. */
  readonly unread?: Limited | undefined;
}

/** What the measured rules say; the same statistics always get the same answer. */
export function byRule(
  statistics: GateStatistics,
  { meaning, matched, words, outdated }: Thresholds,
  { sawAll, unread, distance, distanceThreshold }: Circumstances,
): GateOutcome {
  const full = fullRule(statistics, meaning, matched);
  const used: { readonly rule: AbstentionRule; readonly values: GateStatistics["words"] } | undefined =
    full ?? (words === undefined ? undefined : { rule: words, values: statistics.words });
  if (used === undefined) return { kind: "uncalibrated", reason: UNCALIBRATED };
  const measures = {
    distance,
    distanceThreshold,
    statistics,
    score: scoreOf(used.rule, used.values),
    scoreThreshold: used.rule.threshold,
    decidedBy: full === undefined ? "words" : "words and meaning",
    limited: full === undefined ? outdatedWords(outdated) : unread,
  } as const;
  // An error or a name has no vector, a fresh row none yet: what the words say of it alone is enough.
  const byWordsAlone =
    words !== undefined && statistics.withoutVectors.some((each) => each.coverage >= MOSTLY_COVERED && isAnswered(words, each));
  if (isAnswered(used.rule, used.values) || byWordsAlone) return { kind: "answered", ...measures };
  const { coverage } = statistics.words;
  const nearest = full === undefined ? "" : `, and the nearest has a cosine of ${full.values.bestCosine.toFixed(2)}`;
  const claim =
    full === undefined
      ? "By words alone, no memory seems to answer this question"
      : sawAll
        ? "No memory seems to answer this question"
        : "No memory that could be searched by meaning seems to answer this question, and some could not yet";
  return {
    kind: "abstained",
    reason:
      `${claim}: the best has ${Math.round(100 * coverage)} % of its words by weight${nearest}; ` +
      `score ${measures.score.toFixed(2)} < ${used.rule.threshold.toFixed(2)}, measured on questions that this memory answers. ${SHOW}`,
    ...measures,
  };
}
