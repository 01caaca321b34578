import { expect, jest, test } from "bun:test";
import { createActivity } from "../../src/daemon/activity.ts";
import { collectAfterCalls } from "../../src/daemon/garbage.ts";

test("garbage is collected at the start, while calls run and once after the last one, and never in a quiet daemon", () => {
  jest.useFakeTimers();
  try {
    const activity = createActivity(() => 0);
    let collections = 0;
    const collector = collectAfterCalls(activity, { everyMs: 500, collect: () => collections++ });
    const after = (ms: number) => {
      jest.advanceTimersByTime(ms);
      return collections;
    };
    expect(after(5_000)).toBe(1);
    activity.begin()[Symbol.dispose]();
    expect(after(400)).toBe(1);
    expect(after(200)).toBe(2);
    expect(after(5_000)).toBe(2);
    const long = activity.begin();
    expect(after(1_000)).toBe(4);
    long[Symbol.dispose]();
    expect(after(500)).toBe(5);
    expect(after(5_000)).toBe(5);
    activity.begin()[Symbol.dispose]();
    collector[Symbol.dispose]();
    expect(after(5_000)).toBe(5);
  } finally {
    jest.useRealTimers();
  }
});
