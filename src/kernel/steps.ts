/** Long computations in steps: pure code that hands control back now and then, so that whoever runs it can let others go first (`services/pace.ts`). */

/** Yields between two steps, and returns the result. */
export type Steps<Result> = Generator<void, Result>;

/** Runs all the steps at once. */
export function toEnd<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Items sorted or merged in one step: about a millisecond. */
const AT_ONCE = 1_000;

/** Sorts by pieces that are merged, two by two. Stable. */
export function* sortedInSteps<T>(items: readonly T[], compare: (a: T, b: T) => number): Steps<T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    runs.push(items.slice(at, at + AT_ONCE).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* mergedInSteps(runs[at] ?? [], runs[at + 1] ?? [], compare));
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergedInSteps<T>(left: readonly T[], right: readonly T[], compare: (a: T, b: T) => number): Steps<T[]> {
  const merged: T[] = [];
  let [at, other] = [0, 0];
  while (at < left.length || other < right.length) {
    const [a, b] = [left[at], right[other]];
    const takesLeft = other >= right.length || (at < left.length && a !== undefined && b !== undefined && compare(a, b) <= 0);
    const next = takesLeft ? left[at++] : right[other++];
    if (next !== undefined) merged.push(next);
    if (merged.length % AT_ONCE === 0) yield;
  }
  return merged;
}
