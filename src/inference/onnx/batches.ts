/** How pairs become forward passes: which rows together, padded to what. Scores do not depend on it, time does. */

export interface BatchRules {
  /** Pairs of a pass (`CUBA_RERANK_CHUNK`). */
  readonly chunk: number;
  /** Lengths are rounded up to a multiple of it; 0 pads to the longest of the pass (`CUBA_RERANK_BUCKET`). */
  readonly bucket: number;
  /** Every pass has the same shape, chunk × the longest that the model reads: a new shape would compile a card's kernels again. */
  readonly fixedShape: boolean;
  /** Pairs of similar length go together (`CUBA_RERANK_LENGTH_BUCKETING`). */
  readonly byLength: boolean;
  /** Longest input of the model in tokens. */
  readonly maxTokens: number;
}

export interface PlannedBatch {
  /** Places in the list that was given. */
  readonly rows: readonly number[];
  /** Tokens of each row. */
  readonly length: number;
  /** Rows of the tensor; more than `rows` where the shape is fixed. */
  readonly size: number;
}

/**
 * Longest first, so that a pass that takes too long shows at once and the last ones are quick.
 * @param lengths tokens of each pair.
 */
export function planBatches(lengths: readonly number[], { chunk, bucket, fixedShape, byLength, maxTokens }: BatchRules): PlannedBatch[] {
  const order = lengths.map((_, at) => at);
  if (byLength) order.sort((a, b) => (lengths[b] ?? 0) - (lengths[a] ?? 0) || a - b);
  const batches: PlannedBatch[] = [];
  for (let from = 0; from < order.length; from += chunk) {
    const rows = order.slice(from, from + chunk);
    const longest = Math.max(1, ...rows.map((row) => lengths[row] ?? 0));
    const rounded = bucket > 0 ? Math.ceil(longest / bucket) * bucket : longest;
    // A bucket may round past what the model reads, never below what is there.
    const length = fixedShape ? maxTokens : Math.max(longest, Math.min(rounded, maxTokens));
    batches.push({ rows, length, size: fixedShape ? chunk : rows.length });
  }
  return batches;
}
