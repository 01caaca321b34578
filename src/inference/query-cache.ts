/** Vectors of recent questions: agents ask again, and a question costs 5–30 ms. */
import type { Clock } from "../kernel/deadline.ts";

/** 256 × 384 floats are 400 kB; five minutes are a working stretch (`retrieval.md` §5.3). */
const ENTRIES = 256;
const TTL_MS = 300_000;

export interface QueryCache {
  get(key: string): Float32Array | undefined;
  put(key: string, vector: Float32Array): void;
}

/** Least recently used goes first. Vectors are copied both ways, so no caller changes another's. */
export function createQueryCache(clock: Clock = () => performance.now()): QueryCache {
  const entries = new Map<string, { readonly vector: Float32Array; readonly until: number }>();
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      if (entry.until <= clock()) return undefined;
      entries.set(key, entry);
      return entry.vector.slice();
    },
    put(key, vector) {
      entries.delete(key);
      entries.set(key, { vector: vector.slice(), until: clock() + TTL_MS });
      if (entries.size <= ENTRIES) return;
      for (const oldest of entries.keys()) {
        entries.delete(oldest);
        return;
      }
    },
  };
}
