/** How a cycle stays out of the way: small slices, and between two of them whoever is being served goes first. */
import { abortError } from "../../store/transaction.ts";

/** Calls of clients that are being answered now. */
export interface Calls {
  /** Counts a call until the returned function is called. */
  enter(): () => void;
  /** Resolves when none is being answered, at once where that is now. */
  quiet(): Promise<void>;
}

export function createCalls(): Calls {
  let running = 0;
  let waiting: PromiseWithResolvers<void> | undefined;
  return {
    enter() {
      running++;
      return () => {
        running--;
        if (running > 0) return;
        waiting?.resolve();
        waiting = undefined;
      };
    },
    quiet() {
      if (running === 0) return Promise.resolve();
      waiting ??= Promise.withResolvers<void>();
      return waiting.promise;
    },
  };
}

/** What a slice should take, milliseconds: a call that comes while it runs waits no longer than that (bar: 100 ms at 100,000 observations). */
const SLICE_MS = 20;
/** After so long a busy service gets a slice all the same, milliseconds: a cycle must come to its end. */
const LONGEST_WAIT_MS = 500;
/** Growth and shrinking of the next slice are bounded: one lucky or unlucky slice says little. */
const MOST_GROWTH = 2;
const MOST_SHRINKING = 0.25;

export interface Pace {
  /** Lets everybody who waits go first. @throws MemoryError `cancelled` where the cycle is told to stop. */
  turn(signal: AbortSignal): Promise<void>;
  /** Milliseconds, monotonic. */
  now(): number;
}

export function createPace({ quiet }: Pick<Calls, "quiet">, clock: () => number = () => performance.now()): Pace {
  return {
    now: clock,
    async turn(signal) {
      // Requests whose bytes have arrived begin now, and are counted.
      await new Promise((resolve) => setImmediate(resolve));
      let timer: ReturnType<typeof setTimeout> | undefined;
      await Promise.race([
        quiet(),
        new Promise<void>((resolve) => {
          timer = setTimeout(resolve, LONGEST_WAIT_MS);
        }),
      ]);
      clearTimeout(timer);
      if (signal.aborted) throw abortError(signal);
    },
  };
}

/** The pace of a call that somebody waits for: whoever came meanwhile gets a turn, and no more. */
export const callPace = (): Pace => createPace({ quiet: () => Promise.resolve() });

/**
 * Runs `slice` until it answers false. The size of a slice follows the time that slices take.
 * @param sizes of the first slice, the largest and the least. The time of a slice holds its wait for the connection: on a busy machine slices would shrink
 *   to a row each and never come to an end, while nobody waits for the few milliseconds that the least one takes.
 */
export async function inSlices(
  pace: Pace,
  signal: AbortSignal,
  sizes: { readonly first: number; readonly most: number; readonly least?: number },
  slice: (size: number) => Promise<boolean>,
): Promise<void> {
  let size = sizes.first;
  for (let more = true; more; ) {
    await pace.turn(signal);
    const startedAt = pace.now();
    more = await slice(size);
    const factor = SLICE_MS / Math.max(1, pace.now() - startedAt);
    size = Math.min(sizes.most, Math.max(sizes.least ?? 1, Math.round(size * Math.min(MOST_GROWTH, Math.max(MOST_SHRINKING, factor)))));
  }
}
