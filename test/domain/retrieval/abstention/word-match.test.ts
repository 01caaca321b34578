import { expect, test } from "bun:test";
import fc from "fast-check";
import { type TokenSpace, type TokenVectors, tokenSpace, wordMatch } from "../../../../src/domain/retrieval/abstention/word-match.ts";

/** Nothing in common to take away. */
const bare: TokenSpace = { mean: new Float32Array(4), axes: [] };

/** Tokens with a direction each. */
const tokens = (...given: readonly (readonly [string, readonly number[]])[]): TokenVectors => ({
  pieces: given.map(([piece]) => piece),
  vectors: Float32Array.from(given.flatMap(([, vector]) => [...vector])),
});
const [north, east, up, away] = [
  [1, 0, 0, 0],
  [0, 1, 0, 0],
  [0, 0, 1, 0],
  [0, 0, 0, 1],
] as const;
/** Unit length, cosine .25 with north. */
const quarter = [0.25, Math.sqrt(1 - 0.25 ** 2), 0, 0];
const equal = ["port", "api"].map((form) => ({ forms: [form], weight: 2 }));

test("the harmonic mean of what each word finds: one word without a counterpart shows", () => {
  const question = tokens([" port", north], [" api", up]);
  expect(wordMatch(question, tokens([" x", north], [" y", up]), equal, bare)).toBeCloseTo(1, 6);
  expect(wordMatch(question, tokens([" x", quarter], [" y", up]), equal, bare)).toBeCloseTo(0.4, 6);
  // At right angles counts as .15: 2 ÷ (1 ÷ .15 + 1).
  expect(wordMatch(question, tokens([" y", up]), equal, bare)).toBeCloseTo(0.26087, 5);
  expect(wordMatch(question, tokens([" z", away]), equal, bare)).toBeCloseTo(0.15, 6);
});

test("rare words weigh more, and words that select nothing an eighth of the heaviest", () => {
  const row = tokens([" x", north]);
  const weighed = (port: number) =>
    wordMatch(
      tokens([" port", north], [" api", up]),
      row,
      [
        { forms: ["port"], weight: port },
        { forms: ["api"], weight: 1 },
      ],
      bare,
    );
  // 4 ÷ (3 ÷ 1 + 1 ÷ .15)
  expect(weighed(3)).toBeCloseTo(0.41379, 5);
  expect(weighed(1)).toBeLessThan(weighed(3));
  // 1.125 ÷ (1 ÷ 1 + .125 ÷ .15)
  expect(wordMatch(tokens([" which", up], [" port", north]), row, [{ forms: ["port"], weight: 1 }], bare)).toBeCloseTo(0.61364, 5);
});

test("a word of several tokens counts once, with the mean of what they find; a dense script's tokens stand alone", () => {
  const row = tokens([" x", north]);
  const word = [{ forms: ["booking"], weight: 1 }];
  expect(wordMatch(tokens([" book", north], ["ing", quarter]), row, word, bare)).toBeCloseTo(0.625, 6);
  // 2 ÷ (1 + 4)
  expect(wordMatch(tokens([" 端", north], ["口", quarter]), row, [{ forms: ["端口"], weight: 1 }], bare)).toBeCloseTo(0.4, 6);
  // A hyphen parts two words.
  expect(wordMatch(tokens([" book", north], ["-", away], ["ing", quarter]), row, [], bare)).toBeCloseTo(0.4, 6);
});

test("a word inside another is not meant, and capitals make no difference", () => {
  const row = tokens([" x", north]);
  const art = [{ forms: ["art"], weight: 8 }];
  // Neither has the weight of `art`, so both have the same: 2 ÷ (1 + 4).
  expect(wordMatch(tokens([" start", north], [" here", quarter]), row, art, bare)).toBeCloseTo(0.4, 6);
  // 9 ÷ (8 + 1 ÷ .25)
  expect(wordMatch(tokens([" ART", north], [" here", quarter]), row, art, bare)).toBeCloseTo(0.75, 6);
});

test("a question without a word and a row without a token match nothing", () => {
  expect(wordMatch(tokens([" ?", north]), tokens([" x", north]), [], bare)).toBe(0);
  expect(wordMatch(tokens([" port", north]), tokens(), equal, bare)).toBe(0);
});

test("what all tokens have in common is taken away: with it any two words look alike", () => {
  const common = [6, 0, 0, 0];
  const along = (vector: readonly number[]) => vector.map((value, k) => value + (common[k] ?? 0));
  const texts = [north, east, up, away]
    .flatMap((vector) => [vector, vector.map((value) => -value)])
    .map((vector) => tokens([" w", along(vector)]));
  const space = tokenSpace(texts);
  if (space === undefined) throw new Error("no space");
  expect(space.mean[0]).toBeCloseTo(0.99, 2);
  expect(space.axes).toHaveLength(2);
  const [first = new Float32Array(), second = new Float32Array()] = space.axes;
  const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, k) => sum + value * (b[k] ?? 0), 0);
  expect(dot(first, first)).toBeCloseTo(1, 5);
  expect(dot(first, second)).toBeCloseTo(0, 5);
  const [question, other] = [tokens([" port", along(east)]), tokens([" x", along(up)])];
  expect(wordMatch(question, other, equal, bare)).toBeGreaterThan(0.9);
  expect(wordMatch(question, other, equal, { mean: space.mean, axes: [] })).toBeCloseTo(0.15, 2);
});

test("the main directions are those in which tokens spread most", () => {
  const spread = (k: number, size: number) =>
    [size, -size].map((value) => tokens([" w", Array.from({ length: 4 }, (_, at) => (at === k ? value : 0.2))]));
  const space = tokenSpace([...spread(1, 1), ...spread(1, 1), ...spread(3, 1), ...spread(2, 0.1)]);
  const largest = (space?.axes ?? []).map((axis) =>
    axis.reduce((best, value, k) => (Math.abs(value) > Math.abs(axis[best] ?? 0) ? k : best), 0),
  );
  expect(largest).toEqual([1, 3]);
  expect(tokenSpace([])).toBeUndefined();
  expect(tokenSpace([tokens([" w", north])])).toBeUndefined();
});

test("a match lies between the least one and 1, and a further token of the row never lowers it", () => {
  const vector = fc
    .array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 4, maxLength: 4 })
    .filter((each) => each.some((value) => Math.abs(value) > 0.01));
  const text = fc.array(fc.tuple(fc.constantFrom(" port", " api", "s", " 端", "-"), vector), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(text, text, vector, (asked, held, more) => {
      const question = tokens(...asked, [" port", north]);
      const match = wordMatch(question, tokens(...held), equal, bare);
      expect(match).toBeGreaterThanOrEqual(0.15 - 1e-6);
      expect(match).toBeLessThanOrEqual(1 + 1e-6);
      expect(wordMatch(question, tokens(...held, [" more", more]), equal, bare)).toBeGreaterThanOrEqual(match - 1e-6);
    }),
  );
});
