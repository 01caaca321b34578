/** The marks of `brain_text_marks` (migration 0007) for texts that are not stored yet: items of one batch find their like without comparing all pairs. */

/** Letters and digits at either end that two texts share when they differ in one place elsewhere; as in the migration. */
const END_CHARS = 12;
/** The letters that articles are made of: leaving them out makes two texts alike that differ in articles only. */
const ARTICLE_LETTERS = /[anthelosu]/g;

/** Equal keys say "compare these two", never "the same". */
export function textMarks(text: string): readonly [words: string, head: string, tail: string] {
  const folded = text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "");
  const chars = folded.length <= END_CHARS ? folded : folded.slice(0, 2 * END_CHARS);
  const tail = Array.from(folded.slice(-2 * END_CHARS)).slice(-END_CHARS);
  return [`w${folded.replace(ARTICLE_LETTERS, "")}`, `h${Array.from(chars).slice(0, END_CHARS).join("")}`, `t${tail.join("")}`];
}
