import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Arm, armNames, type FusedRow, fuse, fuseByRanks, fuseByScores, fusionModes } from "../../../src/domain/retrieval/fusion.ts";
import { routerWeights } from "../../../src/domain/retrieval/query-analysis.ts";

const list = (...scores: [string, number][]) => scores.map(([id, score]) => ({ id, score }));
const ids = (rows: readonly FusedRow[]) => rows.map((row) => row.id);
/** Rows without a vector whose words nobody looked at. */
const none = (...rows: string[]) => new Map(rows.map((id) => [id, 0]));
const equal = { text: 1, vector: 1, bm25: 1 };

const hits = fc
  .uniqueArray(fc.record({ id: fc.constantFrom(..."abcdefgh"), score: fc.integer({ min: 0, max: 400 }).map((step) => step / 20) }), {
    selector: (hit) => hit.id,
  })
  .map((found) => found.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1)));
const share = fc.double({ min: 0, max: 1, noNaN: true });
const arm: fc.Arbitrary<Arm> = fc.record({
  name: fc.constantFrom(...armNames),
  hits,
  coverage: fc.double({ min: 0, max: 1, noNaN: true }),
  beyond: fc.option(
    fc.record({ ids: fc.subarray([..."abcdefgh"]).map((ids) => new Set(ids)), coverage: fc.double({ min: 0, max: 1, noNaN: true }) }),
    { nil: undefined },
  ),
  unmeasured: fc.uniqueArray(fc.tuple(fc.constantFrom(..."abcdefgh"), share), { selector: ([id]) => id }).map((rows) => new Map(rows)),
});
const arms = fc.uniqueArray(arm, { selector: (each) => each.name, maxLength: 4 });

describe("reciprocal rank fusion", () => {
  test("first in one list of weight 1 → 1/61", () => {
    expect(fuseByRanks([{ name: "vector", hits: list(["a", 0.9]) }], equal)[0]?.fusedScore).toBe(1 / 61);
  });

  test("first in three lists with eight different words → 0.02379", () => {
    const first = list(["a", 1], ["b", 0.5]);
    const found = fuseByRanks(
      ["text" as const, "vector" as const, "bm25" as const].map((name) => ({ name, hits: first })),
      routerWeights(3),
    );
    expect(found[0]?.fusedScore).toBeCloseTo(0.02379, 5);
    expect(found[0]?.shares.vector).toBeCloseTo(0.549 / 61, 6);
  });

  test("equal totals: the lower id first", () => {
    const found = fuseByRanks(
      [
        { name: "text", hits: list(["b", 1]) },
        { name: "vector", hits: list(["a", 1]) },
      ],
      equal,
    );
    expect(ids(found)).toEqual(["a", "b"]);
  });
});

describe("fusion of scores", () => {
  const vector: Arm = { name: "vector", hits: list(["v1", 0.9], ["v2", 0.86], ["v3", 0.84], ["v4", 0.83]) };

  test("a question whose words the corpus lacks costs the vector arm nothing", () => {
    const words: Arm = { name: "bm25", hits: list(["w1", 1.2], ["v4", 0.3]), coverage: 0.003 };
    expect(ids(fuseByScores([vector, words])).slice(0, 3)).toEqual(["v1", "v2", "v3"]);
  });

  test("a row that both arms rank high passes a row that one ranks first", () => {
    const words: Arm = { name: "bm25", hits: list(["v2", 9], ["x", 8.5], ["v1", 1]), coverage: 0.8 };
    expect(ids(fuseByScores([vector, words]))[0]).toBe("v2");
  });

  test("a row that has no vector yet is heard by its words in place of its meaning, and never above a row that is first in both", () => {
    const words: Arm = { name: "bm25", hits: list(["v1", 9], ["fresh", 8.9], ["v2", 8.5]), coverage: 0.8 };
    expect(ids(fuseByScores([vector, words]))).toEqual(["v1", "v2", "fresh", "v3", "v4"]);
    const found = fuseByScores([{ ...vector, unmeasured: none("fresh", "v4", "elsewhere") }, words]);
    expect(ids(found)).toEqual(["v1", "fresh", "v2", "v3", "v4"]);
    expect(found[1]?.fusedScore).toBeCloseTo(0.989, 6);
    expect(found[1]?.shares.vector).toBe(0);
    // Words that cover next to nothing stand in for next to nothing.
    const faint = { ...words, coverage: 0.003 };
    expect(ids(fuseByScores([{ ...vector, unmeasured: none("fresh") }, faint]))[0]).toBe("v1");
    // A long row has all words of the question, and BM25 makes little of each.
    const long = { ...words, hits: list(["fresh", 0.3]), coverage: 0.025 };
    expect(ids(fuseByScores([{ ...vector, unmeasured: none("fresh") }, long]))[0]).toBe("v1");
    expect(ids(fuseByScores([{ ...vector, unmeasured: new Map([["fresh", 1]]) }, long]))[0]).toBe("fresh");
    expect(fuseByScores([{ ...vector, unmeasured: none() }, words])).toEqual(fuseByScores([vector, words]));
  });

  test("a long row whose beginning was measured keeps what is more: its meaning or its words", () => {
    const words: Arm = { name: "bm25", hits: list(["v3", 9], ["v1", 2]), coverage: 0.8 };
    const of = (unmeasured: ReadonlyMap<string, number>) => fuseByScores([{ ...vector, unmeasured }, words]);
    expect(ids(of(none()))[0]).toBe("v1");
    expect(ids(of(none("v3")))[0]).toBe("v3");
    const first = of(none()).find(({ id }) => id === "v1")?.fusedScore;
    expect(of(none("v1")).find(({ id }) => id === "v1")?.fusedScore).toBe(first);
  });

  test("one arm alone keeps its order to the last row, whatever its coverage", () => {
    fc.assert(
      fc.property(arm, (alone) => {
        expect(ids(fuseByScores([alone, { name: "vector", hits: [] }]))).toEqual(alone.hits.map((hit) => hit.id));
      }),
    );
  });

  test("first in every arm → 1, and nothing exceeds it", () => {
    const first = list(["a", 3], ["b", 1]);
    for (const beyond of [undefined, { ids: new Set("a"), coverage: 0.4 }]) {
      const everywhere = armNames.map((name): Arm => ({ name, hits: first, coverage: 1, beyond }));
      expect(fuseByScores(everywhere)[0]?.fusedScore).toBeCloseTo(1, 12);
    }
    fc.assert(fc.property(arms, (given) => fuseByScores(given).every((row) => row.fusedScore >= 0 && row.fusedScore <= 1 + 1e-9)));
  });
});

describe("the text arm beside BM25", () => {
  const bm25: Arm = { name: "bm25", hits: list(["a", 10], ["b", 8], ["c", 4]), coverage: 0.6 };

  test("rows that both list by the same words keep the order of BM25, near-equals aside", () => {
    const both = hits.chain((found) =>
      fc.tuple(
        fc.constant(found),
        fc.shuffledSubarray(found).map((rows) => rows.map(({ id }, at) => ({ id, score: 1 / (1 + at) }))),
      ),
    );
    fc.assert(
      fc.property(both, ([found, beside]) => {
        const best = found[0]?.score ?? 0;
        const scoreOf = new Map(found.map(({ id, score }) => [id, best > 0 ? score / best : 1]));
        const arms: Arm[] = [
          { name: "bm25", hits: found, coverage: 1 },
          { name: "text", hits: beside, coverage: 1 },
        ];
        const order = ids(fuseByScores(arms)).map((id) => scoreOf.get(id) ?? 0);
        // No row passes one that BM25 gives a hundredth of the scale more.
        for (const [at, score] of order.entries()) expect(Math.max(0, ...order.slice(at + 1)) - score).toBeLessThan(0.0103);
      }),
    );
  });

  test("of two rows that BM25 calls equal, the one that the text arm prefers comes first", () => {
    const equals: Arm = { name: "bm25", hits: list(["a", 5], ["b", 5]), coverage: 1 };
    expect(ids(fuseByScores([equals, { name: "text", hits: list(["b", 0.6], ["a", 0.4]), coverage: 1 }]))).toEqual(["b", "a"]);
  });

  test("what near spellings found speaks as loud as they cover the question beside the words", () => {
    const shareOf = (coverage: number) => {
      const text: Arm = { name: "text", hits: list(["x", 0.7], ["a", 0.3]), coverage: 0.6, beyond: { ids: new Set("x"), coverage } };
      return fuseByScores([bm25, text]).find(({ id }) => id === "x")?.shares.text ?? 0;
    };
    // .01 whispered, .99 · spelt ÷ (spelt + .6) beside it.
    expect(shareOf(0.6)).toBeCloseTo(0.505, 12);
    expect(shareOf(0.2)).toBeCloseTo(0.2575, 12);
    expect(shareOf(0)).toBeCloseTo(0.109, 12);
  });

  test("an episode, which BM25 cannot see, keeps a tenth of the voice; a row that its list is too short for only whispers", () => {
    const beyond = { ids: new Set(["episode"]), coverage: 0 };
    const text: Arm = { name: "text", hits: list(["episode", 1], ["late", 1], ["a", 1], ["b", 0.5]), coverage: 0.6, beyond };
    const found = fuseByScores([bm25, text]);
    expect(found.find(({ id }) => id === "episode")?.shares.text).toBeCloseTo(0.109, 12);
    expect(ids(found)).toEqual(["a", "b", "c", "episode", "late"]);
  });

  test("without BM25 it has the whole voice", () => {
    const text: Arm = { name: "text", hits: list(["a", 1], ["b", 0]), coverage: 0, beyond: { ids: new Set("b"), coverage: 1 } };
    expect(fuseByScores([text, { name: "bm25", hits: [] }]).map(({ id, shares }) => [id, shares.text])).toEqual([
      ["a", 1],
      ["b", 0.01],
    ]);
  });
});

describe.each([...fusionModes])("whatever the mode: %s", (mode) => {
  const run = (given: readonly Arm[]) => fuse(mode, given, routerWeights(2));

  test("shares add up to the score, every found row is there once, the order is total", () => {
    fc.assert(
      fc.property(arms, (given) => {
        const rows = run(given);
        const found = new Set(given.flatMap((each) => each.hits.map((hit) => hit.id)));
        expect(new Set(ids(rows))).toEqual(found);
        expect(rows).toHaveLength(found.size);
        for (const { fusedScore, shares } of rows) expect(armNames.reduce((sum, name) => sum + shares[name], 0)).toBe(fusedScore);
        for (const [at, row] of rows.entries()) {
          const next = rows[at + 1];
          if (next !== undefined)
            expect(row.fusedScore > next.fusedScore || (row.fusedScore === next.fusedScore && row.id < next.id)).toBe(true);
        }
      }),
    );
  });

  test("the order of the arms does not matter", () => {
    fc.assert(fc.property(arms, (given) => expect(ids(run([...given].reverse()))).toEqual(ids(run(given)))));
  });

  test("an empty arm changes nothing", () => {
    fc.assert(
      fc.property(arms, (given) => {
        const missing = armNames.filter((name) => !given.some((each) => each.name === name)).map((name): Arm => ({ name, hits: [] }));
        expect(run([...given, ...missing])).toEqual(run(given));
      }),
    );
  });
});
