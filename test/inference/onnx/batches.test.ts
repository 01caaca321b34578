import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { planBatches } from "../../../src/inference/onnx/batches.ts";

const rules = { chunk: 2, bucket: 0, fixedShape: false, byLength: true, maxTokens: 512 };

describe("passes", () => {
  test("longest first, alike together, padded to the longest of the pass", () => {
    expect(planBatches([10, 300, 12, 40, 5], rules)).toEqual([
      { rows: [1, 3], length: 300, size: 2 },
      { rows: [2, 0], length: 12, size: 2 },
      { rows: [4], length: 5, size: 1 },
    ]);
  });
  test("in the order given where lengths are not looked at", () => {
    expect(planBatches([10, 300, 12], { ...rules, byLength: false }).map(({ rows }) => rows)).toEqual([[0, 1], [2]]);
  });
  test("a bucket rounds up, and not past what the model reads", () => {
    expect(planBatches([10, 33, 500], { ...rules, chunk: 1, bucket: 32 }).map(({ length }) => length)).toEqual([512, 64, 32]);
    expect(planBatches([400], { ...rules, bucket: 512, maxTokens: 480 })).toEqual([{ rows: [0], length: 480, size: 1 }]);
  });
  test("a fixed shape is always the same", () => {
    expect(planBatches([10, 300, 12], { ...rules, fixedShape: true })).toEqual([
      { rows: [1, 2], length: 512, size: 2 },
      { rows: [0], length: 512, size: 2 },
    ]);
  });
  test("every pair goes exactly once, fits its pass, and no pass is larger than a chunk", () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 512 }), { maxLength: 60 });
    const any = fc.record({
      chunk: fc.integer({ min: 1, max: 20 }),
      bucket: fc.constantFrom(0, 1, 32, 64, 512),
      fixedShape: fc.boolean(),
      byLength: fc.boolean(),
      maxTokens: fc.constant(512),
    });
    fc.assert(
      fc.property(lengths, any, (each, chosen) => {
        const batches = planBatches(each, chosen);
        expect(batches.flatMap(({ rows }) => rows).sort((a, b) => a - b)).toEqual(each.map((_, at) => at));
        for (const { rows, length, size } of batches) {
          expect(rows.length).toBeLessThanOrEqual(chosen.chunk);
          expect(size).toBeGreaterThanOrEqual(rows.length);
          expect(length).toBeLessThanOrEqual(512);
          for (const row of rows) expect(each[row]).toBeLessThanOrEqual(length);
        }
      }),
    );
  });
});
