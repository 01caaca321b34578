/** How evenly things are spread over kinds (Shannon 1948). */

/** In bits; 0 for one kind or none. [2, 1, 1] → 1.5. */
export function entropy(counts: readonly number[]): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return counts.reduce((sum, count) => (count > 0 ? sum - (count / total) * Math.log2(count / total) : sum), 0);
}

/** As a share of what it could be with so many kinds: 0–1. [2, 1, 1] → 0.946; of one kind 0, of none 0. */
export const evenness = (counts: readonly number[]): number =>
  counts.length === 0 ? 0 : entropy(counts) / Math.max(Math.log2(counts.length), 0.001);
