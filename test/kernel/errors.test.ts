import { expect, test } from "bun:test";
import { causeChain, invalidChoice, notFound, present, shown } from "../../src/kernel/errors.ts";

test("a value with a NUL or half a character is shown in a message that can be stored and read", () => {
  expect(present(invalidChoice("action", "a\u0000b\ud800", ["add", "list"])).text).toBe("Invalid action: a\\u0000b\\ud800. Use add/list");
  expect(present(notFound("entity", "\u202eevil")).text).toBe("Entity '\\u202eevil' not found.");
});

test("the log line of a failure holds no character that the failure table would refuse", () => {
  const failure = new Error("outer\u0000", { cause: new Error("inner \udfff") });
  expect(causeChain(failure)).toBe("outer\\u0000 ← inner \\udfff");
});

test("a value of megabytes is shown by its start, without the secret in it", () => {
  const text = `token ghp_abcdefghijklmnop ${"password = a(".repeat(600_000)}`;
  expect(shown(text)).toMatch(/^token \*{3} password = \*{3}[ =*]*…$/);
});
