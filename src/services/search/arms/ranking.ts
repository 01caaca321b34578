/**
 * BM25 over the index of words, one kind of rows at a time, with the rules of domain/retrieval/bm25.ts. Postings come packed and are added up here
 * (`tally.ts`): those of rare words together with their statistics. Very frequent words score the rows that the others found and select none
 * (MaxScore, Turtle & Flood 1995), so the cost follows the rare words of a question and not the size of the memory.
 */
import { inverseDocumentFrequency, SCORE_UNITS, termBound } from "../../../domain/retrieval/bm25.ts";
import { byScoreThenId, type Hit } from "../../../domain/retrieval/hits.ts";
import { createTally, lengthNorm, type PackedPostings, postingsIn, type Tally } from "../../../domain/retrieval/tally.ts";
import type { Tx } from "../../../store/port.ts";
import { type Filters, narrowsRows, type RowKind } from "../../../store/queries/search-filters.ts";
import { rowInstants } from "../../../store/queries/search-rows.ts";
import { packedPostings, scoresInRows, visibleRows, type WeighedForm } from "../../../store/queries/search-words.ts";

/** Statistics of one kind of rows. */
export interface KindStatistics {
  readonly kind: RowKind;
  readonly rows: number;
  readonly averageLength: number;
  /** Rows that have a form; absent where none has. */
  readonly rowsWith: ReadonlyMap<string, number>;
  /** Postings of the forms that few rows have. */
  readonly postings: ReadonlyMap<string, PackedPostings>;
}

interface Form extends WeighedForm {
  /** Rows that have it. */
  readonly having: number;
}

/** One word of a question among the rows of a kind. */
interface Step {
  readonly forms: readonly Form[];
  /** Postings that are not at hand yet. */
  readonly postings: number;
  /** What the word can add to a row at most, in units. */
  readonly bound: number;
}

/** When and how far a question is pruned. */
export interface Pruning {
  /** Rows up to which a form's postings come with its statistics. */
  readonly packUpTo: number;
  /** Postings that are fetched and added up in less time than pruning would save: below, every word selects. */
  readonly fromPostings: number;
  /** Rows that the words which do not select may still lift. */
  readonly candidates: number;
}
/**
 * In the embedded engine 10,000 postings take 4 ms to fetch and 1 to add up; looking four words up in 400 rows takes 5. Asking for 4,000 postings of a word
 * that turns out to be more frequent costs 1 ms.
 */
export const PRUNING: Pruning = { packUpTo: 4_000, fromPostings: 12_000, candidates: 400 };
/** Words that leave more of the postings to select than this share prune too little to pay for looking the others up. */
const MOST_SELECTING = 0.5;
/**
 * Share of a question's weight that words which do not select may keep at the first try. A top row has rarely less than half of the
 * weight, so the bound holds at once as a rule.
 */
const FIRST_REST_SHARE = 0.25;
/** Rows asked for a tag or a time window at first, for each one wanted; four times as many each time that too few passed. */
const LOOK_AHEAD = 4;

/** For each word of a question the weights of the forms that a kind has. */
export const weightsOf = ({ rows, rowsWith }: KindStatistics, words: readonly (readonly string[])[]): readonly (readonly number[])[] =>
  words.map((forms) =>
    forms.flatMap((term) => {
      const having = rowsWith.get(term);
      return having === undefined ? [] : [inverseDocumentFrequency(rows, having)];
    }),
  );

/** The words that the kind has. */
function stepsOf({ rows, rowsWith, postings }: KindStatistics, words: readonly (readonly string[])[]): Step[] {
  return words.flatMap((terms, word) => {
    const forms = terms.flatMap((term): Form[] => {
      const having = rowsWith.get(term);
      return having === undefined ? [] : [{ term, word, having, weight: termBound(inverseDocumentFrequency(rows, having)) }];
    });
    if (forms.length === 0) return [];
    const missing = forms.reduce((sum, { term, having }) => sum + (postings.has(term) ? 0 : having), 0);
    return { forms, postings: missing, bound: Math.max(...forms.map(({ weight }) => weight)) * SCORE_UNITS };
  });
}

const boundOf = (steps: readonly Step[]) => steps.reduce((sum, { bound }) => sum + bound, 0);
const postingsOf = (steps: readonly Step[]) => steps.reduce((sum, { postings }) => sum + postings, 0);

/** Frequent words, the heaviest first, that select at the first try. */
function firstCut(frequent: readonly Step[], whole: number, { fromPostings }: Pruning): number {
  const all = postingsOf(frequent);
  if (all <= fromPostings) return frequent.length;
  let cut = 0;
  while (boundOf(frequent.slice(cut)) > FIRST_REST_SHARE * whole) cut++;
  return postingsOf(frequent.slice(0, cut)) > MOST_SELECTING * all ? frequent.length : cut;
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
  const { kind } = statistics;
  const steps = stepsOf(statistics, words);
  if (steps.length === 0) return [];
  const norm = lengthNorm(statistics.averageLength);
  const atHand = new Map(statistics.postings);
  const rare = steps.filter(({ postings }) => postings === 0);
  const frequent = steps.filter(({ postings }) => postings > 0).sort((a, b) => b.bound - a.bound);
  const asHits = (rows: readonly Hit[]) => rows.map(({ id, score }): Hit => ({ id, score: score / SCORE_UNITS })).sort(byScoreThenId);

  for (let cut = firstCut(frequent, boundOf(steps), pruning), tries = 0; ; tries++) {
    const selecting = [...rare, ...frequent.slice(0, cut)];
    const missing = selecting.flatMap(({ forms }) => forms.filter(({ term }) => !atHand.has(term)).map(({ term }) => term));
    if (missing.length > 0)
      for (const { at, ...postings } of await tx.all(packedPostings({ kind, forms: missing, filters })))
        atHand.set(missing[at] ?? "", postings);
    const asked = selecting.map(({ forms }) =>
      forms.flatMap(({ term, weight }) => {
        const postings = atHand.get(term);
        return postings === undefined ? [] : [{ postings, weight }];
      }),
    );
    // By what came, not by what was counted before: rows may have been stored in between.
    const tally = createTally(
      asked.flat().reduce((sum, { postings }) => sum + postingsIn(postings), 0),
      norm,
    );
    for (const forms of asked) tally.add(forms);
    const others = frequent.slice(cut);
    if (others.length === 0) return asHits(await bestVisible(tx, tally, kind, depth, filters));
    const limit = Math.max(pruning.candidates, exactRank);
    const rows = await newestOfLast(tx, await bestVisible(tx, tally, kind, limit, filters), kind, limit, filters);
    const lifted = await tx.all(scoresInRows({ kind, forms: others.flatMap(({ forms }) => forms), norm, ids: rows.map(({ id }) => id) }));
    const added = new Map(lifted.map(({ id, score }) => [id, score]));
    const totals = rows.map(({ id, score }) => ({ id, score: score + (added.get(id) ?? 0) })).sort((a, b) => b.score - a.score);
    // A row that is not among these has at most the last partial score, or none, and what the other words can add.
    const leastPartial = rows.length < limit ? 0 : Math.min(...rows.map(({ score }) => score));
    const reached = totals[exactRank - 1]?.score ?? 0;
    const holds = (from: number) => leastPartial + boundOf(frequent.slice(from)) < reached;
    if (holds(cut)) return asHits(totals);
    // Once more with the words that the bound lacked; a second failure lets all of them select.
    const enough = tries > 0 ? -1 : frequent.findIndex((_, at) => at > cut && holds(at));
    cut = enough === -1 ? frequent.length : enough;
  }
}

/** The `limit` best rows that a time window and a tag let pass, and all that are as good as the last of them. */
async function bestVisible(tx: Tx, tally: Tally, kind: RowKind, limit: number, filters: Filters): Promise<readonly Hit[]> {
  if (!narrowsRows(filters)) return tally.best(limit);
  const looked = new Set<string>();
  const visible = new Set<string>();
  for (let ahead = LOOK_AHEAD * limit; ; ahead *= LOOK_AHEAD) {
    const hits = tally.best(ahead);
    const ids = hits.map(({ id }) => id).filter((id) => !looked.has(id));
    for (const id of ids) looked.add(id);
    if (ids.length > 0) for (const { id } of await tx.all(visibleRows({ kind, ids, filters }))) visible.add(id);
    if (visible.size < limit && hits.length < tally.rows) continue;
    const passed = hits.filter(({ id }) => visible.has(id)).sort((a, b) => b.score - a.score);
    const last = passed[limit - 1];
    return last === undefined ? passed : passed.filter(({ score }) => score >= last.score);
  }
}

/** Of rows that tie for the last places the newest, where they are too many. */
async function newestOfLast(tx: Tx, rows: readonly Hit[], kind: RowKind, limit: number, filters: Filters): Promise<readonly Hit[]> {
  if (rows.length <= limit) return rows;
  const edge = Math.min(...rows.map(({ score }) => score));
  const tied = rows.filter(({ score }) => score === edge).map(({ id }) => id);
  const newest = new Set((await tx.all(rowInstants({ wanted: [{ kind, ids: tied, most: limit }], filters }))).map(({ id }) => id));
  return rows.filter(({ id, score }) => score > edge || newest.has(id));
}
