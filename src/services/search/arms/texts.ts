/** The text arm: what the words found, and what words spelt like the unknown ones find, scored by full text, likeness of names and importance. */
import type { Beyond } from "../../../domain/retrieval/fusion.ts";
import { byScoreThenId, type Hit } from "../../../domain/retrieval/hits.ts";
import { firstChars } from "../../../kernel/text.ts";
import type { Tx } from "../../../store/port.ts";
import { kindOf, type RowKind, rowKinds } from "../../../store/queries/search-filters.ts";
import { textScores } from "../../../store/queries/search-words.ts";
import { nearSpellings } from "./spelling.ts";
import { kindVoice, searchWords, type WordHits, type WordSearch } from "./words.ts";

export interface TextHits {
  /** Best first, each kind in a list of its own: their scores have no common measure. */
  readonly byKind: ReadonlyMap<RowKind, readonly Hit[]>;
  /** All kinds in one list, scores 0–1. */
  readonly merged: readonly Hit[];
  /** The same rows by cover density, best first, without episodes. */
  readonly coverDensity: readonly Hit[];
  /** Share of the question that the best row has; by near spellings where the words themselves found nothing. */
  readonly coverage: number;
  /** What BM25 cannot see: rows of near spellings, and episodes; undefined where there are none. */
  readonly beyond: Beyond | undefined;
  readonly kinds: ReadonlyMap<string, RowKind>;
}

/** Weight of a near spelling in a score: that of a match (`retrieval.md` §2.5). */
const SPELLING_WEIGHT = 0.7;
/** Rows of each kind that are scored, the best of BM25: beside it they hardly speak, and the arm's score reads the row itself. */
const DEPTH = 40;

/** Characters of a question that names are compared with: no name is longer, and trigrams of a page resemble none. */
const NAME_CHARS = 400;

export async function scoreTexts(tx: Tx, words: WordHits, search: WordSearch): Promise<TextHits> {
  const { filters } = search;
  const { analysis } = words;
  const near = await nearSpellings(tx, words.unknown, filters);
  const spelt =
    near.length === 0 ? undefined : await searchWords(tx, { ...search, analysis: { ...analysis, words: near.map(({ terms }) => terms) } });
  const found = Object.fromEntries(
    rowKinds.map((kind) => [
      kind,
      [...new Set([...(words.found[kind] ?? []).slice(0, DEPTH), ...(spelt?.found[kind] ?? []).slice(0, DEPTH)])],
    ]),
  );
  const kinds = new Map(rowKinds.flatMap((kind) => (found[kind] ?? []).map((id): [string, RowKind] => [id, kind])));
  if (kinds.size === 0) return { byKind: new Map(), merged: [], coverDensity: [], coverage: 0, beyond: undefined, kinds };
  const rows = await tx.all(
    textScores({
      found,
      text: analysis.lexemes,
      name: firstChars(analysis.query, NAME_CHARS),
      coverDensity: search.coverDensity === true,
      filters,
    }),
  );
  search.ages.learn(rows);
  // A near spelling is worth what it is like, and only for the part of the question that it stands for.
  const likeness = near.reduce((sum, { similarity }) => sum + similarity, 0) / Math.max(analysis.words.length, 1);
  const speltCoverage = Math.min((spelt?.coverage ?? 0) * likeness, 1);
  const unseen = new Set([...(spelt?.covers.keys() ?? []), ...(found.episode ?? [])]);
  const closeness = (id: string) => Math.min(spelt?.covers.get(id) ?? 0, 1) * likeness;
  const byKind = new Map<RowKind, Hit[]>();
  for (const { kind, id, score } of rows) {
    const list = byKind.get(kindOf(kind)) ?? [];
    list.push({ id, score: score + SPELLING_WEIGHT * closeness(id) });
    byKind.set(kindOf(kind), list);
  }
  for (const list of byKind.values()) list.sort(byScoreThenId);
  const coverOf = (id: string) => Math.max(words.covers.get(id) ?? 0, closeness(id));
  const coverDensity = (search.coverDensity === true ? rows : [])
    .filter(({ kind }) => kindOf(kind) !== "episode")
    .map(({ id, coverDensity: score }) => ({ id, score: score ?? 0 }))
    .sort(byScoreThenId);
  const kindsOf = (id: string): RowKind => kinds.get(id) ?? "observation";
  const [merged = [], density = [], ...lists] = await search.ages.first(
    tx,
    [merge(byKind, coverOf), coverDensity, ...byKind.values()].map((hits) => ({ kindOf: kindsOf, hits })),
    rows.length,
  );
  return {
    byKind: new Map([...byKind.keys()].map((kind, at) => [kind, lists[at] ?? []])),
    merged,
    coverDensity: density,
    coverage: words.kinds.size > 0 ? words.coverage : speltCoverage,
    beyond: unseen.size === 0 ? undefined : { ids: unseen, coverage: speltCoverage },
    kinds,
  };
}

/** One list out of several: each stretched to 0–1, and as loud as its best row covers the question beside the best of all. */
function merge(byKind: ReadonlyMap<RowKind, readonly Hit[]>, coverOf: (id: string) => number): Hit[] {
  const coverage = (list: readonly Hit[]) => Math.max(0, ...list.map(({ id }) => coverOf(id)));
  const best = Math.max(...[...byKind.values()].map(coverage));
  return [...byKind]
    .flatMap(([kind, list]) => {
      const [high, low] = [list[0]?.score ?? 0, list.at(-1)?.score ?? 0];
      const voice = kindVoice(kind) * (best > 0 ? coverage(list) / best : 1);
      return list.map(({ id, score }) => ({ id, score: voice * (high > low ? (score - low) / (high - low) : 1) }));
    })
    .sort(byScoreThenId);
}
