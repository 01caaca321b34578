import { expect, test } from "bun:test";
import fc from "fast-check";
import { arrayLiteral, fromWire, parseArrayLiteral, toWire, vectorLiteral } from "../../src/store/wire.ts";

test("array literals come back as they went in, whatever they hold", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.string({ unit: "grapheme" }), { nil: null })), (items) => {
      expect(parseArrayLiteral(arrayLiteral(items))).toEqual(items);
    }),
  );
});

test("arrays as the server prints them are read", () => {
  expect(parseArrayLiteral("{}")).toEqual([]);
  expect(parseArrayLiteral('{a,"b,c","say \\"x\\"",NULL,"NULL","back\\\\slash",""}')).toEqual([
    "a",
    "b,c",
    'say "x"',
    null,
    "NULL",
    "back\\slash",
    "",
  ]);
});

test.each([
  [null, null],
  [undefined, null],
  ["text", "text"],
  [1.5, "1.5"],
  [2n ** 60n, "1152921504606846976"],
  [true, "t"],
  [false, "f"],
  [new Date(Date.UTC(2026, 0, 2)), "2026-01-02T00:00:00.000Z"],
  [Uint8Array.of(0, 255), "\\x00ff"],
  [Float32Array.of(1, -0.5), "[1,-0.5]"],
])("%p goes out as %p", (value, text) => {
  expect(toWire(value)).toBe(text);
});

test.each([[{}], [[1]], [() => 1]])("a forgotten json(…) or array helper is refused: %p", (value) => {
  expect(() => toWire(value)).toThrow(TypeError);
});

test("a vector with a hole is refused", () => {
  expect(() => vectorLiteral([1, Number.NaN])).toThrow(RangeError);
  expect(() => vectorLiteral(Float32Array.of(Number.POSITIVE_INFINITY))).toThrow(RangeError);
});

test("types without a reader stay text", () => {
  expect(fromWire("12", 23)).toBe(12);
  expect(fromWire("12", 20)).toBe("12");
  expect(fromWire("12", 999_999)).toBe("12");
});
