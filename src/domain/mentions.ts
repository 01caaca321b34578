/** Whether a text speaks of something by its name: as a word of its own, in any case, however its letters are written down. */
import { charCount } from "../kernel/text.ts";
import { hasDenseScript } from "./words.ts";

/** Shorter names mean too much: forgetting `API` would take half of what is remembered. */
export const LEAST_NAME_CHARS = 4;

/** The dot that a small letter gets from a Turkish capital I in some tables and not in others: `İ` → `i` or `i̇`. */
export const DOT_ABOVE = "\u0307";
export const DOTTED_I = "İ";

/** A text as it is compared: letters and their accents in one, and no dot above. The statements of a database say the same (`queries/forgetting.ts`). */
const composed = (text: string): string => text.normalize("NFC").replaceAll(DOTTED_I, "I").replaceAll(DOT_ABOVE, "");

/** Names that are looked for in texts, as they are compared; the others mean their entity alone. */
export const telling = (names: readonly string[]): string[] => names.map(composed).filter((name) => charCount(name) >= LEAST_NAME_CHARS);

/** Names too short to be looked for in texts. */
export const untelling = (names: readonly string[]): string[] => names.filter((name) => charCount(composed(name)) < LEAST_NAME_CHARS);

const isAscii = (char: string): boolean => char <= "\u007f";
const mapped = (name: string, map: (char: string) => string): string =>
  Array.from(name, (char) => (isAscii(char) ? char.toLowerCase() : map(char))).join("");

/**
 * What a database's `lower()` may make of this name. Its tables are the server's: with the locale C it leaves all but ASCII as it stands, so the name as
 * it is written and its capitals are in the list too.
 */
export const lowered = (name: string): string[] => {
  const plain = composed(name);
  const capital = (char: string) => (charCount(char.toUpperCase()) === 1 ? char.toUpperCase() : char);
  return [...new Set([mapped(plain, (char) => char.toLowerCase()), mapped(plain, (char) => char), mapped(plain, capital)])];
};

/** Signs that a copy inside JSON writes otherwise, blanks that a line may end at, and letters that have two small or two capital forms. */
const VARIES = /["\\\sßẞσςΣ]/u;

/** Patterns of LIKE, over texts in small letters, that find at least what {@link mentionOf} does. */
export const likePatterns = (names: readonly string[]): string[] =>
  telling(names).flatMap((name) =>
    lowered(name).map((form) => `%${Array.from(form, (char) => (VARIES.test(char) ? "%" : char.replace(/[%_]/, "\\$&"))).join("")}%`),
  );

const WORD = "[\\p{L}\\p{M}\\p{N}_]";
/** A line break, also as a text inside JSON has it: what follows begins a word although `n` is a letter. */
const ESCAPED_BREAK = "\\\\[bfnrt]";
/** A name ends where another letter begins, but Chinese, Japanese and Thai have no blanks to end at. */
const edge = (char: string | undefined, side: "before" | "after"): string => {
  if (char === undefined || hasDenseScript(char) || !new RegExp(WORD, "u").test(char)) return "";
  return side === "after" ? `(?!${WORD})` : `(?:(?<!${WORD})|(?<=${ESCAPED_BREAK}))`;
};

/** One sign of a name as it may stand in a text, or in a copy of it inside JSON, or in JSON that was quoted again and again (8 signs: three times). */
const sign = (char: string): string => {
  if (char === '"') return '\\\\{0,8}"';
  if (char === "\\") return "\\\\{1,8}";
  if (/\s/u.test(char)) return "(?:\\s|\\\\{1,8}[bfnrt])+";
  if (char === "ß" || char === "ẞ") return "(?:ß|ss)";
  return RegExp.escape(char);
};

/** Tests a text for any of these names. `Ana Gil` is in `ask ana gil, please` and not in `Ana Gilbert`. */
export function mentionOf(names: readonly string[]): (text: string) => boolean {
  const patterns = telling(names).map((name) => {
    const chars = Array.from(name.replace(/\s+/gu, " "));
    return `${edge(chars[0], "before")}${chars.map(sign).join("")}${edge(chars.at(-1), "after")}`;
  });
  if (patterns.length === 0) return () => false;
  const pattern = new RegExp(patterns.join("|"), "iu");
  return (text) => pattern.test(composed(text));
}
