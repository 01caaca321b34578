/**
 * Whether a name that a model read out of a text stands in that text (`tools-graph.md` §4.4, auto_extract): what does not was invented. Case, width, accents and
 * the joints of identifiers make no difference, nor does the number of a word; scripts without spaces are compared sign by sign.
 */
import { lexemesOf } from "./lexical.ts";
import { mentionForm, standsIn } from "./names.ts";
import { isStopWord } from "./stop-words.ts";
import { denseRunsOf, tokensOf, withoutAccents, wordsOf } from "./words.ts";

/** Letters of a word from which on it may be the beginning of a longer one of the text: `Postgres` where the text has `PostgreSQL`. */
const SHORTEST_BEGINNING = 4;
/** The other way round most of the word must be there: `PostgreSQL` where the text has `postgres`, but not `Johnson` for `Johns`. */
const SHARE_OF_NAME = 0.75;

const folded = (text: string) => withoutAccents(mentionForm(text.normalize("NFKC")));

/** True where `run` is made of stretches of two or three signs that stand in `text` (which longer ones are made of too): `支付服务` in `支付的服务`. */
function isMadeOf(run: string, text: string): boolean {
  const signs = Array.from(run);
  // One sign alone says too little, unless it is all there is.
  const lengths = signs.length === 1 ? [1] : [2, 3];
  const ends = new Set([0]);
  for (let end = 1; end <= signs.length; end++)
    if (lengths.some((length) => ends.has(end - length) && text.includes(signs.slice(end - length, end).join("")))) ends.add(end);
  return ends.has(signs.length);
}

/** A check of names against one text, which is prepared once. */
export function occurrenceCheck(text: string): (name: string) => boolean {
  const form = folded(text);
  const unspaced = form.replaceAll(" ", "");
  const words = new Set(lexemesOf(text));
  const isThere = (word: string): boolean => {
    // Of a word any form will do (its stem); what is joined must be there as a whole.
    if (!/^[\p{L}\p{M}\p{Nd}]+$/u.test(word)) return !/[+#]/.test(word) && words.has(word.replace(/[^\p{L}\p{M}\p{Nd}]/gu, ""));
    if (lexemesOf(word).some((form) => words.has(form))) return true;
    const plain = withoutAccents(word);
    const isOneOf = (known: string) => known.startsWith(plain) || (plain.startsWith(known) && known.length >= SHARE_OF_NAME * plain.length);
    return plain.length >= SHORTEST_BEGINNING && /^\p{L}+$/u.test(plain) && words.values().some(isOneOf);
  };
  // Numbers and signs mean something: `1.1` is not 1 and 1, `C++` is not C.
  const isSpoken = (token: string): boolean =>
    isThere(token.toLowerCase()) || (!/[\p{Nd}+#]/u.test(token) && wordsOf(token).every((word) => word.isWhole || isThere(word.text)));
  return (name) => {
    const wanted = folded(name);
    if (wanted === "") return false;
    if (standsIn(form, wanted) || (!/\p{Nd}/u.test(wanted) && words.has(wanted.replaceAll(" ", "")))) return true;
    const tokens = tokensOf(name).filter((token) => !token.isDense && !isStopWord(token.text.toLowerCase()));
    const runs = denseRunsOf(wanted);
    return tokens.length + runs.length > 0 && tokens.every((token) => isSpoken(token.text)) && runs.every((run) => isMadeOf(run, unspaced));
  };
}

const capitalised = /(?<![\p{L}\p{M}\p{N}])\p{Lu}[\p{L}\p{M}\p{N}]*\p{Ll}[\p{L}\p{M}\p{N}]*/gu;
/** Behind these a capital begins a sentence or a quotation, not a name. */
const beginsSentence = /(?:^|[.!?:;…。！？：；"'“”‘’«»()[\]|*•>\n-])\s*$/u;
const calendar =
  /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day$|^(?:January|February|March|April|May|June|July|August|September|October|November|December)$/;

const namesIn = (sentence: string): string[] =>
  Array.from(sentence.matchAll(capitalised), (found) => ({ word: found[0], before: sentence.slice(0, found.index) }))
    .filter(({ word, before }) => !beginsSentence.test(before) && !calendar.test(word))
    .map(({ word }) => word);

/** German writes every noun with a capital, which tells nothing about names then. */
const german = /(?<!\p{L})(?:der|die|das|und|ist|nicht|wird|werden|ein|eine|einen|für|mit|auf|wir)(?!\p{L})/gu;

/** A check whether every name inside of a statement (a word with a capital that begins no sentence) stands in the text. */
export function namesCheck(text: string, occurs: (name: string) => boolean): (statement: string) => boolean {
  return (statement) => (`${text} ${statement}`.match(german) ?? []).length >= 2 || namesIn(statement).every(occurs);
}
