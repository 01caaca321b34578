/** Whether a text speaks of something by its name: as a word of its own, in any case. */
import { charCount } from "../kernel/text.ts";
import { hasDenseScript } from "./words.ts";

/** Shorter names mean too much: forgetting `API` would take half of what is remembered. */
export const LEAST_NAME_CHARS = 4;

/** Names that are looked for in texts; the others mean their entity alone. */
export const telling = (names: readonly string[]): string[] => names.filter((name) => charCount(name) >= LEAST_NAME_CHARS);

const WORD = "[\\p{L}\\p{M}\\p{N}_]";
/** A name ends where another letter begins, but Chinese, Japanese and Thai have no blanks to end at. */
const edge = (char: string | undefined, look: "?<!" | "?!"): string =>
  char === undefined || hasDenseScript(char) || !new RegExp(WORD, "u").test(char) ? "" : `(${look}${WORD})`;

/** Tests a text for any of these names. `Ana Gil` is in `ask ana gil, please` and not in `Ana Gilbert`. */
export function mentionOf(names: readonly string[]): (text: string) => boolean {
  const patterns = telling(names).map((name) => {
    const chars = Array.from(name.normalize("NFC"));
    return `${edge(chars[0], "?<!")}${RegExp.escape(chars.join(""))}${edge(chars.at(-1), "?!")}`;
  });
  if (patterns.length === 0) return () => false;
  const pattern = new RegExp(patterns.join("|"), "iu");
  return (text) => pattern.test(text.normalize("NFC"));
}
