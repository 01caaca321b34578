import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  inverseDocumentFrequency,
  type Posting,
  SCORE_UNITS,
  type ScoredTerm,
  termBound,
  topByFullScore,
} from "../../../src/domain/retrieval/bm25.ts";
import { createTally, lengthNorm, type PackedPostings } from "../../../src/domain/retrieval/tally.ts";

const idOf = (row: number) => `00000000-0000-4000-8000-${row.toString(16).padStart(12, "0")}`;

/** As the database packs them. */
function pack(postings: readonly Posting[]): PackedPostings {
  const counts = Buffer.alloc(postings.length * 2);
  const lengths = Buffer.alloc(postings.length * 4);
  for (const [at, { count, length }] of postings.entries()) {
    counts.writeInt16BE(count, at * 2);
    lengths.writeInt32BE(length, at * 4);
  }
  return { ids: Buffer.from(postings.map(({ id }) => id.replaceAll("-", "")).join(""), "hex"), counts, lengths };
}

function tallied(terms: readonly ScoredTerm[], averageLength: number, limit: number) {
  const capacity = terms.flat().reduce((sum, { postings }) => sum + postings.length, 0);
  const tally = createTally(capacity, lengthNorm(averageLength));
  for (const term of terms) tally.add(term.map(({ idf, postings }) => ({ postings: pack(postings), weight: termBound(idf) })));
  return tally.best(limit);
}

const ROWS = 40;
/** Lengths belong to a row, counts to a form in it. */
const lengthOf = (row: number) => 1 + ((row * 7919) % 70_000);
const form = fc
  .uniqueArray(fc.tuple(fc.integer({ min: 0, max: ROWS - 1 }), fc.integer({ min: 1, max: 32_767 })), {
    selector: ([row]) => row,
    maxLength: ROWS,
  })
  .map((rows) => ({
    idf: inverseDocumentFrequency(ROWS, rows.length),
    postings: rows.map(([row, count]): Posting => ({ id: idOf(row), count, length: lengthOf(row) })),
  }));
const terms = fc.array(fc.array(form, { minLength: 1, maxLength: 3 }), { maxLength: 5 });

describe("adding postings up", () => {
  test("gives each row what the definition gives it, and every row that ties for the last place", () => {
    fc.assert(
      fc.property(terms, fc.integer({ min: 1, max: 50 }), (words, limit) => {
        const is = tallied(words, 20_000, limit);
        const should = topByFullScore(words, 20_000, ROWS);
        const scores = new Map(should.map(({ id, score }) => [id, score]));
        for (const { id, score } of is) expect(Math.abs(score / SCORE_UNITS - (scores.get(id) ?? 0))).toBeLessThan(1e-6);
        const [edge] = is.map(({ score }) => score).sort((a, b) => a - b);
        expect(is.length).toBeGreaterThanOrEqual(Math.min(limit, should.length));
        const all = tallied(words, 20_000, ROWS);
        expect(is.map(({ id }) => id).sort()).toEqual(
          all
            .filter(({ score }) => score >= (edge ?? 0))
            .map(({ id }) => id)
            .sort(),
        );
      }),
      { numRuns: 200 },
    );
  });

  test("a form and its stem in the same rows count once, one that stands more often counts as the stem", () => {
    const row = { id: idOf(1), count: 1, length: 10 };
    const [once] = tallied([[{ idf: 1, postings: [row] }]], 10, 1);
    const [twin] = tallied(
      [
        [
          { idf: 1, postings: [row] },
          { idf: 1, postings: [row] },
        ],
      ],
      10,
      1,
    );
    const [more] = tallied(
      [
        [
          { idf: 1, postings: [row] },
          { idf: 1, postings: [{ ...row, count: 2 }] },
        ],
      ],
      10,
      1,
    );
    expect(once?.score).toBe(SCORE_UNITS); // tf 1, average length: idf · 2.2 ÷ 2.2
    expect(twin).toEqual(once);
    expect(more?.score).toBe(46_137_344); // 2^25 · 4.4 ÷ 3.2
  });

  test("halves go to the even number, as the database casts", () => {
    const scoreOf = (units: number) => {
      const tally = createTally(1, { base: 0, perWord: 0 });
      tally.add([{ postings: pack([{ id: idOf(1), count: 1, length: 1 }]), weight: units / SCORE_UNITS }]);
      return tally.best(1)[0]?.score;
    };
    expect([scoreOf(2.5), scoreOf(3.5), scoreOf(4.4), scoreOf(4.6)]).toEqual([2, 4, 4, 5]);
  });

  test("ids come back as they are written, from bytes at any place", () => {
    const id = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
    const packed = pack([{ id, count: 1, length: 1 }]);
    const shifted = new Uint8Array(17);
    shifted.set(packed.ids, 1);
    const tally = createTally(1, lengthNorm(1));
    tally.add([{ postings: { ...packed, ids: shifted.subarray(1) }, weight: 1 }]);
    expect(tally.best(1).map((hit) => hit.id)).toEqual([id]);
  });
});
