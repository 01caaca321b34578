import { describe, expect, test } from "bun:test";
import { paragraphSteps } from "../../src/domain/paragraphs.ts";
import { rootDirectory } from "../../src/domain/projects.ts";
import { comparedWords, sameWords } from "../../src/domain/same-words.ts";
import { wordsOf } from "../../src/domain/words.ts";
import { toEnd } from "../../src/kernel/steps.ts";

/** A limit for a stuck machine: with a rule that goes back over what it read, each of these takes minutes or hours. */
const STUCK_MS = 120_000;
const paragraphsOf = (text: string, mostChars: number) => toEnd(paragraphSteps(text, mostChars));
const filled = (unit: string, chars: number) => unit.repeat(Math.ceil(chars / unit.length));

describe("the time of a rule grows with the text and no faster", () => {
  test(
    "quotations without an end",
    () => {
      const text = filled("“", 300_000);
      expect(sameWords(`${text}x`, `${text}y`)).toBe(false);
      expect(comparedWords(`${filled('"a" b ', 300_000)}`)).toHaveLength(100_000);
    },
    STUCK_MS,
  );

  test(
    "dashes, quotes and fences of a text that is cut into paragraphs",
    () => {
      const lines = `${`\n\n${"x y "}${filled("-", 400_000)}1`.repeat(3)}`;
      expect(paragraphsOf(lines, 1_000_000).kept).toHaveLength(3);
      expect(paragraphsOf(`${filled("```a\n", 1_000_000)}end of the text`, 2_000_000).kept).toHaveLength(1);
      expect(paragraphsOf(filled("a1=2;b3=4;\nc5=6;d7=8;\ne=9\n\n", 1_000_000), 10_000).kept.length).toBeGreaterThan(90);
    },
    STUCK_MS,
  );

  test(
    "slashes of a root, pieces of an identifier",
    () => {
      expect(rootDirectory(`file:///a${filled("/", 400_000)}b/`, undefined)).toEndWith("/b");
      expect(wordsOf(filled("a1", 100_000))).not.toBeEmpty();
    },
    STUCK_MS,
  );
});

test("words inside quotes are compared as written, wherever quotations begin and end", () => {
  const exact = (text: string) =>
    comparedWords(text)
      .filter((word) => word.isExact)
      .map((word) => word.written);
  expect(exact('say "One two" and three')).toEqual(["One", "two"]);
  expect(exact("a `b\nc` d")).toEqual(["b", "c"]);
  expect(exact('a "b\nc" d')).toEqual([]);
  expect(exact('"" x "y"')).toEqual(["x", "y"]);
  expect(exact("“one” two «three» four “five")).toEqual(["one", "three"]);
  expect(exact("`a“b` c” d")).toEqual(["a“b"]);
});

test("a fence is closed by a row of its signs at least as long, another stays open", () => {
  expect(paragraphsOf("````\nfirst part\n\n```\n\nsecond part\n````\n\nthird part here", 1_000).kept).toEqual([
    "````\nfirst part\n\n```\n\nsecond part\n````",
    "third part here",
  ]);
  expect(paragraphsOf("~~~\nnever closed one\n\n```\ncode of a block\n\nmore of it\n```", 1_000).kept).toEqual([
    "~~~\nnever closed one",
    "```\ncode of a block\n\nmore of it\n```",
  ]);
});
