import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { sameWords } from "../../../src/domain/same-words.ts";
import { addsNothing } from "../../../src/services/duplicates/gate.ts";
import { textMarks } from "../../../src/services/duplicates/marks.ts";

describe("a text adds nothing", () => {
  for (const [a, b] of [
    ["Retries are capped at five", "Retries are capped at five."],
    ["Retries are capped at five", "retries  are capped\nat five"],
    ["retry limit of the queue", "retry limit of queue"],
    ["部署在周五", "部署在周五。"],
  ] as const)
    test(`where it says the same under a full stop, blanks, case or articles: ${JSON.stringify(b)}`, () => {
      expect(addsNothing(a, b)).toBe(true);
    });

  for (const [a, b] of [
    ["Thanks, Nate!", "Thanks Nate!"],
    ["a + b", "a - b"],
    ["Done?", "Done!"],
    ["Done", "Done?"],
    ["see src/a.ts", "see src/b.ts"],
    ["version 17", "version 18"],
    ["A depends on B", "B depends on A"],
    ["use `foo`", "use foo"],
  ] as const)
    test(`not where a sign, a word or their order differs: ${JSON.stringify([a, b])}`, () => {
      expect(addsNothing(a, b)).toBe(false);
    });
});

const word = fc.constantFrom(
  "the",
  "Retry",
  "limit",
  "of",
  "a",
  "queue",
  "is",
  "5",
  "config.yaml",
  "límite",
  "部署",
  "renewToken",
  "la",
  "un",
  "x-y",
  "don't",
);
const joiner = fc.constantFrom(" ", ", ", ". ", "\n", " - ", "; ");
const sentence = fc.array(fc.tuple(word, joiner), { minLength: 1, maxLength: 12 }).map((parts) => parts.flat().join("").trim());

describe("the marks of a text", () => {
  test("are equal in their first part for any two texts with the same words: none is overlooked", () => {
    fc.assert(
      fc.property(sentence, fc.array(fc.constantFrom("the ", "", "a "), { minLength: 3, maxLength: 3 }), (text, articles) => {
        const other = `${articles[0]}${text.replace(" of ", ` of ${articles[1]}`)}${articles[2]}.`;
        if (sameWords(text, other)) expect(textMarks(text)[0]).toBe(textMarks(other)[0]);
      }),
    );
  });

  test("share the head or the tail when a long text differs in one word", () => {
    const long = "deploys to production are approved by the platform team lead on fridays".split(" ");
    for (let at = 0; at < long.length; at++) {
      const [, head, tail] = textMarks(long.join(" "));
      const [, otherHead, otherTail] = textMarks(long.with(at, "x").join(" "));
      expect(head === otherHead || tail === otherTail).toBe(true);
    }
  });

  test("cut no code point in two", () => {
    for (const mark of textMarks("𠮷".repeat(40))) expect(mark.isWellFormed()).toBe(true);
    expect(textMarks("𠮷".repeat(40))[1]).toBe(`h${"𠮷".repeat(12)}`);
  });
});
