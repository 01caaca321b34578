import { expect, test } from "bun:test";
import { anything, boolean, byName, listOf, number, object, orNull, readAnswer, string } from "../../src/cli/answer.ts";
import { runCli } from "../../src/cli/run.ts";
import { MemoryError } from "../../src/kernel/errors.ts";
import { fakeHost } from "./fake-host.ts";

const shape = object({
  name: string,
  size: number,
  done: boolean,
  note: orNull(string),
  rows: listOf(object({ id: string })),
  counts: byName(number),
  rest: anything,
});
const whole = { name: "a", size: 1, done: false, note: null, rows: [{ id: "1" }], counts: { x: 2 }, rest: [3] };

test("an answer that fits is read, and what the shape does not name is left out", () => {
  expect(readAnswer(shape, { ...whole, more: 1, rows: [{ id: "1", more: 2 }] })).toEqual(whole);
  expect(readAnswer(object({ note: orNull(string) }), {})).toEqual({ note: null });
});

test.each([
  [undefined, "the answer is missing where an object was expected"],
  [[], "the answer is something else where an object was expected"],
  [{ ...whole, name: 5 }, "'name' is something else where a text was expected"],
  [{ ...whole, size: "1" }, "'size' is something else where a number was expected"],
  [{ ...whole, done: undefined }, "'done' is missing where true or false was expected"],
  [{ ...whole, note: 0 }, "'note' is something else where a text was expected"],
  [{ ...whole, rows: {} }, "'rows' is something else where a list was expected"],
  [{ ...whole, rows: [{ id: "1" }, {}] }, "'rows[1].id' is missing where a text was expected"],
  [{ ...whole, counts: { x: null } }, "'counts.x' is something else where a number was expected"],
])("%# is refused in a sentence that names the place and not the value", (answer, place) => {
  let error: unknown;
  try {
    readAnswer(shape, answer);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(MemoryError);
  expect(String(error)).toContain(
    `gave an answer that this command does not understand: ${place}. A service of another version may still be running`,
  );
});

test.each([
  [["dedupe"]],
  [["link"]],
  [["recall"]],
  [["rem"]],
  [["reembed"]],
  [["project", "backfill", "shop"]],
  [["export", "vault"]],
  [["skills", "skills"]],
  [["eval"]],
  [["calibrate", "-d", "q.jsonl"]],
  [["delete", "11111111-1111-4111-8111-111111111111"]],
])("%j: rubbish is a failure and no success of nothing", async (words) => {
  const host = fakeHost({
    answer: ({ method }) => (method === "tools/call" ? { content: [{ type: "text", text: '"rubbish"' }] } : "rubbish"),
  });
  expect(await runCli(words, host)).toBe(1);
  expect(host.err()).toContain("does not understand");
});
