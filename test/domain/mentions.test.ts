import { expect, test } from "bun:test";
import fc from "fast-check";
import { mentionOf } from "../../src/domain/mentions.ts";

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
