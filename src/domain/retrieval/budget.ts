/** Result rows within a token budget (`retrieval.md` §2.18): shape first, count second, and what is cut says so. */

/** Tokens of a text in the encoding the budget is in (cl100k). */
export type CountTokens = (text: string) => number;

export interface BudgetedRows<T> {
  /** The rows that fit, in order; the last may have its text cut and then carries `truncated: true`. */
  readonly rows: (T | (T & { readonly truncated: true }))[];
  /** Rows left out altogether. */
  readonly omitted: number;
  /** Tokens of the rows as JSON. */
  readonly tokens: number;
}

/** A cut text shorter than this helps nobody; the row is left out instead. */
const MIN_CUT_CHARS = 20;
/** The comma between two rows. */
const SEPARATOR_TOKENS = 1;

/**
 * Keeps rows while their JSON fits into `maxTokens`; the first that does not fit has its text cut to what is left, and ends the list.
 * Cuts count code points and what the cut row really costs, braces and keys included.
 * @param text reads the text of a row that may be cut; @param withText gives the same row with another text.
 */
export function fitToBudget<T extends object>(
  rows: readonly T[],
  maxTokens: number,
  countTokens: CountTokens,
  text: (row: T) => string,
  withText: (row: T, text: string) => T,
): BudgetedRows<T> {
  const kept: (T | (T & { readonly truncated: true }))[] = [];
  let left = maxTokens;
  for (const row of rows) {
    const separator = kept.length === 0 ? 0 : SEPARATOR_TOKENS;
    const cost = countTokens(JSON.stringify(row)) + separator;
    if (cost <= left) {
      kept.push(row);
      left -= cost;
      continue;
    }
    const cut = cutRow(row, left - separator, countTokens, text, withText);
    if (cut !== undefined) {
      kept.push(cut);
      left -= countTokens(JSON.stringify(cut)) + separator;
    }
    break;
  }
  return { rows: kept, omitted: rows.length - kept.length, tokens: maxTokens - left };
}

/** The row with the longest beginning of its text that fits, found by halving; undefined where nothing useful does. */
function cutRow<T extends object>(
  row: T,
  room: number,
  countTokens: CountTokens,
  text: (row: T) => string,
  withText: (row: T, text: string) => T,
): (T & { readonly truncated: true }) | undefined {
  const chars = Array.from(text(row));
  const shortened = (length: number) => ({ ...withText(row, chars.slice(0, length).join("")), truncated: true as const });
  const fits = (length: number) => countTokens(JSON.stringify(shortened(length))) <= room;
  if (!fits(MIN_CUT_CHARS)) return undefined;
  let low = MIN_CUT_CHARS;
  let high = chars.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return shortened(Math.min(low, chars.length));
}
