import { expect, test } from "bun:test";
import { fromHalf, pool, toUnit } from "../../../src/inference/onnx/pooling.ts";

// last_hidden_state f32 [1, 3 tokens, 2]
const hidden = Float32Array.of(1, 2, 3, 4, 5, 9);

test("mean takes every token, cls the first, none the graph's own vector", () => {
  expect([...pool(hidden, 3, 2, "mean")]).toEqual([3, 5]);
  expect([...pool(hidden, 3, 2, "cls")]).toEqual([1, 2]);
  expect([...pool(Float32Array.of(7, 8), 3, 2, "none")]).toEqual([7, 8]);
});

test("a unit vector has length 1, and nothing stays nothing", () => {
  expect([...toUnit(Float32Array.of(3, 4))]).toEqual([Math.fround(0.6), Math.fround(0.8)]);
  expect([...toUnit(Float32Array.of(0, 0))]).toEqual([0, 0]);
});

test("numbers that are no direction are an error", () => {
  expect(() => toUnit(Float32Array.of(1, Number.NaN))).toThrow("not finite");
  expect(() => toUnit(Float32Array.of(1, Number.POSITIVE_INFINITY))).toThrow("not finite");
});

test("half-precision patterns are read as halves", () => {
  expect([...fromHalf(Uint16Array.of(0x3c00, 0xc000, 0x7bff, 0x0000, 0x3555))]).toEqual([1, -2, 65_504, 0, 0.333251953125]);
  expect([...fromHalf(Float16Array.of(0.5, -0.25))]).toEqual([0.5, -0.25]);
});
