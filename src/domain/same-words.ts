/**
 * Whether one text may stand for another: only where both have the same words in the same order (`tools-graph.md` §3.9). Similarity
 * cannot tell: `… pinned to version 17` and `… 18` have 0.8889, `A depends on B` and `B depends on A` 1.0. Used by the duplicate gate,
 * by `cuba_zafra merge`, by the overload consolidation and by the result list of search.
 */
import { negationDiffers } from "./negation.ts";
import { hasDenseScript, tokensOf } from "./words.ts";

/** What sets two texts apart, first that fits. */
export type DifferenceKind = "number" | "negation" | "identifier" | "word";

/** A word to be compared. */
export interface ComparedWord {
  readonly written: string;
  readonly lower: string;
  /** Identifier-like: compared exactly as written. */
  readonly isExact: boolean;
}

const ARTICLES = new Set(["a", "an", "the", "el", "la", "los", "las", "un", "una", "unos", "unas"]);

/** Around a word these say nothing; symbols that change a word (`C++`, `-5`, `#1`, `50%`, `--force`, `~`, `>`) are not among them. */
const OPENING = /^["'`“”‘’«»„([{¿¡]+/u;
const CLOSING = "\"'`“”‘’«»)]}.,;:!?…。";
/** `**done**` is `done`; the star of `*.ts` stays. */
const emphasis = /^(\*{1,3})(.+)\1$/u;
/** A token without letter, digit or symbol: a dash, a bullet. `->`, `≥`, `✅` stay: they carry meaning. */
const isPunctuationOnly = /^[\p{P}*`~_]*$/u;
/** What opens a quotation, and what ends it. Backticks may hold lines, the others end with theirs. */
const QUOTES = new Map([
  ["`", "`"],
  ['"', '"'],
  ["“", "”"],
  ["«", "»"],
]);
const looksLikeIdentifier = /\p{N}|[_/.]|(?<=.)\p{Lu}/u;
const SENTENCE_END = /[.!?:;。]/u;

/** Where the closing punctuation of a token begin. Not a regular expression: `…+$` looks at every full stop of ten thousand again and again. */
function closingStart(token: string): number {
  let end = token.length;
  while (end > 0 && CLOSING.includes(token.charAt(end - 1))) end--;
  return end;
}

/** `don’t` is `don't`. */
const curlyApostrophe = /(?<=\p{L})[’ʼ](?=\p{L})/gu;
/** Chinese punctuation that NFKC leaves; behind it a word ends although no blank follows. */
const chineseStop = /[。、「」『』《》【】]/gu;

/**
 * Parts of the text inside quotes or backticks, in order. Where the next sign of each kind stands is kept: a pattern would look for the end of each
 * quotation that has none to the end of the text (a third of a second for 10,000 `“`).
 */
function quotedRanges(text: string): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = [];
  const known = new Map<string, number>();
  const next = (sign: string, from: number): number => {
    let at = known.get(sign) ?? -1;
    if (at < from) {
      at = text.indexOf(sign, from);
      if (at === -1) at = text.length;
      known.set(sign, at);
    }
    return at;
  };
  const opening = /[`"“«]/g;
  for (let found = opening.exec(text); found !== null; found = opening.exec(text)) {
    const [open] = found;
    const inside = found.index + 1;
    const end = next(QUOTES.get(open) ?? open, inside);
    if (end === text.length || end === inside || (open !== "`" && next("\n", inside) < end)) continue;
    ranges.push([found.index, end + 1]);
    opening.lastIndex = end + 1;
  }
  return ranges;
}

/** The words of a text for comparison: NFKC, outer punctuation gone, lower case beside the form as written, articles left out. */
export function comparedWords(text: string): ComparedWord[] {
  const plain = text
    .normalize("NFKC")
    .replace(curlyApostrophe, "'")
    .replace(chineseStop, (stop) => `${stop} `);
  const quoted = quotedRanges(plain);
  const words: ComparedWord[] = [];
  let startsSentence = true;
  let range = 0;
  for (const match of plain.matchAll(/\S+/gu)) {
    while ((quoted[range]?.[1] ?? plain.length) <= match.index) range++;
    const isQuoted = match.index + match[0].length > (quoted[range]?.[0] ?? plain.length);
    const end = closingStart(match[0]);
    const bare = match[0].slice(0, end).replace(OPENING, "").replace(emphasis, "$2");
    if (!isPunctuationOnly.test(bare)) pushCompared(words, bare, isQuoted, startsSentence);
    startsSentence = SENTENCE_END.test(match[0].slice(end));
  }
  return words;
}

function pushCompared(words: ComparedWord[], bare: string, isQuoted: boolean, startsSentence: boolean): void {
  const lower = bare.toLowerCase();
  // A capital inside a sentence is no article: vitamin A, LA, plan A.
  if (!isQuoted && ARTICLES.has(lower) && (bare === lower || startsSentence)) return;
  if (!hasDenseScript(bare)) {
    words.push({ written: bare, lower, isExact: isQuoted || looksLikeIdentifier.test(bare) });
    return;
  }
  for (const { text, isDense } of tokensOf(bare))
    words.push({ written: text, lower: text.toLowerCase(), isExact: !isDense && (isQuoted || looksLikeIdentifier.test(text)) });
  const symbols = bare.replace(/\P{S}+/gu, "");
  if (symbols !== "") words.push({ written: symbols, lower: symbols, isExact: true });
}

/** Identifiers exactly as written, other words in any case. */
export const isSameWord = (a: ComparedWord, b: ComparedWord) =>
  a.written === b.written || (!a.isExact && !b.isExact && a.lower === b.lower);

/** True where two texts have the same words in the same order; two texts without a word only where they are equal. */
export function sameWords(a: string, b: string): boolean {
  if (a === b) return true;
  const left = comparedWords(a);
  const right = comparedWords(b);
  if (left.length === 0 && right.length === 0) return a.trim() === b.trim();
  return left.length === right.length && left.every((word, at) => isSameWord(word, right[at] ?? NO_WORD));
}

const NO_WORD: ComparedWord = { written: "", lower: "", isExact: true };

const NUMBER_WORDS = new Map(
  [
    "zero one two three four five six seven eight nine ten eleven twelve",
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
  ].flatMap((list) => list.split(" ").map((word, value) => [word, String(value)] as const)),
);
/** Integers, decimals, versions, dates, addresses, ports, with a short unit behind; digits at the end of a name (`python3.12`). Not the digits of a hash. */
const NUMBERS =
  /(?<![\p{L}\p{N}])v?(\d+(?:[.,:\-/]\d+)*)(?=[\p{L}%]{0,3}(?![\p{L}\p{N}]))|(?<=\p{L}{3,})(\d+(?:\.\d+)*)(?![\p{L}\p{N}])/giu;

const sorted = (values: readonly string[]) => [...values].sort().join("\n");

function numbersOf(text: string): string {
  const plain = text.normalize("NFKC").toLowerCase();
  const digits = Array.from(plain.matchAll(NUMBERS), (match) => match[1] ?? match[2] ?? "");
  const spelled = (plain.match(/\p{L}+/gu) ?? []).flatMap((word) => NUMBER_WORDS.get(word) ?? []);
  return sorted([...digits, ...spelled]);
}

const identifiersOf = (text: string) =>
  sorted(
    comparedWords(text)
      .filter((word) => word.isExact)
      .map((word) => word.written),
  );

/** What sets two texts apart that do not have the same words. */
export function differenceKind(a: string, b: string): DifferenceKind {
  if (numbersOf(a) !== numbersOf(b)) return "number";
  if (negationDiffers(a, b)) return "negation";
  return identifiersOf(a) === identifiersOf(b) ? "word" : "identifier";
}
