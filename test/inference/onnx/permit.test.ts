import { expect, test } from "bun:test";
import { createPermit } from "../../../src/inference/onnx/permit.ts";

const patient = () => new AbortController().signal;

test("one at a time, in the order they came; giving back twice gives back once", async () => {
  const permit = createPermit();
  const order: string[] = [];
  const first = await permit.acquire(patient());
  const noted = (name: string) =>
    permit.acquire(patient()).then((release) => {
      order.push(name);
      return release;
    });
  const [b, c] = [noted("b"), noted("c")];
  first();
  first();
  const releaseB = await b;
  await Promise.resolve();
  expect(order).toEqual(["b"]);
  releaseB();
  (await c)();
  expect(order).toEqual(["b", "c"]);
  (await permit.acquire(patient()))();
});

test("whoever gives up leaves the line with the signal's reason and takes nothing along", async () => {
  const permit = createPermit();
  const release = await permit.acquire(patient());
  const gone = new AbortController();
  const waiting = permit.acquire(gone.signal);
  const next = permit.acquire(patient());
  gone.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  release();
  (await next)();
  await expect(permit.acquire(gone.signal)).rejects.toThrow("enough");
});
