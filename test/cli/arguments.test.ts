import { describe, expect, test } from "bun:test";
import { flag, maybePositional, option, optionOr, positional, readArguments, words } from "../../src/cli/arguments.ts";
import { integer, text } from "../../src/kernel/kinds.ts";

const args = {
  entity: positional(text, "what it is about"),
  words: words("the text"),
  limit: optionOr(integer(1, 50), 10, "most results", { hint: "N", short: "n" }),
  maxTokens: option(integer(1), "budget", { hint: "N" }),
  json: flag("as JSON", "j"),
} as const;
const read = (...raw: string[]) => readArguments(args, raw);

describe("values", () => {
  test("flags, options in each form, positionals and words", () => {
    expect(read("api", "--limit=3", "listens", "-j", "on", "--max-tokens", "900", "port")).toEqual({
      entity: "api",
      words: "listens on port",
      limit: 3,
      maxTokens: 900,
      json: true,
    });
  });
  test("what is left out has its fallback, or is undefined", () => {
    expect(read("api", "x")).toEqual({ entity: "api", words: "x", limit: 10, maxTokens: undefined, json: false });
  });
  test("a short option takes the next word", () => {
    expect(read("-n", "7", "api", "x").limit).toBe(7);
  });
  test("a flag may be called no-something", () => {
    const noVector = { noVector: flag("without vectors"), vectors: flag("with") } as const;
    expect(readArguments(noVector, ["--no-vector"])).toEqual({ noVector: true, vectors: false });
    expect(readArguments(noVector, ["--vectors"])).toEqual({ noVector: false, vectors: true });
  });
  test("everything behind -- is text", () => {
    expect(read("api", "--", "--limit", "is", "-n").words).toBe("--limit is -n");
  });
  test("a lone dash is a word", () => {
    expect(read("api", "-").words).toBe("-");
  });
  test("an optional positional may be missing", () => {
    expect(readArguments({ addr: maybePositional(text, "address") }, [])).toEqual({ addr: undefined });
  });
});

describe("refusals name what is wrong", () => {
  test.each([
    [["api", "x", "--verbose"], "Unknown flag --verbose."],
    [["api", "x", "--no-json"], "Unknown flag --no-json."],
    [["api", "x", "--maxTokens", "3"], "Unknown flag --maxTokens."],
    [["api", "x", "-x"], "Unknown flag -x."],
    [["api", "x", "-jn"], "Unknown flag -jn."],
    [["api", "x", "-n5"], "Unknown flag -n5."],
    [["api", "x", "--limit"], "--limit needs a value: an integer from 1 to 50."],
    [["api", "x", "--limit", "--json"], "--limit needs a value: an integer from 1 to 50."],
    [["api", "x", "--limit", "many"], "--limit must be an integer from 1 to 50; got 'many'."],
    [["api", "x", "--limit="], "--limit must be an integer from 1 to 50; got ''."],
    [["api", "x", "--limit", "-3"], "--limit must be an integer from 1 to 50; got '-3'."],
    [["api", "x", "--json=yes"], "--json takes no value."],
    [["api"], "<words> is missing: the text."],
    [[], "<entity> is missing: what it is about."],
    [["api", "  "], "<words> is missing: the text."],
  ])("%p", (raw, message) => {
    expect(() => read(...raw)).toThrow(message);
  });
  test("a word too many", () => {
    expect(() => readArguments({ json: flag("as JSON") }, ["extra"])).toThrow("Unexpected argument 'extra'.");
  });
  test("the hint is said where a word could have been meant", () => {
    expect(() => readArguments(args, ["a", "--b"], " Put it behind '--'.")).toThrow("Unknown flag --b. Put it behind '--'.");
  });
});
