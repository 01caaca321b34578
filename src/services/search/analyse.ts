/** What a question looks like, before anything is searched. */
import { queryTerms } from "../../domain/lexical.ts";
import { type QueryClass, queryClass, queryEntropy, type RouterWeights, routerWeights } from "../../domain/retrieval/query-analysis.ts";

export interface Analysis {
  readonly query: string;
  readonly class: QueryClass;
  /** Voices of the arms in rank fusion. */
  readonly weights: RouterWeights;
  /** The words that select and score, each with its forms; stop words are left out. */
  readonly words: readonly (readonly string[])[];
  /** Their forms with blanks between, for `cuba_or_tsquery`. */
  readonly lexemes: string;
  /** Selecting words of the whole question; more than `words` where it was too long. */
  readonly wordsAsked: number;
}

export function analyse(query: string): Analysis {
  const words = queryTerms(query)
    .filter((term) => term.selects)
    .map((term) => term.forms);
  return {
    query,
    class: queryClass(query),
    weights: routerWeights(queryEntropy(query)),
    words,
    lexemes: lexemesOf(words),
    wordsAsked: words.length,
  };
}

const lexemesOf = (words: Analysis["words"]) => [...new Set(words.flat())].join(" ");

/** The same question, asked by some of its words. */
export const withWords = (analysis: Analysis, words: Analysis["words"]): Analysis => ({ ...analysis, words, lexemes: lexemesOf(words) });
