import { expect, test } from "bun:test";
import { silentLogger } from "../../src/kernel/logger.ts";
import { createBackground } from "../../src/services/background.ts";

test("a drain waits for what runs, and for what that starts", async () => {
  const background = createBackground(silentLogger);
  const done: string[] = [];
  background.run("first", async () => {
    await new Promise((resolve) => setImmediate(resolve));
    done.push("first");
    background.run("second", async () => void done.push("second"));
  });
  expect(await background.drain(5_000)).toBe(0);
  expect(done).toEqual(["first", "second"]);
});

test("a failure is nobody's error, and a drain without time tells what still runs", async () => {
  const background = createBackground(silentLogger);
  background.run("fails", () => Promise.reject(new Error("no")));
  const never = Promise.withResolvers<void>();
  background.run("hangs", () => never.promise);
  expect(await background.drain(20)).toBe(1);
  never.resolve();
  expect(await background.drain(5_000)).toBe(0);
});
