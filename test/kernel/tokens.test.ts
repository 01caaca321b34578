import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { mostTokens, tokenCounter } from "../../src/kernel/tokens.ts";

const count = await tokenCounter();

describe("the token counter", () => {
  // Counted with tiktoken's cl100k_base.
  for (const [text, tokens] of [
    ["", 0],
    ["hello", 1],
    ["hello world", 2],
    ["The retry limit is 5 attempts per request; see src/auth/session.ts.", 16],
    ["a\n\n  b", 4],
    ["'LL don't", 4],
    ["黑豹队的防守只丢了 308分", 16],
    ["\u{1F600}".repeat(50), 100],
    ["\t\t\tfoo   bar \r\n\r\n x", 7],
    ["x".repeat(9_000), 1_125],
    ["界".repeat(9_000), 9_000],
  ] as const)
    test(`counts ${JSON.stringify(text.slice(0, 24))} as ${tokens}`, () => {
      expect(count(text)).toBe(tokens);
    });

  test("never counts more than the bytes of a text, and something for every text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (text) => {
        expect(count(text)).toBeGreaterThan(0);
        expect(count(text)).toBeLessThanOrEqual(mostTokens(text));
      }),
    );
  });

  test("counts a text with half a surrogate pair, which no client could decode", () => {
    expect(count("a\ud800b")).toBeGreaterThan(0);
  });
});
