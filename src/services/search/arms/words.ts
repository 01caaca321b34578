/** The BM25 arm: the rows that a question's words rank first, of every kind. */
import { fullMatchOf } from "../../../domain/retrieval/bm25.ts";
import { byScoreThenId, type Hit } from "../../../domain/retrieval/hits.ts";
import type { PackedPostings } from "../../../domain/retrieval/tally.ts";
import type { Tx } from "../../../store/port.ts";
import { type Filters, kindNumber, type RowKind } from "../../../store/queries/search-filters.ts";
import { type FoundIds, NAMES, TOTALS, wordStatistics } from "../../../store/queries/search-words.ts";
import type { Ages } from "../ages.ts";
import type { Analysis } from "../analyse.ts";
import { withRarestWords } from "./long-questions.ts";
import { type KindStatistics, PRUNING, type Pruning, rankByWords, weightsOf } from "./ranking.ts";

export interface WordSearch {
  readonly analysis: Analysis;
  readonly kinds: readonly RowKind[];
  readonly filters: Filters;
  /** Rows of each kind. */
  readonly depth: number;
  /** The first so many rows of each kind are exactly those that scoring every row would give. */
  readonly exactRank: number;
  readonly ages: Ages;
  /** Where a test asks for another one. */
  readonly pruning?: Pruning | undefined;
  /** Has the text arm compute `ts_rank_cd` too, for `eval`. */
  readonly coverDensity?: boolean | undefined;
}

export interface WordHits {
  /** The question as it was searched: fewer words where it was very long. */
  readonly analysis: Analysis;
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
  /** How frequent the words are, for each kind that has rows in scope. */
  readonly statistics: readonly KindStatistics[];
}

/** Statistics of each kind that has rows in scope, and the version of the entities' names. */
async function readStatistics(tx: Tx, forms: readonly string[], { kinds, filters, pruning = PRUNING }: WordSearch) {
  const rows = await tx.all(wordStatistics({ forms, kinds, packUpTo: pruning.packUpTo, filters }));
  const statistics = kinds.flatMap((kind): KindStatistics[] => {
    const mine = rows.filter((row) => row.kind === kindNumber[kind]);
    const total = mine.find(({ at }) => at === TOTALS);
    if (total === undefined || total.rows <= 0) return [];
    const rowsWith = new Map(mine.flatMap(({ at, rows: of }): [string, number][] => (at >= 0 ? [[forms[at] ?? "", of]] : [])));
    const postings = new Map(
      mine.flatMap(({ at, ids, counts, lengths }): [string, PackedPostings][] =>
        ids === null || counts === null || lengths === null ? [] : [[forms[at] ?? "", { ids, counts, lengths }]],
      ),
    );
    return [{ kind, rows: total.rows, averageLength: total.words / total.rows, rowsWith, postings }];
  });
  return { statistics, namesVersion: rows.find(({ at }) => at === NAMES)?.rows ?? 0 };
}

/**
 * An entity's row says only its name, which its observations say too, and a short text scores high: beside them it speaks at half its voice.
 * CoSQA, where 5,400 functions are entities: BM25 alone nDCG@10 .446, at full voice .442.
 */
const ENTITY_VOICE = 0.5;
export const kindVoice = (kind: RowKind): number => (kind === "entity" ? ENTITY_VOICE : 1);

/** Finds rows by the words of a question. */
export async function searchWords(tx: Tx, search: WordSearch): Promise<WordHits> {
  const analysis = await withRarestWords(tx, search.analysis, search);
  const { statistics, namesVersion } = await readStatistics(tx, [...new Set(analysis.words.flat())], search);
  const rankings: { readonly kind: RowKind; readonly hits: readonly Hit[]; readonly idfs: readonly (readonly number[])[] }[] = [];
  for (const of of statistics)
    rankings.push({ kind: of.kind, hits: await rankByWords(tx, of, analysis.words, search), idfs: weightsOf(of, analysis.words) });

  const kinds = new Map<string, RowKind>();
  const covers = new Map<string, number>();
  const found: Partial<Record<RowKind, readonly string[]>> = {};
  const lists = new Map<RowKind, readonly Hit[]>();
  const firsts = await search.ages.first(
    tx,
    rankings.map(({ kind, hits }) => ({ kindOf: () => kind, hits })),
    search.depth,
  );
  for (const [at, { kind, idfs }] of rankings.entries()) {
    const list = firsts[at] ?? [];
    const fullMatch = fullMatchOf(idfs, statistics[at]?.rows ?? 0);
    lists.set(kind, list);
    found[kind] = list.map(({ id }) => id);
    for (const { id, score } of list) {
      kinds.set(id, kind);
      if (fullMatch > 0) covers.set(id, score / fullMatch);
    }
  }
  const merged = [...lists]
    .filter(([kind]) => kind !== "episode")
    .flatMap(([kind, list]) => list.map(({ id, score }) => ({ id, score: score * kindVoice(kind) })))
    .sort(byScoreThenId);
  const [bm25 = []] = await search.ages.first(tx, [{ kindOf: (id) => kinds.get(id) ?? "observation", hits: merged }], search.depth);
  const unknown = analysis.words.flatMap(([written = ""], at) =>
    rankings.some(({ idfs }) => (idfs[at] ?? []).length > 0) ? [] : [written],
  );
  return { analysis, kinds, bm25, found, covers, coverage: Math.max(0, ...covers.values()), namesVersion, unknown, statistics };
}
