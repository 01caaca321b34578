/**
 * Which names of many nearly are one: every pair above a trigram similarity, without comparing every pair. Two names whose sets share more than t of
 * their union share one of the |A| − ⌈t·|A|⌉ + 1 rarest trigrams of each (prefix filter; Chaudhuri, Ganti & Kaushik 2006), and the smaller set has at
 * least t times the size of the larger. In the database row security keeps an index of trigrams from being used: 10,000 names were 10⁸ comparisons.
 */
import { trigramsOf } from "./trigrams.ts";

export interface NamedThing {
  readonly id: string;
  readonly name: string;
}

export interface NearPair<T> {
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
  pairs(from: number, to: number): NearPair<T>[];
}

/** Trigrams as numbers, in the order in which they were met. */
function createNumbering() {
  const numbers = new Map<string, number>();
  const frequency: number[] = [];
  return {
    add(trigrams: ReadonlySet<string>): Uint32Array {
      const set = new Uint32Array(trigrams.size);
      let at = 0;
      for (const trigram of trigrams) {
        const known = numbers.get(trigram);
        const number = known ?? numbers.size;
        if (known === undefined) numbers.set(trigram, number);
        frequency[number] = (frequency[number] ?? 0) + 1;
        set[at++] = number;
      }
      return set;
    },
    /** Place of each number when the rarest comes first, ties by number. */
    ranks(): Uint32Array {
      const ranks = new Uint32Array(frequency.length);
      // One number holds both keys: a sort of numbers needs no comparisons of ours.
      const order = Float64Array.from(frequency, (count, number) => count * frequency.length + number).sort();
      for (const [rank, key] of order.entries()) ranks[key % frequency.length] = rank;
      return ranks;
    },
  };
}

/** How many numbers two ascending lists share; given up, with a number below `wanted`, as soon as so many cannot be reached. */
function sharedCount(left: Uint32Array, right: Uint32Array, wanted: number): number {
  let [at, other, shared] = [0, 0, 0];
  while (at < left.length && other < right.length) {
    if (shared + Math.min(left.length - at, right.length - other) < wanted) break;
    const [a, b] = [left[at] ?? 0, right[other] ?? 0];
    if (a === b) shared++;
    if (a <= b) at++;
    if (b <= a) other++;
  }
  return shared;
}

/** @param threshold pairs must be more similar than this, 0 to 1. */
export function createNearNames<T extends NamedThing>(threshold: number): NearNames<T> {
  const things: T[] = [];
  const numbering = createNumbering();
  /** Trigrams of each name: as they were met, from its turn on by rarity. */
  const sets: Uint32Array[] = [];
  let ranks: Uint32Array | undefined;
  /** Places of the names that have a trigram in their prefix. */
  const places = new Map<number, number[]>();
  let indexed = 0;

  /** The rarest trigrams of a set: whoever resembles it has one of them among its own. */
  const prefixOf = (set: Uint32Array) => set.subarray(0, set.length - Math.ceil(threshold * set.length) + 1);
  const byRarity = (place: number): Uint32Array => {
    ranks ??= numbering.ranks();
    const known = ranks;
    return (sets[place] ?? new Uint32Array()).map((number) => known[number] ?? 0).sort();
  };
  const indexUpTo = (end: number) => {
    for (; indexed < end; indexed++) {
      const set = byRarity(indexed);
      sets[indexed] = set;
      for (const trigram of prefixOf(set)) {
        const list = places.get(trigram);
        if (list === undefined) places.set(trigram, [indexed]);
        else list.push(indexed);
      }
    }
  };

  /** Looks at no more places than it needs: what thousands have in common stands in thousands of lists. */
  const candidatesOf = (set: Uint32Array): ReadonlySet<number> => {
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
        things.push(thing);
        sets.push(numbering.add(trigramsOf(thing.name)));
      }
    },
    get size() {
      return things.length;
    },
    pairs(from, to) {
      const found: NearPair<T>[] = [];
      for (let at = from; at < Math.min(to, things.length); at++) {
        indexUpTo(at);
        const thing = things[at];
        const set = byRarity(at);
        if (thing === undefined || set.length === 0) continue;
        for (const place of candidatesOf(set)) {
          const [other, otherSet] = [things[place], sets[place]];
          if (other === undefined || otherSet === undefined) continue;
          const both = set.length + otherSet.length;
          if (Math.min(set.length, otherSet.length) < threshold * Math.max(set.length, otherSet.length)) continue;
          // Shared ÷ (both − shared) is above the threshold only from here on.
          const shared = sharedCount(set, otherSet, Math.floor((threshold * both) / (1 + threshold)));
          const similarity = shared / (both - shared);
          if (similarity > threshold) found.push({ a: other, b: thing, similarity });
        }
      }
      return found;
    },
  };
}
