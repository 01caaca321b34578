import { expect, test } from "bun:test";
import fc from "fast-check";
import { partWithWords } from "../../../../src/domain/retrieval/abstention/part.ts";

const word = (weight: number, ...forms: string[]) => ({ forms, weight });
const filler = "wool water mill fence ".repeat(60);

test("a short text is read whole, of a long one the part with the heaviest words", () => {
  expect(partWithWords("wool and water", [word(1, "opera")], 20)).toBe("wool and water");
  const text = `${filler}the Walrus sang ${filler}an opera in Jupiter ${filler}`;
  expect(partWithWords(text, [word(1, "walrus"), word(3, "opera"), word(2, "jupiter")], 200)).toContain("an opera in Jupiter");
  expect(partWithWords(text, [word(9, "walrus"), word(3, "opera"), word(2, "jupiter")], 200)).toContain("the Walrus sang");
  // Another form of the word is the word; one that is repeated counts once.
  expect(partWithWords(`${text}opus opus opus opus`, [word(1, "opus"), word(3, "operas", "opera")], 200)).toContain("an opera");
});

test("without one of the words its beginning is read", () => {
  expect(partWithWords(filler, [word(1, "opera")], 100)).toBe(filler.slice(0, 100));
  expect(partWithWords(filler, [], 100)).toBe(filler.slice(0, 100));
});

test("no character is cut, no part is longer than asked, and every place of a text stands in a part", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 80 }), fc.integer({ min: 4, max: 20 }), (text, size) => {
      const part = partWithWords(text, [], size);
      expect(part.length).toBeLessThanOrEqual(size);
      expect(part.isWellFormed()).toBe(text.isWellFormed() || part.isWellFormed());
    }),
  );
  for (let at = 0; at <= 95; at++)
    expect(partWithWords(`${"-".repeat(at)}opera${"-".repeat(95 - at)}`, [word(1, "opera")], 20)).toContain("opera");
  expect(partWithWords("😀".repeat(30), [], 7)).toBe("😀😀😀");
});
