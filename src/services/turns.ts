/** Turns by key: work that shares a key runs one after another, in the order of arrival; work that shares none does not wait. */
import { beforeAbort } from "../kernel/deadline.ts";
import { abortError } from "../store/transaction.ts";

export interface KeyedTurns {
  /** Runs `work` when everybody who came earlier under one of these keys is done. An aborted signal keeps it from starting. */
  take<T>(keys: readonly string[], work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

export function createKeyedTurns(): KeyedTurns {
  /** Settles when the last one in line under a key is done. */
  const last = new Map<string, Promise<void>>();

  return {
    async take(keys, work, signal) {
      const mine = [...new Set(keys)];
      const done = Promise.withResolvers<void>();
      // All keys at once: everybody stands in every line at the same place, so two can never wait for each other.
      const before = Promise.all(mine.map((key) => last.get(key)));
      for (const key of mine) last.set(key, done.promise);
      const leave = () => {
        done.resolve();
        for (const key of mine) if (last.get(key) === done.promise) last.delete(key);
      };
      try {
        await beforeAbort(signal, before);
      } catch {
        // Whoever comes behind still waits for those in front.
        void before.then(leave);
        throw abortError(signal);
      }
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
