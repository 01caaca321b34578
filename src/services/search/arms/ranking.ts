/**
 * BM25 over the index of words, one kind of rows at a time, with the rules of domain/retrieval/bm25.ts; the database adds the scores up. Frequent words
 * score the rows that the others found and select none (MaxScore, Turtle & Flood 1995), so the cost follows the rare words of a question and not
 * the size of the memory.
 */
import { BM25_B, BM25_K1, inverseDocumentFrequency, SCORE_UNITS, termBound } from "../../../domain/retrieval/bm25.ts";
import { byScoreThenId, type Hit } from "../../../domain/retrieval/hits.ts";
import type { Tx } from "../../../store/port.ts";
import type { Filters, RowKind } from "../../../store/queries/search-filters.ts";
import { bestRows, type LengthNorm, scoresInRows, type WeighedForm } from "../../../store/queries/search-words.ts";

/** Statistics of one kind of rows. */
export interface KindStatistics {
  readonly kind: RowKind;
  readonly rows: number;
  readonly averageLength: number;
  /** Rows that have a form; absent where none has. */
  readonly rowsWith: ReadonlyMap<string, number>;
}

/** One word of a question among the rows of a kind. */
interface Step {
  readonly forms: readonly WeighedForm[];
  /** Rows that have one of the forms, at most. */
  readonly postings: number;
  /** What all words behind can still add to a row, in units. */
  readonly restBound: number;
}

/** When and how far a question is pruned. */
export interface Pruning {
  /** Postings that are added up in less time (3 ms in the embedded engine) than pruning would save: below, every word selects. */
  readonly fromPostings: number;
  /** Rows that the words which do not select may still lift. */
  readonly candidates: number;
}
const PRUNING: Pruning = { fromPostings: 5_000, candidates: 400 };
/** Words that leave more of the postings to select than this share prune too little to pay for looking the others up. */
const MOST_SELECTING = 0.5;
/**
 * Share of a question's weight that words which do not select may keep at the first try. A top row has rarely less than half of the
 * weight, so the bound holds at once as a rule.
 */
const FIRST_REST_SHARE = 0.25;
/** For each word of a question the weights of the forms that a kind has. */
export const weightsOf = ({ rows, rowsWith }: KindStatistics, words: readonly (readonly string[])[]): readonly (readonly number[])[] =>
  words.map((forms) =>
    forms.flatMap((term) => {
      const having = rowsWith.get(term);
      return having === undefined ? [] : [inverseDocumentFrequency(rows, having)];
    }),
  );

/** Words by what they can add at most, greatest first. */
function stepsOf({ rows, rowsWith }: KindStatistics, words: readonly (readonly string[])[]): Step[] {
  const weighed = words.flatMap((forms, word) => {
    const known = forms.flatMap((term) => {
      const having = rowsWith.get(term);
      return having === undefined ? [] : [{ term, word, having, weight: termBound(inverseDocumentFrequency(rows, having)) }];
    });
    if (known.length === 0) return [];
    return { forms: known, postings: known.reduce((sum, { having }) => sum + having, 0), bound: Math.max(...known.map((of) => of.weight)) };
  });
  weighed.sort((a, b) => b.bound - a.bound);
  let rest = weighed.reduce((sum, { bound }) => sum + bound, 0);
  return weighed.map(({ forms, postings, bound }) => {
    rest -= bound;
    return { forms, postings, restBound: Math.max(rest, 0) * SCORE_UNITS };
  });
}

/** Words from the start that select at the first try. */
function firstCut(steps: readonly Step[], { fromPostings }: Pruning): number {
  const sum = (of: readonly Step[]) => of.reduce((total, { postings }) => total + postings, 0);
  if (sum(steps) <= fromPostings) return steps.length;
  const whole = (steps[0]?.restBound ?? 0) + Math.max(0, ...(steps[0]?.forms ?? []).map(({ weight }) => weight * SCORE_UNITS));
  const at = steps.findIndex(({ restBound }) => restBound <= FIRST_REST_SHARE * whole);
  return at === -1 || sum(steps.slice(0, at + 1)) > MOST_SELECTING * sum(steps) ? steps.length : at + 1;
}

export interface RankOptions {
  /** The first so many rows are those of scoring every row by every word; behind them one that only frequent words find may be missing. */
  readonly exactRank: number;
  /** Rows wanted. All rows that tie for the last place may come too. */
  readonly depth: number;
  readonly filters: Filters;
  /** Where a test asks for another one. */
  readonly pruning?: Pruning | undefined;
}

/** The rows of a kind that the words rank first. */
export async function rankByWords(
  tx: Tx,
  statistics: KindStatistics,
  words: readonly (readonly string[])[],
  { exactRank, depth, filters, pruning = PRUNING }: RankOptions,
): Promise<Hit[]> {
  const { kind, averageLength } = statistics;
  const steps = stepsOf(statistics, words);
  if (steps.length === 0) return [];
  const perWord = averageLength > 0 ? (BM25_K1 * BM25_B) / averageLength : 0;
  const norm: LengthNorm = { base: averageLength > 0 ? BM25_K1 * (1 - BM25_B) : BM25_K1, perWord };
  const asHits = (rows: readonly { readonly id: string; readonly score: number }[]) =>
    rows.map(({ id, score }): Hit => ({ id, score: score / SCORE_UNITS })).sort(byScoreThenId);

  for (let cut = firstCut(steps, pruning), tries = 0; ; tries++) {
    const forms = steps.slice(0, cut).flatMap((step) => step.forms);
    const isWhole = cut >= steps.length;
    const limit = isWhole ? depth : Math.max(pruning.candidates, exactRank);
    const rows = await tx.all(bestRows({ kind, forms, norm, limit, filters }));
    if (isWhole) return asHits(rows);
    const others = steps.slice(cut).flatMap((step) => step.forms);
    const added = new Map((await tx.all(scoresInRows({ kind, forms: others, norm, rows }))).map(({ id, score }) => [id, score]));
    const totals = rows.map(({ id, score }) => ({ id, score: score + (added.get(id) ?? 0) })).sort((a, b) => b.score - a.score);
    // A row that is not among these has at most the last partial score, or none, and what the other words can add.
    const leastPartial = rows.length < limit ? 0 : Math.min(...rows.map(({ score }) => score));
    const reached = totals[exactRank - 1]?.score ?? 0;
    if (leastPartial + (steps[cut - 1]?.restBound ?? 0) < reached) return asHits(totals);
    // Once more with the words that the bound lacked; a second failure lets all of them select.
    const enough = tries > 0 ? -1 : steps.findIndex(({ restBound }) => leastPartial + restBound < reached);
    cut = enough === -1 ? steps.length : Math.max(enough + 1, cut + 1);
  }
}
