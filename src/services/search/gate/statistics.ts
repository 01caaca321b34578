/** What a search found, as the few numbers that tell an answered question from another. */
import type { MeaningStatistics, WordStatistics } from "../../../domain/retrieval/abstention/rule.ts";
import type { WeightedWord } from "../../../domain/retrieval/abstention/word-match.ts";
import { inverseDocumentFrequency } from "../../../domain/retrieval/bm25.ts";
import type { Tx } from "../../../store/port.ts";
import { formsInRows } from "../../../store/queries/abstention.ts";
import type { RowKind } from "../../../store/queries/search-filters.ts";
import type { KindStatistics } from "../arms/ranking.ts";
import type { VectorHits } from "../arms/vector.ts";
import type { WordHits } from "../arms/words.ts";

/** The rank that the nearest row is compared with: memories of one subject lie close, one that answers stands out from its five neighbours. */
const COMPARED_RANK = 5;
/** Nearest rows among which the one with most of the question's words counts. */
const NEAR_ROWS = 5;
/** Best rows of each kind whose words are looked at: the row with the most of a question's weight is among the first of BM25. */
const ROWS_READ = 30;

export interface GateStatistics {
  /** Of observations and episodes. */
  readonly words: WordStatistics;
  /** Undefined where meaning was not searched or found nothing. */
  readonly meaning: MeaningStatistics | undefined;
  /** How well one of the nearest rows holds every word of the question; undefined where the vectors of tokens were not read. */
  readonly match: number | undefined;
  /** Of each kind that has no vectors, and of the rows that have none yet: an error, a name or a fresh row that the words cover answers too. */
  readonly withoutVectors: readonly WordStatistics[];
}

export interface Evidence {
  /** @param without rows that count as if they were not stored, for measuring a threshold. */
  statistics(without?: ReadonlySet<string>): GateStatistics;
  /** The question's words with the weight that they have there. */
  weights(without?: ReadonlySet<string>): readonly WeightedWord[];
}

const NOBODY: ReadonlySet<string> = new Set();

/** What one kind has of the question's words. */
interface KindEvidence extends KindStatistics {
  /** Which forms each row has that was looked at. */
  readonly held: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Rows that meaning could not find, or not all of them, with the share 0–1 of the question's weight in words that each has. */
export type Waiting = ReadonlyMap<string, number>;
const NONE: Waiting = new Map();

export interface EvidenceOptions {
  /** Rows that are looked at whatever their rank. */
  readonly also?: readonly string[];
  /** Rows that meaning could not find, or not all of them. */
  readonly waiting?: Waiting;
}

/** Reads which words the best rows have. */
export async function readEvidence(
  tx: Tx,
  words: WordHits,
  near: VectorHits | undefined,
  { also = [], waiting = NONE }: EvidenceOptions = {},
): Promise<Evidence> {
  const kinds: KindEvidence[] = [];
  const nearest = (near?.hits ?? []).slice(0, ROWS_READ);
  for (const statistics of words.statistics) {
    const { kind } = statistics;
    const ids = new Set([
      ...(words.found[kind] ?? []).slice(0, ROWS_READ),
      ...nearest.filter(({ id }) => near?.kinds.get(id) === kind).map(({ id }) => id),
      ...also,
    ]);
    kinds.push({ ...statistics, held: await heldBy(tx, statistics, [...ids]) });
  }
  return {
    statistics: (without = NOBODY) => statisticsOf(words.analysis.words, kinds, near, without, waiting),
    weights(without = NOBODY) {
      const kind = kinds.find((each) => hasVectors(each.kind));
      return kind === undefined ? [] : weighed(words.analysis.words, kind, without).words.map(({ forms, weight }) => ({ forms, weight }));
    },
  };
}

/** Which of the question's forms each of some rows of a kind has. */
async function heldBy(tx: Tx, { kind, rowsWith }: KindStatistics, ids: readonly string[]): Promise<KindEvidence["held"]> {
  const terms = [...rowsWith.keys()];
  const rows = terms.length === 0 || ids.length === 0 ? [] : await tx.all(formsInRows({ kind, terms, ids }));
  return new Map(rows.map(({ id, forms }) => [id, new Set(forms.map((at) => terms[at] ?? ""))]));
}

/** Of the question's weight in words (idf) the share that each of some observations and episodes has, 0–1; however long the row is. */
export async function wordShares(tx: Tx, words: WordHits, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const shares = new Map<string, number>();
  for (const statistics of words.statistics.filter(({ kind }) => hasVectors(kind))) {
    const kind = { ...statistics, held: await heldBy(tx, statistics, ids) };
    for (const [id, share] of sharesOf(words.analysis.words, kind, NOBODY).rows) shares.set(id, share);
  }
  return shares;
}

const hasVectors = (kind: RowKind) => kind === "observation" || kind === "episode";

function statisticsOf(
  words: readonly (readonly string[])[],
  kinds: readonly KindEvidence[],
  near: VectorHits | undefined,
  without: ReadonlySet<string>,
  waiting: Waiting,
): GateStatistics {
  const covers = new Map<string, number>();
  let known = 0;
  const withoutVectors: WordStatistics[] = [];
  for (const kind of kinds) {
    const shares = sharesOf(words, kind, without);
    if (hasVectors(kind.kind)) {
      known = Math.max(known, shares.known);
      for (const [id, share] of shares.rows) covers.set(id, share);
      const late = new Map(Array.from(shares.rows).filter(([id]) => waiting.has(id)));
      if (late.size > 0) withoutVectors.push({ coverage: most(late), known: shares.known });
    } else withoutVectors.push({ coverage: most(shares.rows), known: shares.known });
  }
  const ofWords: WordStatistics = { coverage: most(covers), known };
  const hits = (near?.hits ?? []).filter(({ id }) => !without.has(id));
  const [first] = hits;
  const compared = hits[COMPARED_RANK] ?? hits.at(-1);
  if (first === undefined || compared === undefined) return { words: ofWords, meaning: undefined, match: undefined, withoutVectors };
  return {
    words: ofWords,
    meaning: {
      ...ofWords,
      bestCosine: first.score,
      lead: first.score - compared.score,
      nearCoverage: Math.max(...hits.slice(0, NEAR_ROWS).map(({ id }) => covers.get(id) ?? 0)),
    },
    match: undefined,
    withoutVectors,
  };
}

/** The question's words as one kind weighs them, idf, once some rows are gone; with each the forms that a row is left with. */
function weighed(words: readonly (readonly string[])[], { rows, rowsWith, held }: KindEvidence, without: ReadonlySet<string>) {
  const gone = Array.from(held).filter(([id]) => without.has(id));
  const stored = Math.max(rows - gone.length, 1);
  /** Rows that have a form once those left out are gone. */
  const having = (term: string) => (rowsWith.get(term) ?? 0) - gone.filter(([, forms]) => forms.has(term)).length;
  return {
    left: Array.from(held).filter(([id]) => !without.has(id)),
    words: words.map((forms) => {
      const there = forms.map((term) => ({ term, having: having(term) })).filter((form) => form.having > 0);
      const counts = there.length === 0 ? [0] : there.map((form) => form.having);
      return { forms, there, weight: Math.max(...counts.map((df) => inverseDocumentFrequency(stored, df))) };
    }),
  };
}

/** Of the question's weight in words, the share that any row has, and the share that each row has that was looked at. */
function sharesOf(words: readonly (readonly string[])[], kind: KindEvidence, without: ReadonlySet<string>) {
  const { left, words: weights } = weighed(words, kind, without);
  let whole = 0;
  let known = 0;
  const covered = new Map<string, number>();
  for (const { there, weight } of weights) {
    whole += weight;
    if (there.length === 0) continue;
    known += weight;
    for (const [id, ofRow] of left) if (there.some(({ term }) => ofRow.has(term))) covered.set(id, (covered.get(id) ?? 0) + weight);
  }
  if (whole <= 0) return { known: 0, rows: new Map<string, number>() };
  return { known: known / whole, rows: new Map(Array.from(covered, ([id, weight]) => [id, weight / whole])) };
}

function most(shares: ReadonlyMap<string, number>): number {
  let best = 0;
  for (const share of shares.values()) if (share > best) best = share;
  return best;
}
