import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  fullMatchScore,
  inverseDocumentFrequency,
  type Posting,
  pruningOrder,
  type ScoredTerm,
  termBound,
  termScore,
  topByFullScore,
  topByMaxScore,
} from "../../../src/domain/retrieval/bm25.ts";

const term = (rows: number, ...forms: (readonly Posting[])[]): ScoredTerm =>
  forms.map((postings) => ({ idf: inverseDocumentFrequency(rows, postings.length), postings }));

describe("BM25", () => {
  test("N 10, df 2, tf 3, len 20, avg 10 → 1.9174", () => {
    expect(termScore(inverseDocumentFrequency(10, 2), 3, 20, 10)).toBeCloseTo(1.9174, 4);
  });

  test("a rare word outweighs a frequent one", () => {
    expect(inverseDocumentFrequency(100, 1)).toBeGreaterThan(inverseDocumentFrequency(100, 50));
    expect(inverseDocumentFrequency(10, 10)).toBeGreaterThan(0);
  });

  test("of two rows with the same word the shorter one comes first, of two alike the lower id", () => {
    const word = term(3, [
      { id: "long", count: 1, length: 30 },
      { id: "b", count: 1, length: 5 },
      { id: "a", count: 1, length: 5 },
    ]);
    expect(topByFullScore([word], 13, 10).map((hit) => hit.id)).toEqual(["a", "b", "long"]);
  });

  test("a row is paid once for a word, by its best form", () => {
    const row = { id: "a", count: 1, length: 10 };
    const once = topByFullScore([term(10, [row])], 10, 1)[0]?.score ?? 0;
    const twice = topByFullScore([term(10, [row], [row, { id: "b", count: 1, length: 10 }])], 10, 1)[0]?.score ?? 0;
    expect(twice).toBe(once);
  });

  test("a term never reaches its bound", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: 1, max: 500 }),
        fc.double({ min: 0.1, max: 500, noNaN: true }),
        (count, length, avg) => {
          expect(termScore(2, count, Math.max(count, length), avg)).toBeLessThan(termBound(2));
        },
      ),
    );
  });
});

test("coverage is measured against a row with every word once", () => {
  const known = term(10, [{ id: "a", count: 1, length: 10 }]);
  const best = topByFullScore([known], 10, 1)[0]?.score ?? 0;
  expect(best / fullMatchScore([known], 10)).toBeCloseTo(1, 12);
  expect(best / fullMatchScore([known, term(10, [])], 10)).toBeLessThan(0.5);
  expect(fullMatchScore([], 10)).toBe(0);
});

describe("pruning", () => {
  const ids = fc.constantFrom(..."abcdefghijklmnopqrst");
  const postings = fc
    .uniqueArray(fc.record({ id: ids, count: fc.integer({ min: 1, max: 4 }) }), { selector: (posting) => posting.id, maxLength: 20 })
    .map((list) => list.map(({ id, count }): Posting => ({ id, count, length: 4 + (id.charCodeAt(0) % 7) })));
  const terms = fc.array(fc.array(postings, { minLength: 1, maxLength: 3 }), { maxLength: 6 });

  test("gives the same first rows as scoring everything, bit for bit", () => {
    fc.assert(
      fc.property(terms, fc.integer({ min: 1, max: 10 }), (forms, limit) => {
        const question = forms.map((each) => term(20, ...each));
        expect(topByMaxScore(question, 7, limit).hits).toEqual(topByFullScore(question, 7, limit));
      }),
      { numRuns: 2000 },
    );
  });

  test("leaves rows out that only a frequent word finds", () => {
    const rows = 1000;
    const frequent = Array.from({ length: 900 }, (_, at): Posting => ({ id: `f${at}`, count: 1, length: 10 }));
    const rare = Array.from({ length: 12 }, (_, at): Posting => ({ id: `f${at}`, count: 1, length: 10 }));
    const { hits, candidates } = topByMaxScore([term(rows, frequent), term(rows, rare)], 10, 10);
    expect(candidates).toBe(12);
    expect(hits).toHaveLength(10);
    expect(pruningOrder([term(rows, frequent), term(rows, rare)])[0]?.term[0]?.postings).toBe(rare);
  });
});
