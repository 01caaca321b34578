/** Turns on one connection: work runs in the order of arrival, one at a time; who gives up while waiting leaves the queue. */
import { abortError } from "./transaction.ts";

interface Waiter {
  readonly start: () => void;
}

export interface Turns {
  /** Runs `work` alone. An aborted `signal` keeps it from starting; once it runs, it runs to its end. */
  take<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Number of callers that wait. */
  readonly waiting: number;
}

export function createTurns(): Turns {
  const queue = new Set<Waiter>();
  let busy = false;

  const next = () => {
    const [waiter] = queue;
    if (waiter === undefined) {
      busy = false;
      return;
    }
    queue.delete(waiter);
    waiter.start();
  };

  const turn = (signal: AbortSignal | undefined) =>
    new Promise<void>((resolve, reject) => {
      if (signal?.aborted) return reject(abortError(signal));
      if (!busy) {
        busy = true;
        return resolve();
      }
      const leave = () => {
        queue.delete(waiter);
        if (signal !== undefined) reject(abortError(signal));
      };
      const waiter: Waiter = {
        start: () => {
          signal?.removeEventListener("abort", leave);
          resolve();
        },
      };
      queue.add(waiter);
      signal?.addEventListener("abort", leave, { once: true });
    });

  return {
    async take(work, signal) {
      await turn(signal);
      try {
        return await work();
      } finally {
        next();
      }
    },
    get waiting() {
      return queue.size;
    },
  };
}
