/** Tags of an observation, taken from its text when that is written or corrected (`tools-graph.md` §3.8). */
import { chineseStopWords } from "./stop-words.ts";
import { hasDenseScript, tokensOf } from "./words.ts";

/** Most tags of one observation. */
export const MAX_TAGS = 5;

/**
 * Words that make no tag. A list of its own, shorter than the stop words of search: tags move the sync clock, so the same text must
 * get the same tags on every machine and in every version.
 */
const NO_TAGS = new Set(
  (
    "a about above after again all also an and any are as at be been before being between both but by can could did do does each either every few for " +
    "from had has have how in into is it its just may might more most neither no nor not of on only or other out over own same shall should so some such " +
    "than that the these this those through to too under until up very was were what when where which while who whom why will with would yet " +
    "como con cuando de del desde el en entre es esta estar fue la las le les los mas para pero por que se ser si son su sus todo un una unas unos ya"
  ).split(" "),
);

const candidate = /[\p{L}\p{M}\p{N}_-]+/gu;
/** Scripts in which two characters already make a word. */
const isCompact = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}ー]+$/u;

const isJoint = (char: string) => char === "-" || char === "_";

function withoutOuterJoints(run: string): string {
  let start = 0;
  let end = run.length;
  while (start < end && isJoint(run.charAt(start))) start++;
  while (end > start && isJoint(run.charAt(end - 1))) end--;
  return run.slice(start, end);
}

function tagWords(text: string): string[] {
  const runs = text.normalize("NFKC").toLowerCase().match(candidate) ?? [];
  return runs.flatMap((run) => (hasDenseScript(run) ? tokensOf(run).map((token) => token.text) : [withoutOuterJoints(run)]));
}

function isTag(word: string): boolean {
  const length = Array.from(word).length;
  return (length > 2 || (length === 2 && isCompact.test(word))) && !NO_TAGS.has(word) && !chineseStopWords.has(word);
}

/**
 * Up to five tags: the most frequent words, ties by first appearance.
 * `Redis cache timeout: redis timeout raised to 30s for the cache layer` → redis, cache, timeout, raised, 30s.
 */
export function autoTags(content: string): string[] {
  const counts = new Map<string, number>();
  for (const word of tagWords(content)) if (isTag(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
  // The map keeps first appearance and the sort is stable.
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, MAX_TAGS)
    .map(([word]) => word);
}
