import { expect, test } from "bun:test";
import { createQueryCache } from "../../src/inference/query-cache.ts";

test("a vector is kept for 300 seconds", () => {
  let now = 0;
  const cache = createQueryCache(() => now);
  cache.put("a", Float32Array.of(1));
  now = 299_999;
  expect(cache.get("a")).toEqual(Float32Array.of(1));
  now = 300_000;
  expect(cache.get("a")).toBeUndefined();
});

test("of 257 entries the least recently used one goes", () => {
  const cache = createQueryCache(() => 0);
  for (let i = 0; i < 256; i++) cache.put(String(i), Float32Array.of(i));
  cache.get("0");
  cache.put("256", Float32Array.of(256));
  expect(cache.get("1")).toBeUndefined();
  expect(cache.get("0")).toEqual(Float32Array.of(0));
  expect(cache.get("256")).toEqual(Float32Array.of(256));
});

test("a caller that changes its vector changes nobody else's", () => {
  const cache = createQueryCache(() => 0);
  const mine = Float32Array.of(1);
  cache.put("a", mine);
  mine[0] = 5;
  cache.get("a")?.fill(9);
  expect(cache.get("a")).toEqual(Float32Array.of(1));
});
