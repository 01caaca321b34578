/** What costs too much to find out for each question, kept for a while. A value that says "there is none" is kept like any other. */
import type { Clock } from "../../../kernel/deadline.ts";

/** Five minutes are a working stretch (`retrieval.md` §6.5). */
const TTL_MS = 300_000;

export interface Remembered<T> {
  /** The value of this key; computed where it is missing or old. Several who ask at once wait for one computation. */
  of(key: string, compute: () => Promise<T>): Promise<T>;
  forget(): void;
}

/** At most `entries` values; the one that was not asked for longest goes first. A computation that failed is not kept. */
export function createRemembered<T>(entries: number, clock: Clock): Remembered<T> {
  const kept = new Map<string, { readonly value: Promise<T>; readonly until: number }>();
  return {
    of(key, compute) {
      const known = kept.get(key);
      kept.delete(key);
      if (known !== undefined && known.until > clock()) {
        kept.set(key, known);
        return known.value;
      }
      const entry = { value: compute(), until: clock() + TTL_MS };
      kept.set(key, entry);
      entry.value.catch(() => {
        if (kept.get(key) === entry) kept.delete(key);
      });
      for (const oldest of kept.keys()) {
        if (kept.size <= entries) break;
        kept.delete(oldest);
      }
      return entry.value;
    },
    forget: () => kept.clear(),
  };
}
