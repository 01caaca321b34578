import { expect, test } from "bun:test";
import { CharsMap } from "../../../src/inference/tokenizer/charsmap.ts";
import { charsMapBytes } from "../../support/charsmap-bytes.ts";

const map = new CharsMap(
  charsMapBytes({ ﬁ: "fi", "\u00a0": " ", "e\u0301": "é", "①": "1", "\r": " ", ａ: "a", "ａ\u0301": "á", "👩": "W" }),
);

test("each mapped code point becomes its replacement, the rest stays", () => {
  expect(map.apply("ﬁnal\u00a0① ok")).toBe("final 1 ok");
  expect(map.apply("plain ASCII, untouched")).toBe("plain ASCII, untouched");
  expect(map.apply("")).toBe("");
});

test("a letter and its combining accent are looked up as one", () => {
  expect(map.apply("cafe\u0301")).toBe("café");
});

test("the shortest key that begins a cluster wins, as in the reference", () => {
  expect(map.apply("ａ\u0301")).toBe("a");
  expect(map.apply("x\r\ny")).toBe("x y");
});

test("a cluster longer than five bytes is taken code point by code point", () => {
  expect(map.apply("👩\u200d👩")).toBe("W\u200dW");
});

test("a map that is cut short is an error, not garbage", () => {
  expect(() => new CharsMap(charsMapBytes({ ﬁ: "fi" }).subarray(0, 100))).toThrow("cut short");
});
