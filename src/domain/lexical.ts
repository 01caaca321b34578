/**
 * What full text and BM25 store and ask: the forms of every word (`retrieval.md` §2.5, §2.8; `docs/decisions/0030-words.md`).
 *
 * A word goes in as written, without accents, and as its English and, where the text may be Spanish, its Spanish stem; forms that
 * are equal go in once. A question asks for all forms of a word and scores the best of them, so that no document is paid twice for one word.
 */
import { englishStem } from "./english-stem.ts";
import { spanishStem } from "./spanish-stem.ts";
import { englishStopWords, isStopWord, spanishStopWords } from "./stop-words.ts";
import { type Word, withoutAccents, wordsOf } from "./words.ts";

/** One word of a question. A row matches it by any of its forms, and its score is the best of theirs. */
export interface QueryTerm {
  /** Lexemes of the index, at least one, no two equal; the first is the word as written. */
  readonly forms: readonly string[];
  /** False for a stop word: it neither selects rows nor scores. */
  readonly selects: boolean;
}

const isLatin = /^[a-z]{3,}$/;

/**
 * False where English function words outnumber Spanish ones. A text with neither (a title, a name, code) may be Spanish: one more
 * form that nobody asks for costs a lexeme, a missing one costs the memory.
 */
function mayBeSpanish(words: readonly Word[]): boolean {
  let balance = 0;
  for (const { text } of words) {
    if (spanishStopWords.has(text)) balance++;
    if (englishStopWords.has(text)) balance--;
  }
  return balance >= 0;
}

/** Words repeat (Zipf): remembering their forms makes preparing a text three times as fast. At about 150 bytes an entry. */
const REMEMBERED_WORDS = 8_192;
const remembered = { spanish: new Map<string, readonly string[]>(), other: new Map<string, readonly string[]>() };

/** The distinct forms of a word, one to four, the word itself first. */
function formsOf(text: string, spanish: boolean): readonly string[] {
  const memory = spanish ? remembered.spanish : remembered.other;
  const known = memory.get(text);
  if (known !== undefined) return known;
  const forms = deriveForms(text, spanish);
  if (memory.size >= REMEMBERED_WORDS) memory.clear();
  memory.set(text, forms);
  return forms;
}

function deriveForms(text: string, spanish: boolean): readonly string[] {
  const folded = withoutAccents(text);
  const found = folded === text ? [text] : [text, folded];
  if (!isLatin.test(folded)) return found;
  const stem = englishStem(folded);
  if (!found.includes(stem)) found.push(stem);
  if (spanish) {
    const other = withoutAccents(spanishStem(text));
    if (!found.includes(other)) found.push(other);
  }
  return found;
}

/** The lexemes of a text in order, repetitions included; what the postings count. As many as `brain_word_count` counts: the text's length for BM25. */
export function lexemesOf(text: string): string[] {
  const words = wordsOf(text);
  const spanish = mayBeSpanish(words);
  return words.flatMap((word) => formsOf(word.text, spanish));
}

/** The column `lexical`: lexemes with a blank between them. `to_tsvector('simple', …)` gives back exactly these, in this order. */
export const lexicalText = (text: string): string => lexemesOf(text).join(" ");

/** The words of a question, each once, in order of appearance. */
export function queryTerms(query: string): QueryTerm[] {
  const words = wordsOf(query);
  const spanish = mayBeSpanish(words);
  const terms = new Map<string, QueryTerm>();
  for (const { text } of words) {
    if (terms.has(text)) continue;
    const forms = formsOf(text, spanish);
    terms.set(text, { forms, selects: !isStopWord(text) });
  }
  return [...terms.values()];
}
