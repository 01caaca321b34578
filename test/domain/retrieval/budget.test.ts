import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { fitToBudget } from "../../../src/domain/retrieval/budget.ts";

const countTokens = (text: string) => Math.ceil(text.length / 4);
const fit = (texts: readonly string[], maxTokens: number) =>
  fitToBudget(
    texts.map((c, id) => ({ id, c })),
    maxTokens,
    countTokens,
    (row) => row.c,
    (row, c) => ({ ...row, c }),
  );

describe("a token budget", () => {
  test("keeps everything that fits, unmarked", () => {
    expect(fit(["one", "two"], 100)).toEqual({
      rows: [
        { id: 0, c: "one" },
        { id: 1, c: "two" },
      ],
      omitted: 0,
      tokens: 11,
    });
  });

  test("cuts the first row that does not fit, says so, and stops there", () => {
    const { rows, omitted } = fit(["x".repeat(40), "y".repeat(400), "z"], 60);
    expect(rows).toHaveLength(2);
    expect(rows[1]).toMatchObject({ id: 1, truncated: true });
    expect(rows[1]?.c.length).toBeGreaterThan(80);
    expect(omitted).toBe(1);
  });

  test("leaves a row out where only a stub would fit", () => {
    expect(fit(["x".repeat(400)], 8)).toEqual({ rows: [], omitted: 1, tokens: 0 });
  });

  test("is never exceeded by the JSON it returns, and breaks no character", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme", maxLength: 200 }), { maxLength: 8 }),
        fc.integer({ min: 1, max: 200 }),
        (texts, maxTokens) => {
          const { rows, omitted, tokens } = fit(texts, maxTokens);
          expect(rows.length + omitted).toBe(texts.length);
          expect(tokens).toBeLessThanOrEqual(maxTokens);
          expect(rows.reduce((sum, row) => sum + countTokens(JSON.stringify(row)), 0)).toBeLessThanOrEqual(maxTokens);
          expect(rows.every((row) => row.c.isWellFormed())).toBe(true);
        },
      ),
    );
  });
});
