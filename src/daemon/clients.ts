/** Who talks to the daemon over HTTP, as far as it was seen (`cli-daemon.md` §4.4). */
import type { Clock } from "../kernel/deadline.ts";

export interface SeenClient {
  readonly client: string;
  readonly idleSecs: number;
}

export interface Clients {
  /** @param key label[@machine][::session] */
  saw(key: string): void;
  list(): SeenClient[];
}

/** A caller can invent ids; beyond this many the one unseen for longest is forgotten. */
const MAX_CLIENTS = 1_000;
const FORGET_AFTER_MS = 24 * 3_600_000;

export function createClients(clock: Clock = () => performance.now()): Clients {
  const seen = new Map<string, number>();
  const forget = () => {
    for (const [key, at] of seen) {
      if (seen.size <= MAX_CLIENTS && clock() - at <= FORGET_AFTER_MS) break;
      seen.delete(key);
    }
  };
  return {
    saw(key) {
      // Taken out and put back: the map's order is then that of the last sight.
      seen.delete(key);
      seen.set(key, clock());
      forget();
    },
    list() {
      forget();
      return [...seen].map(([client, at]) => ({ client, idleSecs: Math.round((clock() - at) / 1000) }));
    },
  };
}
