import { expect, test } from "bun:test";
import fc from "fast-check";
import { likePatterns, mentionOf } from "../../src/domain/mentions.ts";

test.each([
  ["Ana Gil", "please ask ana gil, she knows", true],
  ["Ana Gil", "Ana Gilbert knows", false],
  ["Ana Gil", "diana gil", false],
  ["Redis", "redis_url is set", false],
  ["Redis", "(redis)", true],
  ["C++ core", "built with c++ core!", true],
  ["node.js", "nodexjs", false],
  ["order-worker", "the Order-Worker is slow", true],
  ["order-worker", "the order worker is slow", false],
  ["José Ruiz", "JOSÉ RUIZ", true],
  ["José Ruiz", "José Ruiz", true],
  ["支付网关服务", "使用支付网关服务处理退款", true],
  ["支付网关服务", "使用支付网关处理退款", false],
  ["API", "the API is down", false],
  ['Ana "Loca" Gil', 'ask ANA "LOCA" GIL', true],
  ['Ana "Loca" Gil', String.raw`{"who": "Ana \"Loca\" Gil"}`, true],
  ['Ana "Loca" Gil', String.raw`{"error": "got \"Ana \\\"Loca\\\" Gil\""}`, true],
  ['Ana "Loca" Gil', "Ana Loca Gil", false],
  [String.raw`C:\Users\Zork`, String.raw`{"path": "c:\\users\\zork"}`, true],
  ["Ana Gil", String.raw`{"text": "Monday\nAna Gil\nTuesday"}`, true],
  ["Ana Gil", "a letter of Ana\nGil", true],
  ["Ana Gil", "nAna Gil", false],
  ["Ángel Ñandú", "ÁNGEL ÑANDÚ".normalize("NFD"), true],
  ["İstanbul Ofisi", "İSTANBUL OFİSİ", true],
  ["İstanbul Ofisi", "istanbul ofisi", true],
  ["Straße Quux", "STRASSE QUUX", true],
  ["\u0307\u0307\u0307\u0307", "anything at all", false],
])("a text with '%s' in it: %s → %p", (name, text, found) => expect(mentionOf([name])(text)).toBe(found));

test("any of several names, and none at all", () => {
  expect(mentionOf(["Ana Gil", "Bea Sanz"])("for bea sanz")).toBe(true);
  expect(mentionOf([])("anything")).toBe(false);
});

test("any name is found in a text that is this name, whatever signs it has", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 4 }), (name) => expect(mentionOf([name])(`see: ${name} .`)).toBe(true)),
    { examples: [["order-worker"], ["a/b-c (d)"], ["<|im-start|>"]] },
  );
});

/** LIKE over a text in small letters, as a database has it. */
const like = (pattern: string, text: string): boolean =>
  new RegExp(
    `^${Array.from(pattern.matchAll(/\\(.)|(.)/gsu), ([, escaped, plain]) => (escaped === undefined && plain === "%" ? ".*" : RegExp.escape(escaped ?? plain ?? ""))).join("")}$`,
    "su",
  ).test(text);

test("what is one is found by the statement too, in a text and in a copy inside JSON, whether the server knows small letters or not", () => {
  const written = fc.string({ unit: fc.constantFrom(...'aGñÑеЖσΣß"\\ %_İ名😀é'), minLength: 4, maxLength: 12 });
  fc.assert(
    fc.property(written, (name) => {
      const patterns = likePatterns([name]);
      const kept = name.normalize("NFC").replaceAll("İ", "I").replaceAll("\u0307", "");
      const asciiOnly = kept.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
      for (const text of [kept.toLowerCase(), asciiOnly, JSON.stringify({ a: kept.toLowerCase() }), JSON.stringify({ a: asciiOnly })])
        expect([text, patterns.some((pattern) => like(pattern, text))]).toEqual([text, true]);
    }),
    { numRuns: 500 },
  );
});
