import { expect, test } from "bun:test";
import { isBlank, visible } from "../../src/kernel/text.ts";

test.each([
  ["a\u0000b", "a\\u0000b"],
  ["\u001b[31mred\u0007", "\\u001b[31mred\\u0007"],
  ["half \ud83d", "half \\ud83d"],
  ["\u202etxt.exe", "\\u202etxt.exe"],
  ["two\n\tlines, 项目, 👩\u200d👩\u200d👧", "two\n\tlines, 项目, 👩\u200d👩\u200d👧"],
])("a message writes out what cannot be seen: %j", (raw, shown) => {
  expect(visible(raw)).toBe(shown);
  expect(visible(shown)).toBe(shown);
});

test.each(["", " \n\t", "\u200b\u2060", "\ufeff", "\u0000\u0007", "\u3000"])("%j is blank", (text) => {
  expect(isBlank(text)).toBe(true);
});

test.each(["x", ".", "界", "\u0301", "👍", " - "])("%j is not blank", (text) => {
  expect(isBlank(text)).toBe(false);
});
