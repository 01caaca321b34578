/**
 * The word arms. One pass over the postings finds the rows that BM25 ranks first; the text arm scores the same rows by full text and
 * importance. Frequent words score and do not select (MaxScore), so the cost follows the rare words of a question, not the size of the memory.
 */
import { fullMatchOf, inverseDocumentFrequency, pruningOrder, type ScoredTerm, termBound } from "../../../domain/retrieval/bm25.ts";
import { byScoreThenId, type Hit } from "../../../domain/retrieval/hits.ts";
import type { Tx } from "../../../store/port.ts";
import { type Filters, kindNumber, kindOf, type RowKind, rowKinds } from "../../../store/queries/search-filters.ts";
import {
  bestByWords,
  type FoundIds,
  NAMES,
  TOTALS,
  textScores,
  type WeightedForm,
  wordStatistics,
} from "../../../store/queries/search-words.ts";
import type { Analysis } from "../analyse.ts";
import { nearSpellings } from "./spelling.ts";

export interface WordSearch {
  readonly analysis: Analysis;
  readonly kinds: readonly RowKind[];
  readonly filters: Filters;
  /** Rows of each kind. */
  readonly depth: number;
  /** The first so many rows of each kind are exactly those that scoring every row would give. */
  readonly exactRank: number;
}

export interface WordHits {
  readonly kinds: ReadonlyMap<string, RowKind>;
  /** Best first, all kinds but episodes in one list. */
  readonly bm25: readonly Hit[];
  /** What the words found, of every kind; what the text arm scores. */
  readonly found: FoundIds;
  /** Share of the question that each row has: its score ÷ that of an average row with every word once; may pass 1. */
  readonly covers: ReadonlyMap<string, number>;
  /** The same of the best row. */
  readonly coverage: number;
  /** Rises with each change of an entity in scope. */
  readonly namesVersion: number;
  /** Words of the question that no row has in any form, as written. */
  readonly unknown: readonly string[];
}

/** Words of a question in one kind of rows: what they weigh there. */
interface KindPlan {
  readonly kind: RowKind;
  /** Words of the question that the kind has. */
  readonly known: ReadonlySet<number>;
  /** Heaviest first. `restBound`: what all words behind can add to a row. */
  readonly steps: readonly { readonly forms: readonly WeightedForm[]; readonly rows: number; readonly restBound: number }[];
  readonly fullMatch: number;
}

/** Below so many matching rows pruning costs more than it saves: everything selects. */
const PRUNE_FROM_ROWS = 300;
/** Share of the words' weight that the rest may keep at the first try. A top row has rarely less than half of a question's weight, so the bound holds at once as a rule. */
const FIRST_REST_SHARE = 0.25;

async function planKinds(
  tx: Tx,
  { analysis, kinds, filters }: Pick<WordSearch, "kinds" | "filters"> & { readonly analysis: Pick<Analysis, "words"> },
): Promise<{ plans: KindPlan[]; namesVersion: number }> {
  const forms = [...new Set(analysis.words.flat())];
  const statistics = await tx.all(wordStatistics({ forms, kinds, filters }));
  const namesVersion = statistics.find(({ at }) => at === NAMES)?.rows ?? 0;
  const plans = kinds.flatMap((kind): KindPlan[] => {
    const mine = statistics.filter((row) => row.kind === kindNumber[kind]);
    const total = mine.find(({ at }) => at === TOTALS);
    if (total === undefined || total.rows <= 0) return [];
    const rowsWith = new Map(mine.filter(({ at }) => at >= 0).map(({ at, rows }) => [forms[at], rows]));
    const averageLength = total.words / total.rows;
    const words = analysis.words.map((ofWord, word) =>
      ofWord.flatMap((term): WeightedForm[] => {
        const rows = rowsWith.get(term);
        return rows === undefined ? [] : [{ kind, term, word, idf: inverseDocumentFrequency(total.rows, rows), averageLength }];
      }),
    );
    const terms = new Map<ScoredTerm, readonly WeightedForm[]>();
    for (const ofWord of words)
      if (ofWord.length > 0)
        terms.set(
          ofWord.map(({ idf }) => ({ idf, postings: [] })),
          ofWord,
        );
    const steps = pruningOrder([...terms.keys()]).map(({ term, restBound }) => {
      const ofWord = terms.get(term) ?? [];
      return { forms: ofWord, rows: ofWord.reduce((sum, form) => sum + (rowsWith.get(form.term) ?? 0), 0), restBound };
    });
    return [
      {
        kind,
        known: new Set(words.flatMap((ofWord, at) => (ofWord.length > 0 ? [at] : []))),
        steps,
        fullMatch: fullMatchOf(
          words.map((ofWord) => ofWord.map(({ idf }) => idf)),
          total.rows,
        ),
      },
    ];
  });
  return { plans, namesVersion };
}

/** How many of the words, heaviest first, select at the first try. */
function firstCut({ steps }: KindPlan): number {
  if (steps.reduce((sum, { rows }) => sum + rows, 0) <= PRUNE_FROM_ROWS) return steps.length;
  const whole = steps.reduce((sum, { forms }) => sum + termBound(Math.max(...forms.map(({ idf }) => idf))), 0);
  const at = steps.findIndex(({ restBound }) => restBound <= FIRST_REST_SHARE * whole);
  return at === -1 ? steps.length : at + 1;
}

const restAfter = ({ steps }: KindPlan, cut: number) => (cut >= steps.length ? 0 : (steps[cut - 1]?.restBound ?? 0));

async function pass(tx: Tx, cuts: ReadonlyMap<KindPlan, number>, { filters, depth, exactRank }: WordSearch): Promise<Map<RowKind, Hit[]>> {
  const plans = [...cuts.keys()];
  const rows = await tx.all(
    bestByWords({
      selecting: plans.flatMap((plan) => plan.steps.slice(0, cuts.get(plan)).flatMap(({ forms }) => forms)),
      scoring: plans.flatMap((plan) => plan.steps.slice(cuts.get(plan)).flatMap(({ forms }) => forms)),
      rest: plans.map((plan) => ({ kind: plan.kind, bound: restAfter(plan, cuts.get(plan) ?? 0) })),
      thresholdRank: exactRank,
      depth,
      filters,
    }),
  );
  const hits = new Map<RowKind, Hit[]>(plans.map(({ kind }) => [kind, []]));
  for (const { kind, id, score } of rows) hits.get(kindOf(kind))?.push({ id, score });
  return hits;
}

/** Finds rows by the words of a question. */
export async function searchWords(tx: Tx, search: WordSearch): Promise<WordHits> {
  const { plans, namesVersion } = await planKinds(tx, search);
  const hits = new Map<RowKind, Hit[]>();
  let open = new Map(plans.filter(({ steps }) => steps.length > 0).map((plan) => [plan, firstCut(plan)]));
  while (open.size > 0) {
    for (const [kind, found] of await pass(tx, open, search)) hits.set(kind, found);
    const again = new Map<KindPlan, number>();
    for (const [plan, cut] of open) {
      const rest = restAfter(plan, cut);
      const reached = hits.get(plan.kind)?.[search.exactRank - 1]?.score ?? 0;
      // A row that has none of the selecting words could still be among the first.
      if (rest > 0 && rest >= reached) {
        const enough = plan.steps.findIndex(({ restBound }) => restBound < reached);
        again.set(plan, reached === 0 || enough === -1 ? plan.steps.length : Math.max(enough + 1, cut + 1));
      }
    }
    open = again;
  }
  const kinds = new Map<string, RowKind>();
  const covers = new Map<string, number>();
  const found: Partial<Record<RowKind, readonly string[]>> = {};
  let coverage = 0;
  for (const { kind, fullMatch } of plans) {
    const list = hits.get(kind) ?? [];
    found[kind] = list.map(({ id }) => id);
    for (const { id, score } of list) {
      kinds.set(id, kind);
      if (fullMatch > 0) covers.set(id, score / fullMatch);
    }
    if (fullMatch > 0) coverage = Math.max(coverage, (list[0]?.score ?? 0) / fullMatch);
  }
  const bm25 = [...hits]
    .filter(([kind]) => kind !== "episode")
    .flatMap(([, list]) => list)
    .sort(byScoreThenId)
    .slice(0, search.depth);
  const unknown = search.analysis.words.flatMap(([written = ""], at) => (plans.some((plan) => plan.known.has(at)) ? [] : [written]));
  return { kinds, bm25, found, covers, coverage, namesVersion, unknown };
}

export interface TextHits {
  readonly hits: readonly Hit[];
  /** The same rows by cover density, best first. */
  readonly coverDensity: readonly Hit[];
  /** Share of the question that the best row has; by near spellings where the words themselves found nothing. */
  readonly coverage: number;
  readonly kinds: ReadonlyMap<string, RowKind>;
}

/** Weight of a near spelling in the text arm's score: that of a match (`retrieval.md` §2.5). */
const SPELLING_WEIGHT = 0.7;

/** The text arm over what the words found, and what words spelt like the unknown ones find. */
export async function scoreTexts(tx: Tx, words: WordHits, search: WordSearch): Promise<TextHits> {
  const { analysis, filters, depth } = search;
  const near = await nearSpellings(tx, words.unknown, filters);
  const spelt =
    near.length === 0 ? undefined : await searchWords(tx, { ...search, analysis: { ...analysis, words: near.map(({ terms }) => terms) } });
  const kinds = new Map([...(spelt?.kinds ?? []), ...words.kinds]);
  if (kinds.size === 0) return { hits: [], coverDensity: [], coverage: 0, kinds };
  const found = Object.fromEntries(rowKinds.map((kind) => [kind, [...kinds].flatMap(([id, of]) => (of === kind ? [id] : []))]));
  const rows = await tx.all(textScores({ found, text: analysis.lexemes, name: analysis.query, filters }));
  // A near spelling is worth what it is like, and only for the part of the question that it stands for.
  const likeness =
    (near.reduce((sum, { similarity }) => sum + similarity, 0) / Math.max(near.length, 1)) *
    (near.length / Math.max(analysis.words.length, 1));
  const closeness = (id: string) => Math.min(spelt?.covers.get(id) ?? 0, 1) * likeness;
  const coverDensity = rows
    .filter(({ kind }) => kindOf(kind) !== "episode")
    .map(({ id, coverDensity: score }) => ({ id, score }))
    .sort(byScoreThenId);
  const hits = rows.map(({ id, score }) => ({ id, score: score + SPELLING_WEIGHT * closeness(id) })).sort(byScoreThenId);
  return {
    hits: hits.slice(0, depth),
    coverDensity: coverDensity.slice(0, depth),
    coverage: words.kinds.size > 0 ? words.coverage : Math.min((spelt?.coverage ?? 0) * likeness, 1),
    kinds,
  };
}
