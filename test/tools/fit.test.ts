import { describe, expect, test } from "bun:test";
import { tokenCounter } from "../../src/kernel/tokens.ts";
import { fitRows, tokensLeft } from "../../src/tools/fit.ts";

const count = await tokenCounter();
const note = (index: number, chars: number) => ({ id: index, content: `${index} ${"word ".repeat(chars)}`.slice(0, chars) });

describe("fitting rows into an answer", () => {
  test("shows all of a short list and says that nothing is left", async () => {
    const page = await fitRows({ rows: [note(1, 20), note(2, 20)], total: 2, offset: 0 });
    expect(page.rows.map((row) => row.id)).toEqual([1, 2]);
    expect([page.truncated, page.total, page.next]).toEqual([false, 2, null]);
  });

  test("drops whole rows from the end of a long one and names the offset that reads on", async () => {
    const rows = Array.from({ length: 50 }, (_, index) => note(index, 9_000));
    const page = await fitRows({ rows, total: 400, offset: 10, long: "content" });
    expect(count(JSON.stringify(page.rows))).toBeLessThanOrEqual(9_600);
    expect(count(JSON.stringify(rows.slice(0, page.rows.length + 1)))).toBeGreaterThan(9_600);
    expect([page.truncated, page.total, page.next]).toEqual([true, 400, { offset: 10 + page.rows.length }]);
  });

  test("says truncated when the caller's own limit left rows behind", async () => {
    const page = await fitRows({ rows: [note(1, 20)], total: 3, offset: 1 });
    expect([page.truncated, page.next]).toEqual([true, { offset: 2 }]);
  });

  test("cuts a single text that is too long, on a code point, and gives it whole to who asks for one row", async () => {
    const row = { id: 1, content: "\u{1F980}".repeat(10_000) };
    const page = await fitRows({ rows: [row], total: 1, offset: 0, long: "content" });
    const shown = page.rows[0];
    expect(shown?.content.isWellFormed()).toBe(true);
    expect(shown?.content.length).toBeGreaterThan(2_000);
    expect([shown?.content_chars, shown?.content_truncated, page.truncated, page.next]).toEqual([
      10_000,
      true,
      true,
      { offset: 0, limit: 1 },
    ]);
    expect(count(JSON.stringify(page.rows))).toBeLessThanOrEqual(9_600);
    expect((await fitRows({ rows: [row], total: 1, offset: 0, long: "content", whole: true })).rows[0]).toEqual(row);
  });

  test("an empty list is a page too", async () => {
    expect(await fitRows({ rows: [], total: 0, offset: 0 })).toEqual({ rows: [], truncated: false, total: 0, next: null, tokens: 2 });
  });

  test("leaves less room the more stands beside the list", async () => {
    expect(await tokensLeft({})).toBe(9_598);
    expect(await tokensLeft({ text: "word ".repeat(2_000) })).toBeLessThan(7_700);
    expect(await tokensLeft({}, 2)).toBe(4_799);
  });
});

test("of several long texts the first is cut first, the next only where that is not enough", async () => {
  const rows = [{ name: "n", run: "r ".repeat(2_000), note: "s ".repeat(2_000) }];
  const [little] = (await fitRows({ rows, total: 1, offset: 0, budget: 3_000, long: ["run", "note"] })).rows;
  expect(little).toMatchObject({ name: "n", note: rows[0]?.note, content_chars: 8_000, content_truncated: true });
  expect(little?.run.length).toBeGreaterThan(0);
  expect(little?.run.length).toBeLessThan(4_000);
  const [much] = (await fitRows({ rows, total: 1, offset: 0, budget: 1_000, long: ["run", "note"] })).rows;
  expect(much).toMatchObject({ name: "n", run: "", content_truncated: true });
  expect(much?.note.length).toBeGreaterThan(0);
  expect(much?.note.length).toBeLessThan(4_000);
});
