import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { alphanumericWords, hasDenseScript, tokensOf, withoutAccents, wordsOf } from "../../src/domain/words.ts";

const tokens = (text: string) => tokensOf(text).map((token) => token.text);
/** Parts plain, wholes in brackets. */
const words = (text: string) => wordsOf(text).map(({ text: word, isWhole }) => (isWhole ? `[${word}]` : word));

describe("tokens", () => {
  test("keep an identifier together and end at a blank", () => {
    expect(tokens("see `src/auth/session.ts`. Then Foo::bar, well-known.")).toEqual([
      "see",
      "src/auth/session.ts",
      "Then",
      "Foo::bar",
      "well-known",
    ]);
    expect(tokens("10,000 rows, C++ and F#")).toEqual(["10,000", "rows", "C++", "and", "F#"]);
  });

  test("are words where a script has no blanks, and digits are digits in every script", () => {
    expect(tokens("ภาษาไทยเป็นภาษา")).toEqual(["ภาษา", "ไทย", "เป็น", "ภาษา"]);
    expect(tokens("端口8080，𝟘𝟙 ٣٤ ３")).toContain("8080");
    expect(tokens("𝟘𝟙 ٣٤ ３")).toEqual(["01", "34", "3"]);
  });

  test("hold no sign that stands alone", () => {
    expect(tokens("!!! --- … 😀 1️⃣")).toEqual(["1"]);
  });
});

describe("words", () => {
  test.each([
    ["renewToken", ["renew", "token", "[renewtoken]"]],
    ["snake_case_name", ["snake", "case", "name", "[snakecasename]"]],
    ["kebab-case", ["kebab", "case", "[kebabcase]"]],
    ["HTMLParser2", ["html", "parser", "2", "[htmlparser2]"]],
    ["APIs", ["apis"]],
    ["Foo::bar", ["foo", "bar", "[foobar]"]],
    ["session.ts", ["session", "ts", "[sessionts]"]],
    ["src/auth/session.ts", ["src", "auth", "session", "ts", "[sessionts]", "[srcauthsessionts]"]],
    ["joe@example.com", ["joe", "example", "com", "[examplecom]", "[joeexamplecom]"]],
    ["C++ C# C", ["c", "[cplusplus]", "c", "[csharp]", "c"]],
    ["don't Ana's l'eau", ["dont", "ana", "l", "eau", "[leau]"]],
    ["1.0 10 10,000", ["1", "0", "[1p0]", "10", "10000"]],
    ["12e4f7a", ["12", "e", "4", "f", "7", "a", "[x12e4f7a]"]],
    ["排名第六", ["排", "名", "[排名]", "第", "六", "[第六]"]],
  ])("of %p", (text, expected) => expect(words(text)).toEqual(expected));

  test("a name is found in every way of writing it", () => {
    const wholes = ["renewToken", "renew_token", "renew-token", "RenewToken", "renew.token"].map((name) => words(name).at(-1));
    expect(new Set(wholes)).toEqual(new Set(["[renewtoken]"]));
  });

  test("are never longer than 64 characters", () => {
    expect(words("x".repeat(3000))).toEqual(["x".repeat(64)]);
    expect(words(`${"a".repeat(40)}_${"b".repeat(40)}`)).toEqual(["a".repeat(40), "b".repeat(40)]);
  });

  test("are lower-case letters, marks and digits, whatever comes in", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), (text) => {
        for (const { text: word } of wordsOf(text)) expect(word).toMatch(/^[\p{L}\p{N}][\p{L}\p{M}\p{N}]*$/u);
      }),
    );
  });

  test("do not depend on how accents and widths are encoded", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme-ascii" }), (text) => {
        const wide = text.replace(/[!-~]/g, (char) => String.fromCodePoint(char.charCodeAt(0) + 0xfee0));
        expect(wordsOf(wide)).toEqual(wordsOf(text));
      }),
    );
    expect(words("cafe\u0301")).toEqual(words("café"));
  });
});

test("accents go from Latin, Greek and Cyrillic, vowels of other scripts stay", () => {
  expect(["configuración", "ñandú", "straße", "łódź", "άλφα", "йод", "हिन्दी", "タワー", "한국"].map(withoutAccents)).toEqual([
    "configuracion",
    "nandu",
    "strasse",
    "lodz",
    "αλφα",
    "иод",
    "हिन्दी",
    "タワー",
    "한국",
  ]);
});

test("alphanumeric words keep their case, split at underscores, and cut Chinese", () => {
  expect(alphanumericWords("Hello_world, 42!")).toEqual(["Hello", "world", "42"]);
  expect(alphanumericWords("数据在上海")).toEqual(["数据", "在", "上海"]);
  expect([hasDenseScript("abc 한국"), hasDenseScript("abc 上")]).toEqual([false, true]);
});
