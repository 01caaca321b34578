import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { chunksOf, splitText } from "../../src/domain/chunks.ts";

const lengths = (pieces: readonly string[]) => pieces.map((piece) => Array.from(piece).length);

describe("an observation", () => {
  test("of 1800 characters has no chunks, one more gives two", () => {
    expect(chunksOf("x".repeat(1800))).toEqual([]);
    expect(lengths(chunksOf("x".repeat(1801)))).toEqual([1400, 601]);
    expect(chunksOf("🙂".repeat(1800))).toEqual([]);
  });
});

describe("splitText", () => {
  test("cuts hard where nothing else offers", () => {
    expect(lengths(splitText("x".repeat(5000)))).toEqual([1400, 1400, 1400, 1400]);
  });

  test("limits the overlap to half a piece and always advances", () => {
    expect(splitText("x".repeat(5000), { sizeChars: 300, overlapChars: 250 })).toHaveLength(33);
  });

  test("prefers the end of a sentence", () => {
    const pieces = splitText("Sentence one. ".repeat(400), { sizeChars: 1000, overlapChars: 200 });
    expect(pieces).toHaveLength(7);
    expect(pieces[0]).toHaveLength(993);
    expect(Math.max(...lengths(pieces))).toBeLessThanOrEqual(1000);
  });

  test("knows Chinese sentence ends", () => {
    const pieces = splitText("数据仓库在上海。".repeat(10), { sizeChars: 30, overlapChars: 0 });
    expect(pieces.every((piece) => piece.endsWith("。"))).toBe(true);
  });

  test("else takes a blank", () => {
    expect(lengths(splitText("word ".repeat(400)))).toEqual([1399, 799]);
  });

  test("loses no word and breaks no code point", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "é", "界", "🙂"), minLength: 1, maxLength: 12 });
    const sizes = fc.record({ sizeChars: fc.integer({ min: 40, max: 200 }), overlapChars: fc.integer({ min: 0, max: 250 }) });
    fc.assert(
      fc.property(fc.array(word, { maxLength: 80 }), fc.constantFrom(" ", ". ", "\n"), sizes, (words, blank, size) => {
        const pieces = splitText(words.join(blank), size);
        const kept = new Set(pieces.flatMap((piece) => piece.split(/[\s.]+/)));
        expect(words.filter((each) => !kept.has(each))).toEqual([]);
        expect(pieces.every((piece) => piece.isWellFormed() && Array.from(piece).length <= size.sizeChars)).toBe(true);
      }),
    );
  });
});
