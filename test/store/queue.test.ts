import { expect, test } from "bun:test";
import { createTurns } from "../../src/store/queue.ts";

test("turns never overlap and keep the order of arrival", async () => {
  const turns = createTurns();
  const log: string[] = [];
  const turn = (name: string) =>
    turns.take(async () => {
      log.push(`${name} in`);
      await Promise.resolve();
      log.push(`${name} out`);
      return name;
    });
  expect(await Promise.all([turn("a"), turn("b"), turn("c")])).toEqual(["a", "b", "c"]);
  expect(log).toEqual(["a in", "a out", "b in", "b out", "c in", "c out"]);
});

test("a failure ends its own turn only", async () => {
  const turns = createTurns();
  const failed = turns.take(() => Promise.reject(new Error("mine")));
  const next = turns.take(async () => "next");
  await expect(failed).rejects.toThrow("mine");
  expect(await next).toBe("next");
});

test("who gives up while waiting leaves the queue, who is in turn goes on", async () => {
  const turns = createTurns();
  const gate = Promise.withResolvers<void>();
  const [first, second] = [new AbortController(), new AbortController()];
  const running = turns.take(() => gate.promise.then(() => "done"), first.signal);
  const waiting = turns.take(async () => "never", second.signal);
  const last = turns.take(async () => "last");
  expect(turns.waiting).toBe(2);
  first.abort();
  second.abort();
  expect(turns.waiting).toBe(1);
  gate.resolve();
  expect(await running).toBe("done");
  await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
  expect(await last).toBe("last");
});

test("who has given up before gets no turn", async () => {
  const turns = createTurns();
  await expect(turns.take(async () => "never", AbortSignal.abort())).rejects.toMatchObject({ code: "cancelled" });
  expect(await turns.take(async () => "free")).toBe("free");
});
