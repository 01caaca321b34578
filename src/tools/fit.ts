/**
 * How much of a list an answer shows (`tools-maintenance.md` §1.6): no answer above 10,000 tokens. Lists lose whole rows from the end of
 * their order; a single text too long for an answer is cut on a code point. What is cut says so, with the total and how to read on.
 */
import { charCount, firstChars } from "../kernel/text.ts";
import { mostTokens, tokenCounter } from "../kernel/tokens.ts";

/** Ceiling of one answer, cl100k tokens. */
export const ANSWER_TOKENS = 10_000;
/** Kept free for the envelope around the lists: warnings, keys, the page itself. */
const ENVELOPE_TOKENS = 400;

type Row = Readonly<Record<string, unknown>>;

/** A list that is to go into an answer. */
export interface Shelf<T extends Row> {
  /** What was read, in the order of the answer; already limited to what the caller asked for. */
  readonly rows: readonly T[];
  /** How many there are in all. */
  readonly total: number;
  /** Rows skipped before the first of these. */
  readonly offset: number;
  /** Tokens that this list may take; the whole answer by default. */
  readonly budget?: number;
  /** The text of a row that may be cut when the first row alone is too long; of several the first one first. */
  readonly long?: (keyof T & string) | readonly (keyof T & string)[];
  /** The caller asked for one row: it comes whole, however long. */
  readonly whole?: boolean;
}

/** The part of a list that fits, and the page keys of the answer. */
export interface Page<T extends Row> {
  readonly rows: readonly (T & { readonly content_chars?: number; readonly content_truncated?: true })[];
  readonly truncated: boolean;
  readonly total: number;
  /** The arguments that read on, `{ "offset": 37 }`; null where nothing is left. */
  readonly next: { readonly offset: number; readonly limit?: 1 } | null;
  /** Tokens these rows take at most. */
  readonly tokens: number;
}

/** What an answer says of a list that does not end with it; nothing where it does. */
export const readOn = ({ truncated, total, next }: Pick<Page<Row>, "truncated" | "total" | "next">): Row =>
  truncated ? { truncated, total, next } : {};

/** Tokens that the other keys of an answer leave for its list. */
export async function tokensLeft(rest: Row, lists = 1): Promise<number> {
  return Math.max(0, Math.floor((ANSWER_TOKENS - ENVELOPE_TOKENS - (await cost(rest))) / lists));
}

/** An upper bound that is free where it is small, else the exact count. */
async function cost(value: unknown): Promise<number> {
  const text = JSON.stringify(value);
  const most = mostTokens(text);
  // Below this share of an answer the bytes decide; the vocabulary is not worth loading.
  return most <= ENVELOPE_TOKENS ? most : (await tokenCounter())(text);
}

/** As many rows as fit the budget, at least one. */
export async function fitRows<T extends Row>(shelf: Shelf<T>): Promise<Page<T>> {
  const { rows, total, offset, whole = false } = shelf;
  const budget = shelf.budget ?? ANSWER_TOKENS - ENVELOPE_TOKENS;
  const page = (shown: Page<T>["rows"], tokens: number, cut = false): Page<T> => {
    const read = offset + shown.length;
    const left = read < total;
    // A cut text comes first: whoever wants it whole asks for it alone, and goes on behind it.
    return { rows: shown, truncated: left || cut, total, next: cut ? { offset, limit: 1 } : left ? { offset: read } : null, tokens };
  };
  const most = mostTokens(JSON.stringify(rows));
  if (most <= budget || (whole && rows.length === 1)) return page(rows, most);

  const count = await tokenCounter();
  let used = 0;
  const shown: T[] = [];
  for (const row of rows) {
    const tokens = count(JSON.stringify(row)) + 1;
    if (used + tokens > budget) break;
    used += tokens;
    shown.push(row);
  }
  const first = rows[0];
  if (shown.length > 0 || first === undefined) return page(shown, used);
  const cut = cutRow(first, shelf.long, budget, count);
  return page([cut], count(JSON.stringify(cut)), true);
}

/** The row with its long texts cut until it fits; unchanged where it has none. */
function cutRow<T extends Row>(row: T, long: Shelf<T>["long"] = [], budget: number, count: (text: string) => number) {
  const fields = (typeof long === "string" ? [long] : long).flatMap((field) => {
    const text = row[field];
    return typeof text === "string" ? [{ field, text, chars: charCount(text) }] : [];
  });
  if (fields.length === 0) return row;
  let cut = { ...row, content_chars: fields.reduce((sum, { chars }) => sum + chars, 0), content_truncated: true as const };
  for (const { field, text, chars } of fields)
    for (let keep = chars; keep > 0; ) {
      const tokens = count(JSON.stringify(cut));
      if (tokens <= budget) return cut;
      // Tokens are nearly even over a text: the proportion lands close, a little less lands below.
      keep = Math.min(keep - 1, Math.floor(keep * Math.min(0.98, (budget / tokens) * 0.97)));
      cut = { ...cut, [field]: firstChars(text, keep) };
    }
  return cut;
}

/** One text under its key, cut where the rest of the answer leaves no room for it. */
export async function fitText(key: string, text: string, rest: Row = {}): Promise<Row> {
  const { rows } = await fitRows({ rows: [{ [key]: text }], total: 1, offset: 0, budget: await tokensLeft(rest), long: key });
  const [shown] = rows;
  return shown?.content_truncated === true
    ? { [key]: shown[key], [`${key}_chars`]: shown.content_chars, [`${key}_truncated`]: true }
    : { [key]: text };
}
