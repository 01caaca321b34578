/**
 * `mode=verify` (`retrieval.md` §8): evidence is gathered, the judge reads it, and its verdicts are weighed. Similarity is never evidence of truth: with
 * cosines a false claim once scored 0.61 and the true one 0.59. Without a judge the answer is an honest unknown, and says where a memory differs.
 */
import { queryTerms } from "../../domain/lexical.ts";
import { type Differs, differsFrom } from "../../domain/trust/differs.ts";
import { decidingEvidence, type Grounding, groundingOf } from "../../domain/trust/verify.ts";
import type { Embedder } from "../../inference/port.ts";
import { type CallContext, projectOf } from "../../kernel/context.ts";
import { causeChain } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { redact } from "../../kernel/secrets.ts";
import type { Database, Tx } from "../../store/port.ts";
import type { Filters } from "../../store/queries/search-filters.ts";
import { chunkTexts } from "../../store/queries/search-rows.ts";
import { evidenceRows, insertPrediction, keptEvidence, resolvedPredictions, similarTo } from "../../store/queries/search-verify.ts";
import type { ClaimJudgment, Judge, JudgeBackend, TriedRung } from "../judge/judge.ts";
import { createAges } from "./ages.ts";
import { analyse } from "./analyse.ts";
import { embedQuestion, type FreshVectors, type QuestionVector, searchVectors } from "./arms/vector.ts";
import { searchWords } from "./arms/words.ts";
import { degradationOf } from "./degraded.ts";
import { runLegs } from "./legs.ts";

export interface Evidence {
  readonly id: string;
  readonly content: string;
  /** The larger of trigram similarity and cosine, 0–1. */
  readonly similarity: number;
  readonly type: string;
  readonly entity: string;
  /** Undefined where nobody read it: beyond the items that are judged, or without a judge. */
  readonly judgment: ClaimJudgment | undefined;
  /** Where it says the claim's words with something else; undefined for what supports the claim. */
  readonly differs: Differs | undefined;
}

export interface Verification {
  readonly confidence: number;
  readonly grounding: Grounding["level"];
  readonly interpretation: string;
  readonly evidence: readonly Evidence[];
  /** Who answered first. */
  readonly judgedBy: JudgeBackend;
  /** Verdicts other than `unknown`. */
  readonly verdictsReached: number;
  /** Share of the resolved predictions of this level that were right, smoothed; undefined while none is resolved. */
  readonly calibratedAccuracy: number | undefined;
  readonly calibratedN: number;
  /** Undefined where the prediction could not be written down, or something that it rests on is gone. */
  readonly verifyId: string | undefined;
  /** Judges that were asked and failed, each once. */
  readonly tried: readonly TriedRung[];
  readonly degraded: readonly string[];
}

export interface Verifier {
  /** @throws MemoryError where the database does not answer. */
  verify(ctx: CallContext, claim: string): Promise<Verification>;
}

export interface VerifierParts {
  readonly db: Database;
  readonly embedder: Embedder;
  readonly fresh?: FreshVectors | undefined;
  /** Undefined where nobody judges claims. */
  readonly judge: Judge | undefined;
}

/** A verdict is waited for, and one without the memories that say it in other words would be a poor one: the share of the call is the only limit. */
const PATIENT_MS = Number.POSITIVE_INFINITY;
/** Items of evidence, and rows that the words find for the trigrams to measure. */
const MOST_EVIDENCE = 10;
const CANDIDATES = 50;
/** Below it a row is not on the claim's topic. Found with bge-m3: true claims 0.43–0.57. */
const TOPIC_FLOOR = 0.4;
/**
 * Cosines of the e5 models lie higher: on the development sets 95 % of random pairs are below 0.81, 95 % of a question and its answer above 0.79.
 * Trigram similarities have no model and keep the common floor.
 */
const E5_FLOOR = 0.8;
const floorOf = (label: string) => (/e5/.test(label) ? E5_FLOOR : TOPIC_FLOOR);

const NOTHING = "Nothing in memory relates to this claim: treat it as unverified.";
const NO_JUDGE =
  "Related material exists, but nobody judged whether it asserts the claim: no judge is installed or chosen, and being on topic is not support. 'memory-industry models nli' installs one.";
const UNDECIDED = "Related material exists, but none of it was found to assert the claim: being on topic is not support.";
const TOLD: Readonly<Record<Exclude<Grounding["level"], "unknown">, string>> = {
  verified: "Stored evidence supports the claim.",
  partial: "Stored evidence supports the claim in part; it is not decisive.",
  weak: "Stored evidence gives the claim weak support; it is not decisive.",
  contradicted: "Stored evidence contradicts the claim.",
};

const GONE =
  "Something that was read for this claim was changed or taken away while it was judged: it is left out, and the answer is not written down.";

const DIFFERENCE: Readonly<Record<Differs["kind"], string>> = {
  number: "another number",
  negation: "a negation",
  identifier: "another name",
  word: "another word",
};

function interpretationOf(level: Grounding["level"], evidence: readonly Evidence[], wasJudged: boolean): string {
  if (evidence.length === 0) return NOTHING;
  const told = level === "unknown" ? (wasJudged ? UNDECIDED : NO_JUDGE) : TOLD[level];
  const different = evidence.find(({ differs }) => differs !== undefined)?.differs;
  if (different === undefined || level === "verified") return told;
  return `${told} One memory says the claim's words with ${DIFFERENCE[different.kind]}: see differs.`;
}

/** A row of evidence before anybody judged it; `read` is what a judge gets to see. */
type Gathered = Omit<Evidence, "judgment" | "differs"> & { readonly read: string };

export function createVerifier({ db, embedder, fresh, judge }: VerifierParts): Verifier {
  return {
    async verify(ctx, claim) {
      const question = await embedQuestion(ctx, embedder, claim, fresh, PATIENT_MS);
      const filters: Filters = { scope: ctx.scope, includeUnscoped: false, after: undefined, before: undefined, tag: undefined };
      const { value: gathered, failed } = await runLegs(db, ctx, async (run, tx) => {
        const byWords = (await run("words", (t) => similarByWords(t, claim, filters))) ?? [];
        const near = await run("vector", (t) => similarByMeaning(t, question, embedder.label, filters));
        const similarity = new Map<string, number>();
        for (const { id, score } of [...byWords, ...(near?.hits ?? [])]) similarity.set(id, Math.max(score, similarity.get(id) ?? 0));
        const rows = await tx.all(evidenceRows({ ids: [...similarity.keys()], filters }));
        const pieces = await piecesOf(tx, near?.chunks ?? new Map());
        return rows
          .map((row): Gathered => ({ ...row, similarity: similarity.get(row.id) ?? 0, read: pieces.get(row.id) ?? row.content }))
          .sort((a, b) => b.similarity - a.similarity || (a.id < b.id ? -1 : 1))
          .slice(0, MOST_EVIDENCE);
      });
      const judgments = await judged(ctx, judge, claim, gathered);
      const read = gathered.map(({ read, ...row }, at): Evidence => {
        const judgment = judgments[at]?.backend === "none" ? undefined : judgments[at];
        return { ...row, judgment, differs: judgment?.verdict === "supports" ? undefined : differsFrom(claim, read) };
      });
      const { evidence, weighed, confidence, level, verifyId } = await settle(ctx, claim, read, filters);
      const past = await calibration(ctx, level);
      const resolved = (past?.correct ?? 0) + (past?.incorrect ?? 0);
      const { search: degraded } = degradationOf(failed, question, { enableBm25: false, unranked: undefined });
      return {
        confidence,
        grounding: level,
        interpretation: interpretationOf(level, evidence, weighed.length > 0),
        evidence,
        judgedBy: weighed[0]?.backend ?? "none",
        verdictsReached: weighed.filter(({ verdict }) => verdict !== "unknown").length,
        calibratedAccuracy: resolved === 0 ? undefined : ((past?.correct ?? 0) + 1) / (resolved + 2),
        calibratedN: resolved,
        verifyId,
        tried: distinct(judgments.flatMap(({ tried }) => tried)),
        degraded: evidence.length < read.length ? [...degraded, GONE] : degraded,
      };
    },
  };

  /** How predictions of this level fared; a table that does not answer costs nobody a verdict. */
  async function calibration(ctx: CallContext, level: string) {
    try {
      return await db.read(ctx, (tx) => tx.first(resolvedPredictions({ level, projectId: projectOf(ctx.scope) })));
    } catch (cause) {
      if (ctx.signal.aborted) throw cause;
      ctx.log.warn("past predictions could not be counted", { cause: causeChain(cause) });
      return undefined;
    }
  }

  /**
   * What was read may be forgotten, withheld or rewritten while it is judged. The answer is made of what stands, and written down together with all that
   * was read or not at all: a claim repeats what it was asked about.
   */
  async function settle(ctx: CallContext, claim: string, read: readonly Evidence[], filters: Filters): Promise<Settled> {
    const verifyId = newId();
    try {
      return await db.write(ctx, async (tx) => {
        const found = weigh(await kept(tx, read, filters, true));
        const { evidence, weighed, confidence, level } = found;
        if (evidence.length < read.length) return { ...found, verifyId: undefined };
        const evidenceIds = decidingEvidence(weighed).map(({ id }) => id);
        const entity = evidence[0]?.entity ?? null;
        const prediction = { id: verifyId, claim: redact(claim), entity, confidence, level, evidenceIds, projectId: projectOf(ctx.scope) };
        await tx.run(insertPrediction(prediction));
        return { ...found, verifyId };
      });
    } catch (cause) {
      if (ctx.signal.aborted) throw cause;
      ctx.log.warn("a prediction could not be written down", { cause: causeChain(cause) });
      return { ...weigh(await db.read(ctx, (tx) => kept(tx, read, filters, false))), verifyId: undefined };
    }
  }
}

interface Weighed {
  readonly evidence: readonly Evidence[];
  readonly weighed: readonly (ClaimJudgment & Pick<Evidence, "id" | "similarity">)[];
  readonly confidence: number;
  readonly level: Grounding["level"];
}
interface Settled extends Weighed {
  readonly verifyId: string | undefined;
}

function weigh(evidence: readonly Evidence[]): Weighed {
  const weighed = evidence.flatMap(({ id, similarity, judgment }) => (judgment === undefined ? [] : [{ id, similarity, ...judgment }]));
  return { evidence, weighed, ...groundingOf(weighed) };
}

async function kept(tx: Tx, read: readonly Evidence[], filters: Filters, lock: boolean): Promise<readonly Evidence[]> {
  if (read.length === 0) return [];
  const [ids, contents] = [read.map(({ id }) => id), read.map(({ content }) => content)];
  const there = new Set((await tx.all(keptEvidence({ ids, contents, filters, lock }))).map(({ id }) => id));
  return read.filter(({ id }) => there.has(id));
}

/** The best items as far as the judge goes; none without a judge. */
const judged = async (
  ctx: CallContext,
  judge: Judge | undefined,
  claim: string,
  rows: readonly Gathered[],
): Promise<readonly ClaimJudgment[]> =>
  judge === undefined || rows.length === 0
    ? []
    : await judge.judgeClaim(
        ctx,
        claim,
        rows.slice(0, judge.maxPairs).map(({ read }) => read),
      );

function distinct(tried: readonly TriedRung[]): TriedRung[] {
  return tried.filter(({ backend, error }, at) => tried.findIndex((other) => other.backend === backend && other.error === error) === at);
}

/** The piece of a long memory that lies nearest to the claim: a judge reads 512 tokens, and what stands past them is invisible. */
async function piecesOf(tx: Tx, chunks: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, string>> {
  if (chunks.size === 0) return new Map();
  const rows = await tx.all(chunkTexts({ ids: [...chunks.keys()], indices: [...chunks.values()] }));
  return new Map(rows.map(({ id, content }) => [id, content]));
}

async function similarByWords(
  tx: Tx,
  claim: string,
  filters: Filters,
): Promise<readonly { readonly id: string; readonly score: number }[]> {
  if (!queryTerms(claim).some((term) => term.selects)) return [];
  const { found } = await searchWords(tx, {
    analysis: analyse(claim),
    kinds: ["observation"],
    filters,
    depth: CANDIDATES,
    exactRank: CANDIDATES,
    ages: createAges(filters),
  });
  const rows = await tx.all(similarTo({ ids: found.observation ?? [], claim, least: TOPIC_FLOOR, limit: MOST_EVIDENCE, filters }));
  return rows.map(({ id, similarity }) => ({ id, score: similarity }));
}

async function similarByMeaning(tx: Tx, question: QuestionVector, label: string, filters: Filters) {
  if (!("vector" in question)) return undefined;
  const near = await searchVectors(tx, {
    vector: question.vector,
    label,
    depth: MOST_EVIDENCE,
    filters,
    withEpisodes: false,
    ages: createAges(filters),
  });
  return { hits: near.hits.filter(({ score }) => score >= floorOf(label)), chunks: near.chunks };
}
