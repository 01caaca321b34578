/** What the daemon is doing right now, whichever door it came through: decides when it is idle and when it is drained. */
import type { Clock } from "../kernel/deadline.ts";

export interface Activity {
  /** A request begins; dispose when it ended, by whatever road. */
  begin(): Disposable;
  readonly inFlight: number;
  /** Requests taken since the start. */
  readonly served: number;
  /** Milliseconds since the last request ended or began; 0 while one is in flight. */
  idleMs(): number;
  /** Resolves true when nothing is in flight, false after `limitMs`. */
  settled(limitMs: number): Promise<boolean>;
}

export function createActivity(clock: Clock = () => performance.now()): Activity {
  let inFlight = 0;
  let served = 0;
  let last = clock();
  let waiting: (() => void)[] = [];
  return {
    begin() {
      inFlight++;
      served++;
      let open = true;
      return {
        [Symbol.dispose]() {
          if (!open) return;
          open = false;
          inFlight--;
          last = clock();
          if (inFlight > 0) return;
          const now = waiting;
          waiting = [];
          for (const go of now) go();
        },
      };
    },
    get inFlight() {
      return inFlight;
    },
    get served() {
      return served;
    },
    idleMs: () => (inFlight > 0 ? 0 : clock() - last),
    async settled(limitMs) {
      if (inFlight === 0) return true;
      return await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(false), limitMs);
        waiting.push(() => {
          clearTimeout(timer);
          resolve(true);
        });
      });
    },
  };
}
