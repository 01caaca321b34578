import { expect, test } from "bun:test";
import { watchParent } from "../../src/transports/parent.ts";

/** Waits for a few looks of the watch. */
const looks = () => Bun.sleep(30);

test("a parent that is gone ends the bridge once its client is quiet, not before", async () => {
  let parent = 42;
  using watch = watchParent({ parentOf: () => parent, lookEveryMs: 2, quietMs: 500 });
  await looks();
  expect(watch.gone.aborted).toBe(false);
  parent = 1;
  watch.heard();
  await looks();
  expect(watch.gone.aborted).toBe(false);
  await new Promise<void>((resolve) => watch.gone.addEventListener("abort", () => resolve()));
});

test("one that was never there (pid 1 of a container) never goes", async () => {
  using watch = watchParent({ parentOf: () => 1, lookEveryMs: 2, quietMs: 0 });
  await looks();
  expect(watch.gone.aborted).toBe(false);
});
