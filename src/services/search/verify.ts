/**
 * `mode=verify` (`retrieval.md` §8) without a judge: the evidence is gathered, and what it says about the claim is honestly unknown.
 * Similarity is never evidence of truth: with cosines a false claim once scored 0.61 and the true one 0.59.
 */
import { queryTerms } from "../../domain/lexical.ts";
import type { Embedder } from "../../inference/port.ts";
import { type CallContext, projectOf } from "../../kernel/context.ts";
import { causeChain } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import type { Database, Tx } from "../../store/port.ts";
import type { Filters } from "../../store/queries/search-filters.ts";
import { evidenceRows, insertPrediction, resolvedPredictions, similarTo } from "../../store/queries/search-verify.ts";
import { analyse } from "./analyse.ts";
import { embedQuestion, type QuestionVector, searchVectors } from "./arms/vector.ts";
import { searchWords } from "./arms/words.ts";
import { degradationOf } from "./degraded.ts";
import { runLegs } from "./legs.ts";

export type Grounding = "verified" | "partial" | "weak" | "unknown" | "contradicted";

export interface Evidence {
  readonly id: string;
  readonly content: string;
  /** The larger of trigram similarity and cosine, 0–1. */
  readonly similarity: number;
  readonly type: string;
  readonly entity: string;
}

export interface Verification {
  readonly confidence: number;
  readonly grounding: Grounding;
  readonly interpretation: string;
  readonly evidence: readonly Evidence[];
  readonly judgedBy: "none";
  readonly verdictsReached: number;
  /** Share of the resolved predictions of this level that were right, smoothed; undefined while none is resolved. */
  readonly calibratedAccuracy: number | undefined;
  readonly calibratedN: number;
  /** Undefined where the prediction could not be written down. */
  readonly verifyId: string | undefined;
  readonly degraded: readonly string[];
}

export interface Verifier {
  /** @throws MemoryError where the database does not answer. */
  verify(ctx: CallContext, claim: string): Promise<Verification>;
}

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
const UNDECIDED =
  "Related material exists, but none of it was found to assert the claim: no judge is installed, and being on topic is not support.";

export function createVerifier({ db, embedder }: { readonly db: Database; readonly embedder: Embedder }): Verifier {
  return {
    async verify(ctx, claim) {
      const question = await embedQuestion(ctx, embedder, claim);
      const filters: Filters = { scope: ctx.scope, includeUnscoped: false, after: undefined, before: undefined, tag: undefined };
      const { value, failed } = await runLegs(db, ctx, async (run, tx) => {
        const byWords = (await run("words", (t) => similarByWords(t, claim, filters))) ?? [];
        const byMeaning = (await run("vector", (t) => similarByMeaning(t, question, embedder.label, filters))) ?? [];
        const similarity = new Map<string, number>();
        for (const { id, score } of [...byWords, ...byMeaning]) similarity.set(id, Math.max(score, similarity.get(id) ?? 0));
        const rows = await tx.all(evidenceRows({ ids: [...similarity.keys()], filters }));
        const past = await run("calibration", (t) => t.first(resolvedPredictions({ level: "unknown", projectId: projectOf(ctx.scope) })));
        const evidence = rows
          .map((row): Evidence => ({ ...row, similarity: similarity.get(row.id) ?? 0 }))
          .sort((a, b) => b.similarity - a.similarity || (a.id < b.id ? -1 : 1))
          .slice(0, MOST_EVIDENCE);
        return { evidence, past };
      });
      const resolved = (value.past?.correct ?? 0) + (value.past?.incorrect ?? 0);
      return {
        confidence: 0,
        grounding: "unknown",
        interpretation: value.evidence.length === 0 ? NOTHING : UNDECIDED,
        evidence: value.evidence,
        judgedBy: "none",
        verdictsReached: 0,
        calibratedAccuracy: resolved === 0 ? undefined : ((value.past?.correct ?? 0) + 1) / (resolved + 2),
        calibratedN: resolved,
        verifyId: await writeDown(ctx, claim, value.evidence[0]?.entity ?? null),
        degraded: degradationOf(failed, question, { enableBm25: false, rerank: undefined }).search,
      };
    },
  };

  async function writeDown(ctx: CallContext, claim: string, entity: string | null): Promise<string | undefined> {
    const id = newId();
    try {
      await db.write(ctx, async (tx) => {
        await tx.run(
          insertPrediction({ id, claim, entity, confidence: 0, level: "unknown", evidenceIds: [], projectId: projectOf(ctx.scope) }),
        );
      });
      return id;
    } catch (cause) {
      ctx.log.warn("a prediction could not be written down", { cause: causeChain(cause) });
      return undefined;
    }
  }
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
  });
  const rows = await tx.all(similarTo({ ids: found.observation ?? [], claim, least: TOPIC_FLOOR, limit: MOST_EVIDENCE, filters }));
  return rows.map(({ id, similarity }) => ({ id, score: similarity }));
}

async function similarByMeaning(tx: Tx, question: QuestionVector, label: string, filters: Filters) {
  if (!("vector" in question)) return [];
  const { hits } = await searchVectors(tx, { vector: question.vector, label, depth: MOST_EVIDENCE, filters, withEpisodes: false });
  return hits.filter(({ score }) => score >= floorOf(label));
}
