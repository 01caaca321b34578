/**
 * Several rankings become one (`retrieval.md` §2.10, `docs/decisions/0031-fusion.md`).
 *
 * `scores`, the default: a convex combination (Bruch, Gai & Ingber 2023). The word arms together have one voice, faded by how much of the
 * question they cover; the vector arm has the other. `rrf`: reciprocal ranks, k = 60 (Cormack, Clarke & Büttcher 2009), weights from the entropy router.
 */
import { byId, type Hit } from "./hits.ts";
import type { RouterWeights } from "./query-analysis.ts";

export const fusionModes = ["scores", "rrf"] as const;
export type FusionMode = (typeof fusionModes)[number];

/** Rows that every arm should deliver: the constants below were measured with lists 100 deep (20 deep costs .01 on two of seven sets). */
export const FUSION_DEPTH = 100;

export const armNames = ["text", "vector", "bm25", "entity"] as const;
export type ArmName = (typeof armNames)[number];

/** A ranking to be fused: best first, a row once. An arm that failed is left out, one that found nothing is empty; both say nothing. */
export interface Arm {
  readonly name: ArmName;
  readonly hits: readonly Hit[];
  /**
   * Word arms: share 0–1 of the question that the best row has. For BM25 its best score ÷ `fullMatchScore`; for the text arm the same, or the best
   * trigram similarity where BM25 has nothing. The others do without.
   */
  readonly coverage?: number;
}

export interface FusedRow {
  readonly id: string;
  /** The sum of the shares. */
  readonly fusedScore: number;
  readonly shares: Readonly<Record<ArmName, number>>;
}

type Voice = "words" | "meaning" | "entity";

interface Profile {
  readonly voice: Voice;
  /** Part of the arm in its voice. */
  readonly part: number;
  /** Where zero lies: BM25 scores begin at 0, cosines and the text arm's scores (importance) lie close together, so theirs begins at the list's median. */
  readonly zero: "nothing" | "median";
}

/** The text arm beside BM25 adds what trigrams see (misspelt words): .1 costs LoCoMo .005 and gives CoSQA .007. */
const PROFILES: Readonly<Record<ArmName, Profile>> = {
  text: { voice: "words", part: 0.1, zero: "median" },
  bm25: { voice: "words", part: 0.9, zero: "nothing" },
  vector: { voice: "meaning", part: 1, zero: "median" },
  entity: { voice: "entity", part: 1, zero: "nothing" },
};

/**
 * How loud a voice is before all are brought to 1. Flat maximum: words 0.75–0.9 with full voice from a coverage of 0.3–0.4 on keep all seven
 * development sets at or above their better single arm; 1.0 loses CoSQA, 0.7 gives LoCoMo away. The entity leg only breaks near-ties:
 * its name stands in the text that the other arms read.
 */
const LOUDNESS: Readonly<Record<Voice, number>> = { words: 0.85, meaning: 1, entity: 0.02 };
/** From this coverage on the words have their full voice. A question in the corpus's language covers more (deciles .29–.57), one in another less. */
const FULL_VOICE_COVERAGE = 1 / 3;

const RRF_K = 60;
const ENTITY_RANK_WEIGHT = 1;

/** One ranking out of several; ties to the lower id. */
export const fuse = (mode: FusionMode, arms: readonly Arm[], weights: RouterWeights): FusedRow[] =>
  mode === "rrf" ? fuseByRanks(arms, weights) : fuseByScores(arms);

/** Room that the rows between the zero and the end of a list share, so that they keep their order. */
const TAIL = 0.01;

/** Scores of a list as 0–1: the best 1, what lies at the zero of the list 0.01, what lies below it less, in its order. */
function scaled({ name, hits }: Arm): Hit[] {
  const scores = hits.map((hit) => hit.score).sort((a, b) => b - a);
  const best = scores[0] ?? 0;
  const last = scores.at(-1) ?? 0;
  const zero = PROFILES[name].zero === "median" ? (scores[Math.floor(scores.length / 2)] ?? 0) : Math.min(0, last);
  const part = (score: number, low: number, high: number) => (high > low ? (score - low) / (high - low) : 1);
  return hits.map(({ id, score }) => ({
    id,
    score: score >= zero ? TAIL + (1 - TAIL) * part(score, zero, best) : TAIL * part(score, last, zero),
  }));
}

/** What each arm's scaled scores are multiplied by; the factors of arms that rank the same row first sum to 1. */
function factors(arms: readonly Arm[]): number[] {
  const coverage = Math.max(0, ...arms.filter(({ name }) => PROFILES[name].voice === "words").map((arm) => arm.coverage ?? 1));
  const loudness = { ...LOUDNESS, words: LOUDNESS.words * Math.min(coverage / FULL_VOICE_COVERAGE, 1) };
  const voices = new Set(arms.map(({ name }) => PROFILES[name].voice));
  const total = [...voices].reduce((sum, voice) => sum + loudness[voice], 0);
  const parts = (voice: Voice) => arms.reduce((sum, { name }) => sum + (PROFILES[name].voice === voice ? PROFILES[name].part : 0), 0);
  return arms.map(({ name }) => {
    const { voice, part } = PROFILES[name];
    // Words that cover nothing and stand alone still rank.
    const share = total > 0 ? loudness[voice] / total : 1 / voices.size;
    return (share * part) / parts(voice);
  });
}

/** Convex combination of scores in [0, 1]. An arm alone keeps its order. */
export function fuseByScores(arms: readonly Arm[]): FusedRow[] {
  const speaking = arms.filter((arm) => arm.hits.length > 0);
  const factor = factors(speaking);
  return collect(
    speaking.map((arm, at) => ({ name: arm.name, hits: scaled(arm).map(({ id, score }) => ({ id, score: score * (factor[at] ?? 0) })) })),
  );
}

/** `w / (60 + r + 1)` for the row at 0-based rank r. First in text, vector and BM25 with eight words: (0.4510·2 + 0.5490)/61 = 0.02379. */
export function fuseByRanks(arms: readonly Arm[], weights: RouterWeights): FusedRow[] {
  const weightOf = (name: ArmName) => (name === "entity" ? ENTITY_RANK_WEIGHT : weights[name]);
  return collect(
    arms.map(({ name, hits }) => ({ name, hits: hits.map(({ id }, rank) => ({ id, score: weightOf(name) / (RRF_K + rank + 1) })) })),
  );
}

/** Adds up shares by row; a row that stands twice in one list counts by its better place. */
function collect(lists: readonly { readonly name: ArmName; readonly hits: readonly Hit[] }[]): FusedRow[] {
  const rows = new Map<string, Record<ArmName, number>>();
  for (const { name, hits } of lists) {
    const seen = new Set<string>();
    for (const { id, score } of hits) {
      if (seen.has(id)) continue;
      seen.add(id);
      const shares = rows.get(id) ?? { text: 0, vector: 0, bm25: 0, entity: 0 };
      shares[name] += score;
      rows.set(id, shares);
    }
  }
  return Array.from(rows, ([id, shares]) => ({ id, fusedScore: shares.text + shares.vector + shares.bm25 + shares.entity, shares })).sort(
    (a, b) => b.fusedScore - a.fusedScore || byId(a, b),
  );
}
