/**
 * Several rankings become one (`retrieval.md` §2.10, `docs/decisions/0031-fusion.md`).
 *
 * `scores`, the default: a convex combination (Bruch, Gai & Ingber 2023). The word arms together have one voice, faded by how much of the
 * question they cover and split between them by what each covers; the vector arm has the other. `rrf`: reciprocal ranks, k = 60 (Cormack, Clarke & Büttcher 2009), weights from the entropy router.
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
  /** Text arm: its rows that BM25 cannot see; absent where there are none. */
  readonly beyond?: Beyond | undefined;
  /**
   * Vector arm: rows that it could not measure, because they have no vector yet, with the share 0–1 of the question's weight in words that each has. Their
   * words stand in for their meaning.
   */
  readonly unmeasured?: ReadonlyMap<string, number> | undefined;
}

export interface Beyond {
  /** Rows that only near spellings of the question's words found, or of a kind whose words BM25 does not index. */
  readonly ids: ReadonlySet<string>;
  /** Share 0–1 of the question that the best of these rows has by the words that stand in; 0 where none does. */
  readonly coverage: number;
}

export interface FusedRow {
  readonly id: string;
  /** The sum of the shares. */
  readonly fusedScore: number;
  readonly shares: Readonly<Record<ArmName, number>>;
}

type Voice = "words" | "meaning" | "entity";

/** An arm's scaled scores, or some of them, with the part that they have in their voice. */
interface Speaker {
  readonly name: ArmName;
  readonly voice: Voice;
  readonly part: number;
  readonly scores: readonly Hit[];
}

const VOICES: Readonly<Record<ArmName, Voice>> = { text: "words", bm25: "words", vector: "meaning", entity: "entity" };

/** Where zero lies: BM25 scores begin at 0; cosines and the text arm's scores (importance) lie close together, so theirs begins at the list's median. */
const ZEROS: Readonly<Record<ArmName, "nothing" | "median">> = { text: "median", bm25: "nothing", vector: "median", entity: "nothing" };

/**
 * What the text arm has of the words' voice for rows that BM25 lists by the same words: importance and likeness of names decide between
 * near-equals. Flat from .002 to .02 without a model; .05 lies below BM25 alone on zh→en, a tenth on LoCoMo too.
 */
const ECHO = 0.01;
/** At least this is left to rows that BM25 cannot see: episodes are found by the words themselves, without standing in for one. */
const LEAST_BEYOND = 0.1;

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
  const zero = ZEROS[name] === "median" ? (scores[Math.floor(scores.length / 2)] ?? 0) : Math.min(0, last);
  const part = (score: number, low: number, high: number) => (high > low ? (score - low) / (high - low) : 1);
  return hits.map(({ id, score }) => ({
    id,
    score: score >= zero ? TAIL + (1 - TAIL) * part(score, zero, best) : TAIL * part(score, last, zero),
  }));
}

const asSpeaker = (arm: Arm, part = 1): Speaker => ({ name: arm.name, voice: VOICES[arm.name], part, scores: scaled(arm) });

/**
 * The text arm beside BM25. Most of its rows BM25 knows by the same words and orders better, so there it only whispers. What BM25 cannot see,
 * rows found by words that are spelt like those of the question, speaks as loud as it covers the question beside BM25.
 */
function textBeside(bm25: Arm, text: Arm): Speaker[] {
  const whole = asSpeaker(text, ECHO);
  const beyond = whole.scores.filter(({ id }) => text.beyond?.ids.has(id));
  if (beyond.length === 0) return [asSpeaker(bm25, 1 - ECHO), whole];
  const [known, stoodFor] = [bm25.coverage ?? 1, text.beyond?.coverage ?? 0];
  const part = Math.max(LEAST_BEYOND, known + stoodFor > 0 ? stoodFor / (known + stoodFor) : 0);
  return [asSpeaker(bm25, (1 - ECHO) * (1 - part)), whole, { ...whole, part: (1 - ECHO) * part, scores: beyond }];
}

function speakersOf(arms: readonly Arm[]): Speaker[] {
  const [bm25, text] = (["bm25", "text"] as const).map((wanted) => arms.find(({ name }) => name === wanted));
  if (bm25 === undefined || text === undefined) return arms.map((arm) => asSpeaker(arm));
  return [...textBeside(bm25, text), ...arms.filter(({ name }) => VOICES[name] !== "words").map((arm) => asSpeaker(arm))];
}

/** Share 0–1 of their voice that the words have: the best row must have so much of the question. */
const fadeOf = (arms: readonly Arm[]): number =>
  Math.min(Math.max(0, ...arms.filter(({ name }) => VOICES[name] === "words").map((arm) => arm.coverage ?? 1)) / FULL_VOICE_COVERAGE, 1);

/** How loud each voice is, in sum 1. */
function loudnessOf(arms: readonly Arm[]): ReadonlyMap<Voice, number> {
  const loudness = { ...LOUDNESS, words: LOUDNESS.words * fadeOf(arms) };
  const voices = [...new Set(arms.map(({ name }) => VOICES[name]))];
  const total = voices.reduce((sum, voice) => sum + loudness[voice], 0);
  // Words that cover nothing and stand alone still rank.
  return new Map(voices.map((voice) => [voice, total > 0 ? loudness[voice] / total : 1 / voices.length]));
}

/**
 * For a row that has no vector yet the words stand in: no vector is not a meaning far away. They are faded as their voice is, but not below the share of the
 * question that the row has: in a long row every word counts for little. Of one of which a part was measured counts what is more. Half of the vectors missing, nDCG@10 .713 → .895 on the public corpus, .682 → .906 on es, .422 → .435 on zh→en; at three quarters of it .892, .901, .432.
 */
function standIns(arms: readonly Arm[], speakers: readonly Speaker[]): Speaker[] {
  const vector = arms.find(({ name }) => name === "vector");
  const unmeasured = vector?.unmeasured ?? new Map<string, number>();
  if (vector === undefined || unmeasured.size === 0) return [];
  const known = new Map(scaled(vector).map(({ id, score }) => [id, score]));
  const fade = fadeOf(arms);
  return speakers
    .filter(({ voice }) => voice === "words")
    .map((speaker) => ({
      ...speaker,
      voice: "meaning" as const,
      scores: speaker.scores
        .filter(({ id }) => unmeasured.has(id))
        .map(({ id, score }) => ({
          id,
          score: Math.max(0, Math.max(fade, unmeasured.get(id) ?? 0) * score - (known.get(id) ?? 0)),
        })),
    }));
}

/** Convex combination of scores in [0, 1]. An arm alone keeps its order. */
export function fuseByScores(arms: readonly Arm[]): FusedRow[] {
  const speaking = arms.filter((arm) => arm.hits.length > 0);
  const loudness = loudnessOf(speaking);
  const speakers = speakersOf(speaking);
  return collect(
    [...speakers, ...standIns(speaking, speakers)].map(({ name, voice, part, scores }) => {
      const factor = part * (loudness.get(voice) ?? 0);
      return { name, hits: scores.map(({ id, score }) => ({ id, score: score * factor })) };
    }),
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
