/**
 * Which names of many nearly are one: every pair above a trigram similarity, without comparing every pair. Two names whose sets share more than t of
 * their union share one of the |A| − ⌈t·|A|⌉ + 1 rarest trigrams of each (prefix filter; Chaudhuri, Ganti & Kaushik 2006), and the smaller set has at
 * least t times the size of the larger. In the database row security keeps an index of trigrams from being used: 10,000 names were 10⁸ comparisons.
 */
import { sharedShare, trigramsOf } from "./trigrams.ts";

export interface NamedThing {
  readonly id: string;
  readonly name: string;
}

export interface NamePair<T> {
  readonly a: T;
  readonly b: T;
  /** In (threshold, 1]. */
  readonly similarity: number;
}

/** Names that resemble thousands of others (`host-0001` …) are compared with so many at most, those with whom they share their rarest trigrams. */
const MOST_COMPARED = 2_000;

export interface NearNames<T> {
  /** Takes names in; all of them before the first pair is asked for. */
  add(things: readonly T[]): void;
  /** Names that were taken in. */
  readonly size: number;
  /** The pairs of the names from place `from` to `to` (exclusive) with names of earlier places. Called part by part, so that others have their turn. */
  pairs(from: number, to: number): NamePair<T>[];
}

/** @param threshold pairs must be more similar than this, 0 to 1. */
export function createNearNames<T extends NamedThing>(threshold: number): NearNames<T> {
  const things: T[] = [];
  const sets: ReadonlySet<string>[] = [];
  const frequency = new Map<string, number>();
  /** The rarest trigrams of a set: whoever resembles it has one of them among its own. */
  const prefixOf = (set: ReadonlySet<string>): string[] => {
    const ordered = [...set].sort((a, b) => (frequency.get(a) ?? 0) - (frequency.get(b) ?? 0) || (a < b ? -1 : 1));
    return ordered.slice(0, ordered.length - Math.ceil(threshold * ordered.length) + 1);
  };
  /** Places of the names that have a trigram in their prefix. */
  const places = new Map<string, number[]>();
  let indexed = 0;

  const indexUpTo = (end: number) => {
    for (; indexed < end; indexed++)
      for (const trigram of prefixOf(sets[indexed] ?? new Set())) {
        const list = places.get(trigram);
        if (list === undefined) places.set(trigram, [indexed]);
        else list.push(indexed);
      }
  };

  /** Looks at no more places than it needs: what thousands have in common stands in thousands of lists. */
  const candidatesOf = (set: ReadonlySet<string>): ReadonlySet<number> => {
    const candidates = new Set<number>();
    for (const trigram of prefixOf(set))
      for (const place of places.get(trigram) ?? []) {
        if (candidates.size === MOST_COMPARED) return candidates;
        candidates.add(place);
      }
    return candidates;
  };

  return {
    add(more) {
      for (const thing of more) {
        const set = trigramsOf(thing.name);
        for (const trigram of set) frequency.set(trigram, (frequency.get(trigram) ?? 0) + 1);
        things.push(thing);
        sets.push(set);
      }
    },
    get size() {
      return things.length;
    },
    pairs(from, to) {
      const found: NamePair<T>[] = [];
      for (let at = from; at < Math.min(to, things.length); at++) {
        indexUpTo(at);
        const [thing, set] = [things[at], sets[at]];
        if (thing === undefined || set === undefined) continue;
        for (const place of candidatesOf(set)) {
          const [other, otherSet] = [things[place], sets[place]];
          if (other === undefined || otherSet === undefined) continue;
          if (Math.min(set.size, otherSet.size) < threshold * Math.max(set.size, otherSet.size)) continue;
          const similarity = sharedShare(set, otherSet);
          if (similarity > threshold) found.push({ a: other, b: thing, similarity });
        }
      }
      return found;
    },
  };
}
