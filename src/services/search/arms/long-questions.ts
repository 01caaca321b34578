/** A question of hundreds of words (a pasted log, a page) is asked by its rarest words: the others cost the most and decide the least. */
import type { Tx } from "../../../store/port.ts";
import type { Filters, RowKind } from "../../../store/queries/search-filters.ts";
import { rowsWithWords } from "../../../store/queries/search-words.ts";
import { type Analysis, withWords } from "../analyse.ts";

/** Words of a question that are searched, stop words aside. The longest of the 4,369 questions of the development sets has 38. */
export const MOST_WORDS = 48;
/** Rows up to which a word is counted: beyond, all are frequent. */
const COUNTED_ROWS = 200;

/** The same question, of a length that can be searched; as it is where it is short enough. */
export async function withRarestWords(
  tx: Tx,
  analysis: Analysis,
  { kinds, filters }: { readonly kinds: readonly RowKind[]; readonly filters: Filters },
): Promise<Analysis> {
  const { words } = analysis;
  if (words.length <= MOST_WORDS) return analysis;
  const forms = [...new Set(words.flat())];
  const counts = await tx.all(rowsWithWords({ forms, kinds, most: COUNTED_ROWS, filters }));
  const rowsOf = new Map(counts.map(({ at, rows }) => [forms[at] ?? "", rows]));
  const counted = words.map((word, at) => ({ at, rows: word.reduce((sum, form) => sum + (rowsOf.get(form) ?? 0), 0) }));
  const known = counted.filter(({ rows }) => rows > 0).sort((a, b) => a.rows - b.rows || a.at - b.at);
  const unknown = counted.filter(({ rows }) => rows === 0);
  // Unknown words find nothing, but their share says how much of the question the memory can answer at all.
  const strange = Math.min(MOST_WORDS - 1, Math.round((MOST_WORDS * unknown.length) / words.length));
  const kept = new Set([...unknown.slice(0, strange), ...known.slice(0, MOST_WORDS - strange)].map(({ at }) => at));
  return withWords(
    analysis,
    words.filter((_, at) => kept.has(at)),
  );
}
