import { describe, expect, test } from "bun:test";
import { createActivity } from "../../src/daemon/activity.ts";
import { watchIdle } from "../../src/daemon/idle.ts";

describe("what a daemon is doing", () => {
  test("is counted until it ends, and the time since then runs from its end", async () => {
    let now = 0;
    const activity = createActivity(() => now);
    now = 100;
    expect(activity.idleMs()).toBe(100);
    const first = activity.begin();
    const second = activity.begin();
    now = 500;
    expect([activity.inFlight, activity.served, activity.idleMs()]).toEqual([2, 2, 0]);
    const settled = activity.settled(60_000);
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    expect(activity.inFlight).toBe(1);
    second[Symbol.dispose]();
    expect(await settled).toBe(true);
    now = 700;
    expect([activity.inFlight, activity.idleMs()]).toEqual([0, 200]);
  });

  test("what does not end is waited for no longer than allowed", async () => {
    const activity = createActivity();
    using _ = activity.begin();
    expect(await activity.settled(5)).toBe(false);
    expect(await createActivity().settled(0)).toBe(true);
  });
});

describe("an idle daemon", () => {
  const start = (change: { bridges?: number; idle?: number; before?: () => Promise<void> } = {}) => {
    const state = { bridges: change.bridges ?? 0, idle: change.idle ?? 10_000 };
    let ended = 0;
    const ending = Promise.withResolvers<void>();
    const watch = watchIdle({
      windowMs: 10,
      bridges: () => state.bridges,
      idleMs: () => state.idle,
      before: change.before,
      onIdle: () => {
        ended++;
        ending.resolve();
      },
    });
    return { state, ended: () => ended, ending: ending.promise, watch };
  };
  /** Several looks: at this window one is every 50 ms. */
  const looks = () => Bun.sleep(200);

  test("ends once, after its window", async () => {
    const it = start();
    await it.ending;
    await looks();
    expect(it.ended()).toBe(1);
    it.watch[Symbol.dispose]();
  });

  test("is not idle while a bridge is connected or a request ran within the window", async () => {
    const connected = start({ bridges: 1 });
    const busy = start({ idle: 9 });
    await looks();
    expect([connected.ended(), busy.ended()]).toEqual([0, 0]);
    connected.state.bridges = 0;
    await connected.ending;
    connected.watch[Symbol.dispose]();
    busy.watch[Symbol.dispose]();
  });

  test("does what is due first, and stays for whoever comes meanwhile", async () => {
    const due = Promise.withResolvers<void>();
    let ran = 0;
    const it = start({
      before: async () => {
        ran++;
        await due.promise;
      },
    });
    await looks();
    expect([ran, it.ended()]).toEqual([1, 0]);
    it.state.bridges = 1;
    due.resolve();
    await looks();
    expect(it.ended()).toBe(0);
    it.state.bridges = 0;
    await it.ending;
    expect(ran).toBe(2);
    it.watch[Symbol.dispose]();
  });
});
