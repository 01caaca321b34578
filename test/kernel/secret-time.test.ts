import { describe, expect, test } from "bun:test";
import { findSecret, redact, secretSteps } from "../../src/kernel/secrets.ts";
import { trimmedTo } from "../../src/kernel/text.ts";

/** A limit for a stuck machine, not for the work: with a pattern that goes back, each of these texts takes minutes, years or for ever. */
const STUCK_MS = 120_000;
const CHARS = 400_000;
const filled = (unit: string, chars = CHARS) => unit.repeat(Math.ceil(chars / unit.length));

/** Texts for which one of our patterns once went back over what it had read, or that invite it. */
const hostile: readonly (readonly [name: string, text: string])[] = [
  ["a row of operators of a version", `password${"=".repeat(60)}`],
  ["operators of a version behind a key", `token: ${"<=>=".repeat(30)}x`],
  ["dashes between two letters of a value", `password=a${filled("-")}a`],
  ["dashes between two letters of a key", `a${filled("-")}a=password`],
  ["brackets inside of a value", `password=a${filled(")")}a`],
  ["quotes inside of a value", `password=a${filled('"')}a`],
  ["a prefix again and again", filled("_sk-")],
  ["beginnings of a web token", filled("eyJ")],
  ["beginnings of a web token with a header", filled("eyJaaaaaaaa")],
  ["web tokens without an end", filled("eyJaaaaaaaa.")],
  ["templates inside of templates", `password="${filled("{{")}"`],
  ["short templates inside of templates", filled(`password="${"{{".repeat(295)}" `)],
  ["beginnings of a private key", filled("-----BEGIN ")],
  ["a private key's label without an end", `-----BEGIN ${filled("PRIVATE KEY ")}`],
  ["ends of a private key", `-----BEGIN PRIVATE KEY-----${filled("-----END ")}`],
  ["calls inside of calls", filled("password = a(")],
  ["values inside of one word", filled('password=a("b","c",')],
  ["pairs without a secret in one word", filled("a=1&")],
  ["keys of counts of tokens", `${filled("max_")}xtoken=1.`],
  ["quotes without an end", `"a":"${filled("\\")}`],
  ["addresses of a store", filled(`password=vault://a/${"b c".repeat(190)}! `)],
  ["dots inside of a word", filled("M.")],
  ["middles of tokens", filled("-us:AA.atlasv1.8Q~")],
  ["verbs of a sentence", filled("is ")],
  ["verbs behind names without blanks", filled("密码是")],
  ["elements inside of elements", filled("<password>")],
  ["beginnings of elements", filled("<password>a</passwor")],
  ["names of several words", filled("clave de la api ")],
  ["blanks behind a key", `password:${filled(" ")}x`],
];

describe("the time that the gate takes grows with the text and no faster", () => {
  for (const [name, text] of hostile)
    test(
      name,
      () => {
        findSecret(text);
        expect(findSecret(`${text}\nDB_PASSWORD=hunter22x`)?.label).toBeString();
        expect(redact(`${text}\nDB_PASSWORD=hunter22x`)).not.toContain("hunter22x");
      },
      STUCK_MS,
    );

  test(
    "trimming looks at each character once or twice",
    () => {
      let looks = 0;
      const inner = /[a-z]/;
      const counting = { [Symbol.search]: (text: string) => text.search(inner), test: (char: string) => (looks++, inner.test(char)) };
      expect(trimmedTo(`--a${"-".repeat(1_000)}b----`, Object.assign(new RegExp(inner), counting))).toBe(`a${"-".repeat(1_000)}b`);
      expect(looks).toBe(5);
    },
    STUCK_MS,
  );

  test("a long text is judged in steps, a long word as well, and nothing in them is missed", () => {
    for (const [text, least] of [
      [filled("a plain word and another one "), 90],
      [filled("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNk"), 20],
    ] as const) {
      let steps = 0;
      const all = secretSteps(text);
      while (!all.next().done) steps++;
      expect(steps).toBeGreaterThanOrEqual(least);
    }
  });

  test("a secret is found wherever it stands in a word of any length, and all of its value is hidden", () => {
    const blob = filled("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNk", 200_000);
    for (const before of [0, 16_370, 16_380, 16_384, 32_760, 32_768, 150_000]) {
      const text = `${blob.slice(0, before)}/ghp_abcdefghijklmnop/${blob}`;
      expect([before, findSecret(text)?.label]).toEqual([before, "github token"]);
      expect(redact(text)).not.toContain("ghp_");
    }
    expect(redact(`see password=${blob} and go on`)).toBe("see password=*** and go on");
    expect(redact(`data:${blob}`)).toBe(`data:${blob}`);
  });
});
