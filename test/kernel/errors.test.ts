import { expect, test } from "bun:test";
import { causeChain, invalidChoice, notFound, present } from "../../src/kernel/errors.ts";

test("a value with a NUL or half a character is shown in a message that can be stored and read", () => {
  expect(present(invalidChoice("action", "a\u0000b\ud800", ["add", "list"])).text).toBe("Invalid action: a\\u0000b\\ud800. Use add/list");
  expect(present(notFound("entity", "\u202eevil")).text).toBe("Entity '\\u202eevil' not found.");
});

test("the log line of a failure holds no character that the failure table would refuse", () => {
  const failure = new Error("outer\u0000", { cause: new Error("inner \udfff") });
  expect(causeChain(failure)).toBe("outer\\u0000 ← inner \\udfff");
});
