import type { Steps } from "../../src/kernel/steps.ts";

/** The result of a computation in steps, at once. */
export function resultOf<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
