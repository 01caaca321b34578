import { expect, test } from "bun:test";
import { createLane } from "../../../src/inference/onnx/lane.ts";

const calls = () => new AbortController();

test("questions go first, and each kind keeps its order", async () => {
  const lane = createLane();
  const done = [
    lane.enter("p1", "passage", calls()),
    lane.enter("q1", "query", calls()),
    lane.enter("p2", "passage", calls()),
    lane.enter("q2", "query", calls()),
  ];
  const order: string[] = [];
  for (let ticket = lane.next(); ticket !== undefined; ticket = lane.next()) {
    order.push(ticket.text);
    ticket.resolve(new Float32Array());
  }
  await Promise.all(done);
  expect(order).toEqual(["q1", "q2", "p1", "p2"]);
  expect(lane.waiting).toBe(0);
});

test("the tokens of a passage stand with the questions: they are read for one", async () => {
  const lane = createLane();
  const done = [
    lane.enter("backlog", "passage", calls()),
    lane.enter("near", "passage", calls(), "tokens"),
    lane.enter("q", "query", calls()),
  ];
  const order: string[] = [];
  for (let ticket = lane.next(); ticket !== undefined; ticket = lane.next()) {
    order.push(`${ticket.text} ${ticket.wanted}`);
    ticket.resolve(new Float32Array());
  }
  await Promise.all(done);
  expect(order).toEqual(["near tokens", "q vector", "backlog vector"]);
});

test("whoever gives up leaves the line; a passed deadline and a cancelled call are told apart", async () => {
  const lane = createLane();
  const [late, gone] = [calls(), calls()];
  const waiting = [lane.enter("a", "query", late), lane.enter("b", "query", gone), lane.enter("c", "query", calls())];
  late.abort(new DOMException("deadline passed", "TimeoutError"));
  gone.abort();
  await expect(waiting[0]).rejects.toMatchObject({ code: "timeout" });
  await expect(waiting[1]).rejects.toMatchObject({ code: "cancelled" });
  expect(lane.waiting).toBe(1);
  expect(lane.next()?.text).toBe("c");
});

test("a text that fails takes the rest of its call along, and no other", async () => {
  const lane = createLane();
  const call = calls();
  const pair = Promise.all([lane.enter("a", "passage", call), lane.enter("b", "passage", call)]);
  const other = lane.enter("c", "passage", calls());
  lane.next()?.reject(new Error("odd"));
  await expect(pair).rejects.toThrow("odd");
  lane.next()?.resolve(Float32Array.of(3));
  expect(await other).toEqual(Float32Array.of(3));
});

test("clearing sends everybody away with one error", async () => {
  const lane = createLane();
  const all = Promise.allSettled([lane.enter("a", "passage", calls()), lane.enter("b", "query", calls())]);
  lane.clear(new Error("closed"));
  expect((await all).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(lane.waiting).toBe(0);
});
