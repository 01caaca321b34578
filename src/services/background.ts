/** Work that goes on after an answer: tracked, so that a shutdown waits for it, and never an error for anybody. */
import { causeChain } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";

export interface Background {
  /** Starts `work`; its failure is logged under `name`. */
  run(name: string, work: () => Promise<void>): void;
  /** Waits until nothing runs, at most `limitMs`. @returns how many tasks were left running. */
  drain(limitMs: number): Promise<number>;
}

export function createBackground(log: Logger): Background {
  const running = new Set<Promise<void>>();
  return {
    run(name, work) {
      const task: Promise<void> = work()
        .catch((cause: unknown) => log.warn("background work failed", { work: name, cause: causeChain(cause) }))
        .finally(() => running.delete(task));
      running.add(task);
    },
    async drain(limitMs) {
      const timer = Promise.withResolvers<void>();
      const handle = setTimeout(timer.resolve, limitMs);
      let expired = false;
      void timer.promise.then(() => {
        expired = true;
      });
      // A task may start another: look again until none is left.
      while (running.size > 0 && !expired) await Promise.race([Promise.allSettled([...running]), timer.promise]);
      clearTimeout(handle);
      return running.size;
    },
  };
}
