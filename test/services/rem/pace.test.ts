import { expect, test } from "bun:test";
import { inSlices, type Pace } from "../../../src/services/rem/pace.ts";

/** A pace by a clock that each slice moves by so many milliseconds. */
const paced = (msPerSlice: number): Pace & { tick(): void } => {
  let now = 0;
  return {
    now: () => now,
    turn: async () => {},
    tick: () => {
      now += msPerSlice;
    },
  };
};
const sizesOf = async (msPerSlice: number, sizes: { first: number; most: number; least?: number }) => {
  const pace = paced(msPerSlice);
  const taken: number[] = [];
  await inSlices(pace, new AbortController().signal, sizes, async (size) => {
    taken.push(size);
    pace.tick();
    return taken.length < 6;
  });
  return taken;
};

test("quick slices grow to the largest, slow ones shrink to the least", async () => {
  expect(await sizesOf(2, { first: 100, most: 500 })).toEqual([100, 200, 400, 500, 500, 500]);
  expect(await sizesOf(2_000, { first: 100, most: 500 })).toEqual([100, 25, 6, 2, 1, 1]);
  expect(await sizesOf(2_000, { first: 100, most: 500, least: 50 })).toEqual([100, 50, 50, 50, 50, 50]);
});
