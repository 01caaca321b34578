import { expect, test } from "bun:test";
import { createCalls, inSlices, type Pace, paceBehind } from "../../src/services/pace.ts";

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

test("a call that stands back is waited for by nobody, and lets the others go first", async () => {
  const calls = createCalls();
  const order: string[] = [];
  const leaveSlow = calls.enter("slow");
  const leaveQuick = calls.enter("quick");
  const slow = paceBehind(calls)("slow")
    .turn(new AbortController().signal)
    .then(() => order.push("slow"));
  // The event loop goes round several times: the slow one could have gone on.
  for (let round = 0; round < 5; round++) await new Promise((resolve) => setImmediate(resolve));
  order.push("quick");
  leaveQuick();
  await slow;
  expect(order).toEqual(["quick", "slow"]);
  // Only the call that stands back is left: a cycle does not wait for it.
  await calls.quiet();
  leaveSlow();
  await calls.quiet();
});

test("a call that takes long gets its turn beside others that never end", async () => {
  const calls = createCalls();
  calls.enter("endless");
  await paceBehind(calls)("slow").turn(new AbortController().signal);
});
