import { expect, test } from "bun:test";
import { createKeyedTurns } from "../../src/services/turns.ts";

const never = new AbortController().signal;
const tick = () => new Promise((resolve) => setImmediate(resolve));

test("work under one key runs in the order of arrival, under others beside it", async () => {
  const turns = createKeyedTurns();
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = turns.take(["a"], async () => void (await gate.promise, log.push("first")), never);
  const second = turns.take(["b", "a"], async () => void log.push("second"), never);
  const other = turns.take(["c"], async () => void log.push("other"), never);
  const third = turns.take(["b"], async () => void log.push("third"), never);
  await other;
  await tick();
  expect(log).toEqual(["other"]);
  gate.resolve();
  await Promise.all([first, second, third]);
  expect(log).toEqual(["other", "first", "second", "third"]);
});

test("a failure gives the turn on, and who gives up leaves the line without letting others past", async () => {
  const turns = createKeyedTurns();
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const failing = turns.take(["a"], () => gate.promise, never);
  const ending = new AbortController();
  const given = turns.take(["a"], async () => void log.push("given up"), ending.signal);
  const last = turns.take(["a"], async () => void log.push("last"), never);
  ending.abort();
  await expect(given).rejects.toThrow("cancelled");
  await tick();
  expect(log).toEqual([]);
  gate.reject(new Error("no"));
  await expect(failing).rejects.toThrow("no");
  await last;
  expect(log).toEqual(["last"]);
});

test("opposite orders of the same keys do not wait for each other", async () => {
  const turns = createKeyedTurns();
  const work = async () => tick();
  await Promise.all(Array.from({ length: 20 }, (_, i) => turns.take(i % 2 === 0 ? ["a", "b"] : ["b", "a"], work, never)));
  expect(await turns.take(["a", "b"], async () => "free", never)).toBe("free");
});
