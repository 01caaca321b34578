/** Text measured in Unicode code points, never in UTF-16 units or bytes: an emoji is one, `界` is one. */

/** Number of code points. */
export function charCount(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** The first `limit` code points. */
export function firstChars(text: string, limit: number): string {
  if (text.length <= limit) return text;
  let at = 0;
  let count = 0;
  for (const char of text) {
    if (count++ === limit) break;
    at += char.length;
  }
  return text.slice(0, at);
}

const LOW_SURROGATE = /[\udc00-\udfff]/;

/**
 * The text from the first to the last character that `inner` matches (a pattern for one character); empty where none does.
 * A pattern with `+$` would read every run in the middle from each of its characters: a second for 30,000 dashes between two letters.
 */
export function trimmedTo(text: string, inner: RegExp): string {
  const from = text.search(inner);
  if (from === -1) return "";
  for (let to = text.length; to > from; ) {
    const isPair = LOW_SURROGATE.test(text.charAt(to - 1)) && (text.codePointAt(to - 2) ?? 0) > 0xffff;
    const start = to - (isPair ? 2 : 1);
    if (inner.test(text.slice(start, to))) return text.slice(from, to);
    to = start;
  }
  return "";
}

/** The text without the characters of `signs` at its end; `[…]+$` would read every run in the middle again and again. */
export function trimmedEnd(text: string, signs: string): string {
  let end = text.length;
  while (end > 0 && signs.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** One line for people: newlines and runs of blanks become one space, cut at `limit` code points with `…`. */
export function oneLine(text: string, limit: number): string {
  const flat = text.replace(/\s+/gu, " ").trim();
  const cut = firstChars(flat, limit);
  return cut.length < flat.length ? `${cut}…` : cut;
}

/** A number and what it counts: `1 pair`, `2 pairs`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

/** Control characters but tab and line ends, marks that turn the writing direction, halves of surrogate pairs. */
const UNSEEN = /(?![\t\n\r])\p{Cc}|[\u202a-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu;

/** The text with what cannot be seen or stored written out, for messages and logs: a NUL as `\u0000`. */
export const visible = (text: string): string => text.replace(UNSEEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** True where a reader sees nothing: white space, control characters and characters without a shape of their own (zero width space, joiners). */
export const isBlank = (text: string): boolean => /^[\s\p{Cc}\p{Default_Ignorable_Code_Point}]*$/u.test(text);

/** True where the text can be stored as UTF-8 in PostgreSQL: no NUL and no lone surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** A text that stands behind a full stop. `the model is not there.` → `The model is not there.` */
export const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
