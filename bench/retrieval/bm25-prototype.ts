/**
 * What does each ingredient of the prepared words give? BM25 alone, no model, on the development sets.
 * Every line but the first takes one ingredient away; `*` marks a paired 95 % interval that does not touch zero.
 */
import { cpus, loadavg } from "node:os";
import { englishStem } from "../../src/domain/english-stem.ts";
import { lexemesOf, queryTerms } from "../../src/domain/lexical.ts";
import { inverseDocumentFrequency, type Posting, type ScoredTerm, topByFullScore, topByMaxScore } from "../../src/domain/retrieval/bm25.ts";
import { mean, type NdcgForm, ndcg } from "../../src/domain/retrieval/metrics.ts";
import { comparePaired } from "../../src/domain/retrieval/statistics.ts";
import { spanishStem } from "../../src/domain/spanish-stem.ts";
import { englishStopWords, isStopWord, spanishStopWords } from "../../src/domain/stop-words.ts";
import { tokensOf, type Word, withoutAccents, wordsOf } from "../../src/domain/words.ts";
import { evalSets, type Memory } from "./eval-sets.ts";

/** How a text and a question become lexemes. */
interface Recipe {
  readonly name: string;
  readonly text?: (memory: Memory) => string;
  readonly lexemes?: (text: string) => string[];
  readonly terms?: (query: string) => readonly (readonly string[])[];
}

const K = 10;
const nameTypeContent = ({ entity, content }: Memory) => `${entity} (concept): ${content}`;

/** The forms of `lexical.ts` with single ingredients switched off. */
interface Ingredients {
  readonly english?: boolean;
  readonly spanish?: boolean;
  readonly twins?: boolean;
  readonly keep?: (word: Word) => boolean;
  readonly words?: (text: string) => Word[];
  readonly stopWordsSelect?: boolean;
}

function without(
  name: string,
  { english = true, spanish = true, twins = true, keep = () => true, words = wordsOf, stopWordsSelect = false }: Ingredients,
): Recipe {
  const formsIn = (all: readonly Word[]) => {
    const balance = all.reduce((sum, { text }) => sum + (spanishStopWords.has(text) ? 1 : 0) - (englishStopWords.has(text) ? 1 : 0), 0);
    return ({ text }: Word) => {
      const folded = withoutAccents(text);
      const forms = new Set(twins ? [text, folded] : [text]);
      if (/^[a-z]{3,}$/.test(folded)) {
        if (english) forms.add(englishStem(folded));
        if (spanish && balance >= 0) forms.add(withoutAccents(spanishStem(text)));
      }
      return [...forms];
    };
  };
  return {
    name,
    lexemes: (text) => {
      const all = words(text).filter(keep);
      return all.flatMap(formsIn(all));
    },
    terms: (query) => {
      const all = words(query).filter(keep);
      const forms = formsIn(all);
      const selecting = all.filter(({ text }) => stopWordsSelect || !isStopWord(text));
      return [...new Map(selecting.map((word) => [word.text, forms(word)])).values()];
    },
  };
}

const unsplit = (text: string): Word[] =>
  tokensOf(text).map((token) => ({ text: token.text.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]/gu, ""), isWhole: false }));
const isHan = /^\p{sc=Han}$/u;
const noCharacters = (text: string) => {
  const words = wordsOf(text);
  const dense = new Set(
    tokensOf(text)
      .filter((token) => token.isDense)
      .map((token) => token.text),
  );
  return words.filter((word) => !isHan.test(word.text) || dense.has(word.text));
};
const firstOnly = (query: string) =>
  queryTerms(query)
    .filter((term) => term.selects)
    .flatMap((term) => term.forms.map((form) => [form]));

const RECIPES: readonly Recipe[] = [
  { name: "all of lexical.ts" },
  without("without English stems", { english: false }),
  without("without Spanish stems", { spanish: false }),
  without("without any stem", { english: false, spanish: false }),
  without("without accent twins", { twins: false }),
  without("without splitting identifiers", { words: unsplit }),
  without("without wholes beside parts", { keep: (word) => !word.isWhole || /\p{sc=Han}/u.test(word.text) }),
  without("without Chinese characters", { words: noCharacters }),
  without("stop words select too", { stopWordsSelect: true }),
  { name: "forms added up, not best of", terms: firstOnly },
  { name: "content alone", text: ({ content }) => content },
  { name: "name: content", text: ({ entity, content }) => `${entity}: ${content}` },
  without("plain words (none of these)", {
    english: false,
    spanish: false,
    twins: false,
    words: (text) => unsplit(text),
    stopWordsSelect: true,
  }),
];

interface Index {
  readonly postings: ReadonlyMap<string, readonly Posting[]>;
  readonly rows: number;
  readonly averageLength: number;
}

function indexOf(corpus: readonly Memory[], text: (memory: Memory) => string, lexemes: (text: string) => string[]): Index {
  const postings = new Map<string, Posting[]>();
  let total = 0;
  for (const memory of corpus) {
    const found = lexemes(text(memory));
    total += found.length;
    const counts = new Map<string, number>();
    for (const lexeme of found) counts.set(lexeme, (counts.get(lexeme) ?? 0) + 1);
    for (const [lexeme, count] of counts) {
      const list = postings.get(lexeme) ?? [];
      list.push({ id: memory.id, count, length: found.length });
      postings.set(lexeme, list);
    }
  }
  return { postings, rows: corpus.length, averageLength: total / corpus.length };
}

const termsIn = ({ postings, rows }: Index, terms: readonly (readonly string[])[]): ScoredTerm[] =>
  terms.map((forms) =>
    forms.map((form) => {
      const found = postings.get(form) ?? [];
      return { idf: inverseDocumentFrequency(rows, found.length), postings: found };
    }),
  );

const selecting = (query: string) =>
  queryTerms(query)
    .filter((term) => term.selects)
    .map((term) => term.forms);

const sets = evalSets();

/** Score of every question, set by set. */
function run({ text = nameTypeContent, lexemes = lexemesOf, terms = selecting }: Recipe, form: NdcgForm): number[][] {
  return sets.map(({ parts }) =>
    parts.flatMap(({ corpus, questions }) => {
      const index = indexOf(corpus, text, lexemes);
      return questions.map(({ query, relevant_ids }) => {
        const { hits } = topByMaxScore(termsIn(index, terms(query)), index.averageLength, K);
        return ndcg(
          hits.map((hit) => hit.id),
          new Set(relevant_ids),
          K,
          form,
        );
      });
    }),
  );
}

const short = (value: number) => value.toFixed(3).replace(/^0/, "");

console.log(
  `machine: ${cpus()[0]?.model ?? "?"} × ${cpus().length}; load ${loadavg()[0]?.toFixed(1)}; bun ${Bun.version}; corpus: data/eval, ${sets.length} sets`,
);
for (const form of ["common", "original"] as const) {
  console.log(`\nBM25 alone, nDCG@${K}, ${form === "common" ? "÷ log2(p + 1)" : "first position undiscounted"}`);
  console.log("".padEnd(32), ...sets.map(({ name }) => name.padStart(8)));
  let base: number[][] | undefined;
  for (const recipe of RECIPES) {
    const scores = run(recipe, form);
    base ??= scores;
    const cells = scores.map((each, at) => {
      const compared = comparePaired(base?.[at] ?? [], each);
      return `${short(mean(each))}${compared.touchesZero ? " " : "*"}`.padStart(8);
    });
    console.log(recipe.name.padEnd(32), ...cells);
  }
}

console.log("\npruning: rows scored (MaxScore) of rows that match, and whether the first ten are the same");
for (const { name, parts } of sets) {
  let scored = 0;
  let matching = 0;
  let same = true;
  for (const { corpus, questions } of parts) {
    const index = indexOf(corpus, nameTypeContent, lexemesOf);
    for (const { query } of questions) {
      const terms = termsIn(index, selecting(query));
      const pruned = topByMaxScore(terms, index.averageLength, K);
      scored += pruned.candidates;
      matching += new Set(terms.flatMap((term) => term.flatMap((each) => each.postings.map((posting) => posting.id)))).size;
      same &&= JSON.stringify(pruned.hits) === JSON.stringify(topByFullScore(terms, index.averageLength, K));
    }
  }
  console.log(name.padEnd(8), `${((100 * scored) / matching).toFixed(0)} %`.padStart(6), same ? "same" : "DIFFERENT");
}

const sample = sets.flatMap(({ name, parts }) =>
  parts.slice(0, 1).map(({ corpus }) => ({ name, texts: corpus.slice(0, 500).map(nameTypeContent) })),
);
console.log("\nprocessor time to prepare, warm, per 100 words of text");
for (const { name, texts } of sample) {
  const words = texts.reduce((sum, text) => sum + tokensOf(text).length, 0);
  for (const text of texts) lexemesOf(text);
  const start = process.cpuUsage();
  for (const text of texts) lexemesOf(text);
  const spent = process.cpuUsage(start);
  console.log(name.padEnd(8), `${(((spent.user + spent.system) / words) * 100).toFixed(0)} µs`);
}
