/** From token vectors to one text vector. */

export type Pooling = "mean" | "cls" | "none";

/** A norm below this is no direction: the divisor stops here, as in the reference. */
const LEAST_NORM = 1e-9;

/**
 * One text's vector, not yet of unit length, f32 [dim].
 * @param output `mean`, `cls`: last_hidden_state f32 [1, tokens, dim], every token under the mask (a batch of one has no padding);
 * `none`: the graph's own text vector f32 [1, dim].
 */
export function pool(output: Float32Array, tokens: number, dimensions: number, pooling: Pooling): Float32Array<ArrayBuffer> {
  if (pooling !== "mean") return Float32Array.from(output.subarray(0, dimensions));
  const sum = new Float64Array(dimensions);
  for (let at = 0; at < tokens * dimensions; at += dimensions)
    for (let k = 0; k < dimensions; k++) sum[k] = (sum[k] ?? 0) + (output[at + k] ?? 0);
  return Float32Array.from(sum, (total) => total / tokens);
}

/**
 * The same direction with length 1. @throws Error where the numbers are no direction (NaN, infinite), which a damaged graph returns.
 */
export function toUnit(vector: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (!Number.isFinite(squares)) throw new Error("the model returned numbers that are not finite");
  const norm = Math.max(Math.sqrt(squares), LEAST_NORM);
  return vector.map((value) => value / norm);
}

/**
 * Half-precision numbers to single. The runtime hands a `float16` tensor over as raw 16-bit patterns or as a Float16Array, by its version; reading the
 * patterns as numbers gives garbage without an error.
 */
export function fromHalf(data: ArrayBufferView): Float32Array<ArrayBuffer> {
  return Float32Array.from(new Float16Array(data.buffer, data.byteOffset, data.byteLength / 2));
}
