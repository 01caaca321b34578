/** How long work stays out of the way: small slices, and between two of them whoever is being served goes first. */
import type { Steps } from "../kernel/steps.ts";
import { abortError } from "../store/transaction.ts";

/** Calls of clients that are being answered now, by their ids. */
export interface Calls {
  /** Counts a call until the returned function is called. */
  enter(id: string): () => void;
  /** A call that takes long goes behind the others: it is counted no longer, so that nobody gives way to it, and gives way to them. */
  standBack(id: string): void;
  /** Resolves when none is being answered, at once where that is now. */
  quiet(): Promise<void>;
}

export function createCalls(): Calls {
  const ahead = new Set<string>();
  let waiting: PromiseWithResolvers<void> | undefined;
  const leave = (id: string) => {
    ahead.delete(id);
    if (ahead.size > 0) return;
    waiting?.resolve();
    waiting = undefined;
  };
  return {
    enter(id) {
      ahead.add(id);
      return () => leave(id);
    },
    standBack: leave,
    quiet() {
      if (ahead.size === 0) return Promise.resolve();
      waiting ??= Promise.withResolvers<void>();
      return waiting.promise;
    },
  };
}

/** What a slice should take, milliseconds: a call that comes while it runs waits no longer than that (bar: 100 ms at 100,000 observations). */
const SLICE_MS = 20;
/** After so long a busy service gets a slice all the same, milliseconds: a cycle must come to its end. */
const LONGEST_WAIT_MS = 500;
/** The same for a call that somebody waits for, and that has a deadline: a search at 100,000 observations is over by then. */
const LONGEST_WAIT_OF_A_CALL_MS = 100;
/** Growth and shrinking of the next slice are bounded: one lucky or unlucky slice says little. */
const MOST_GROWTH = 2;
const MOST_SHRINKING = 0.25;

export interface Pace {
  /** Lets everybody who waits go first. @throws MemoryError `cancelled` where the cycle is told to stop. */
  turn(signal: AbortSignal): Promise<void>;
  /** Milliseconds, monotonic. */
  now(): number;
}

export function createPace({ quiet }: Pick<Calls, "quiet">, longestWaitMs = LONGEST_WAIT_MS): Pace {
  return {
    now: () => performance.now(),
    async turn(signal) {
      // Requests whose bytes have arrived begin now, and are counted.
      await new Promise((resolve) => setImmediate(resolve));
      let timer: ReturnType<typeof setTimeout> | undefined;
      await Promise.race([
        quiet(),
        new Promise<void>((resolve) => {
          timer = setTimeout(resolve, longestWaitMs);
        }),
      ]);
      clearTimeout(timer);
      if (signal.aborted) throw abortError(signal);
    },
  };
}

/** The pace of a call that takes long; work that somebody waits for without a call of a client has no id. */
export type PaceOfCall = (callId?: string) => Pace;

export function paceBehind(calls: Calls): PaceOfCall {
  return (callId) => {
    if (callId !== undefined) calls.standBack(callId);
    return createPace(calls, LONGEST_WAIT_OF_A_CALL_MS);
  };
}

/**
 * Runs `slice` until it answers false. The size of a slice follows the time that slices take.
 * @param sizes of the first slice, the largest and the least, and the milliseconds that one should take where that is not the usual. The time of a slice holds its wait for the connection: on a busy machine slices would shrink
 *   to a row each and never come to an end, while nobody waits for the few milliseconds that the least one takes.
 */
export async function inSlices(
  pace: Pace,
  signal: AbortSignal,
  sizes: { readonly first: number; readonly most: number; readonly least?: number; readonly ms?: number },
  slice: (size: number) => Promise<boolean>,
): Promise<void> {
  let size = sizes.first;
  for (let more = true; more; ) {
    await pace.turn(signal);
    const startedAt = pace.now();
    more = await slice(size);
    const factor = (sizes.ms ?? SLICE_MS) / Math.max(1, pace.now() - startedAt);
    size = Math.min(sizes.most, Math.max(sizes.least ?? 1, Math.round(size * Math.min(MOST_GROWTH, Math.max(MOST_SHRINKING, factor)))));
  }
}

/** Runs a computation step by step; whenever a slice's time is over, others go first. */
export async function inTurns<Result>(pace: Pace, signal: AbortSignal, steps: Steps<Result>): Promise<Result> {
  let startedAt = pace.now();
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (pace.now() - startedAt < SLICE_MS) continue;
    await pace.turn(signal);
    startedAt = pace.now();
  }
}
