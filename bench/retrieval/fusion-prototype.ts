/**
 * Does fusion beat the better of its arms? Real multilingual-e5-small vectors (computed once, kept in the temporary folder) and BM25 over the
 * prepared words, lists 100 deep, on the development sets. `+` / `-`: paired 95 % interval above / below the better single arm of that set.
 */
import { cpus, loadavg } from "node:os";
import { lexemesOf, queryTerms } from "../../src/domain/lexical.ts";
import { fullMatchScore, inverseDocumentFrequency, type Posting, type ScoredTerm, topByMaxScore } from "../../src/domain/retrieval/bm25.ts";
import { type Arm, FUSION_DEPTH, fuseByRanks, fuseByScores } from "../../src/domain/retrieval/fusion.ts";
import { byScoreThenId, type Hit } from "../../src/domain/retrieval/hits.ts";
import { mean, type NdcgForm, ndcg } from "../../src/domain/retrieval/metrics.ts";
import { queryEntropy, routerWeights } from "../../src/domain/retrieval/query-analysis.ts";
import { comparePaired } from "../../src/domain/retrieval/statistics.ts";
import { trigramSimilarity } from "../../src/domain/trigrams.ts";
import { evalSets, type Memory } from "./eval-sets.ts";
import { dot, vectorsOf } from "./vectors.ts";

const K = 10;
const textOf = ({ entity, content }: Memory) => `${entity} (concept): ${content}`;

/** A question with the lists of its arms. */
interface Asked {
  readonly query: string;
  readonly relevant: ReadonlySet<string>;
  readonly bm25: Arm;
  readonly vector: Arm;
  readonly text: Arm;
}

const sets = evalSets();
const parts = sets.flatMap((set) => set.parts);
const vectors = await vectorsOf(
  parts.flatMap((part) => part.questions.map((question) => question.query)),
  parts.flatMap((part) => part.corpus.map(textOf)),
);

function indexOf(corpus: readonly Memory[]) {
  const postings = new Map<string, Posting[]>();
  let total = 0;
  for (const memory of corpus) {
    const lexemes = lexemesOf(textOf(memory));
    total += lexemes.length;
    const counts = new Map<string, number>();
    for (const lexeme of lexemes) counts.set(lexeme, (counts.get(lexeme) ?? 0) + 1);
    for (const [lexeme, count] of counts)
      postings.set(lexeme, [...(postings.get(lexeme) ?? []), { id: memory.id, count, length: lexemes.length }]);
  }
  return { postings, averageLength: total / corpus.length };
}

const best = (hits: readonly Hit[]) => [...hits].sort(byScoreThenId).slice(0, FUSION_DEPTH);

/** The text arm of the product as far as it can be had without a database: trigram similarity of rows that share a lexeme, plus a share of the words found. */
function textHits(corpus: readonly Memory[], terms: readonly ScoredTerm[], query: string): Hit[] {
  const found = new Map<string, number>();
  for (const term of terms)
    for (const id of new Set(term.flatMap((form) => form.postings.map((posting) => posting.id)))) found.set(id, (found.get(id) ?? 0) + 1);
  const hits = corpus.flatMap(({ id, content }) => {
    const words = found.get(id);
    return words === undefined ? [] : [{ id, score: 0.7 * ((0.06 * words) / terms.length + trigramSimilarity(content, query)) + 0.18 }];
  });
  return best(hits);
}

const asked: readonly (readonly Asked[])[] = sets.map((set) =>
  set.parts.flatMap(({ corpus, questions }) => {
    const { postings, averageLength } = indexOf(corpus);
    const passages = corpus.map((memory) => ({ id: memory.id, vector: vectors.passage(textOf(memory)) }));
    return questions.map(({ query, relevant_ids }) => {
      const terms: ScoredTerm[] = queryTerms(query)
        .filter((term) => term.selects)
        .map(({ forms }) =>
          forms.map((form) => {
            const found = postings.get(form) ?? [];
            return { idf: inverseDocumentFrequency(corpus.length, found.length), postings: found };
          }),
        );
      const words = topByMaxScore(terms, averageLength, FUSION_DEPTH).hits;
      const full = fullMatchScore(terms, corpus.length);
      const coverage = full > 0 ? Math.min((words[0]?.score ?? 0) / full, 1) : 0;
      const question = vectors.query(query);
      return {
        query,
        relevant: new Set(relevant_ids),
        bm25: { name: "bm25", hits: words, coverage },
        vector: { name: "vector", hits: best(passages.map(({ id, vector }) => ({ id, score: dot(question, vector) }))) },
        text: { name: "text", hits: textHits(corpus, terms, query), coverage },
      };
    });
  }),
);

const variants: readonly (readonly [string, (question: Asked) => readonly { readonly id: string }[]])[] = [
  ["BM25 alone", ({ bm25 }) => bm25.hits],
  ["vector alone", ({ vector }) => vector.hits],
  ["text alone", ({ text }) => text.hits],
  ["scores: vector, BM25", ({ vector, bm25 }) => fuseByScores([vector, bm25])],
  ["scores: vector, BM25, text", ({ vector, bm25, text }) => fuseByScores([text, vector, bm25])],
  ["scores: BM25, text (no model)", ({ bm25, text }) => fuseByScores([text, bm25])],
  ["rrf, equal: vector, BM25", ({ vector, bm25 }) => fuseByRanks([vector, bm25], { text: 1, vector: 1, bm25: 1 })],
  ["rrf, router: vector, BM25", ({ query, vector, bm25 }) => fuseByRanks([vector, bm25], routerWeights(queryEntropy(query)))],
  ["rrf, router: all three", ({ query, vector, bm25, text }) => fuseByRanks([text, vector, bm25], routerWeights(queryEntropy(query)))],
];

console.log(
  `machine: ${cpus()[0]?.model ?? "?"} × ${cpus().length}; load ${loadavg()[0]?.toFixed(1)}; bun ${Bun.version}; multilingual-e5-small; lists ${FUSION_DEPTH} deep`,
);
for (const form of ["common", "original"] as const) report(form);

function report(form: NdcgForm): void {
  console.log(`\nnDCG@${K}, ${form === "common" ? "÷ log2(p + 1)" : "first position undiscounted"}`);
  console.log("".padEnd(32), ...sets.map(({ name }) => name.padStart(8)));
  const arms: number[][][] = [];
  for (const [name, rank] of variants) {
    const scores = asked.map((questions) =>
      questions.map((each) =>
        ndcg(
          rank(each).map((row) => row.id),
          each.relevant,
          K,
          form,
        ),
      ),
    );
    if (arms.length < 2) arms.push(scores);
    const cells = scores.map((each, at) => {
      const single = [...arms].map((arm) => arm[at] ?? []).sort((a, b) => mean(b) - mean(a))[0] ?? [];
      const { interval } = comparePaired(single, each);
      const mark = interval.low > 0 ? "+" : interval.high < 0 ? "-" : " ";
      return `${mean(each).toFixed(3).replace(/^0/, "")}${mark}`.padStart(8);
    });
    console.log(name.padEnd(32), ...cells);
  }
}
