/**
 * Rows with equal scores: the newest first, then by id. Of two memories that answer a question equally well the later one is more likely to hold still, and
 * "the port is 8080" beside "the port is 9090" are as equal as two texts can be.
 */
import { byId, type Hit } from "./hits.ts";

/** When each row was written, in a form that sorts as time. A row that is not in it stands behind those that are. */
export type Instants = ReadonlyMap<string, string>;

/** The one order of equals. */
export const byNewest =
  (instants: Instants) =>
  (a: { readonly id: string }, b: { readonly id: string }): number => {
    const [left, right] = [instants.get(a.id) ?? "", instants.get(b.id) ?? ""];
    return left > right ? -1 : left < right ? 1 : byId(a, b);
  };

/** Best score, then newest, then id. */
export const byScoreThenNewest = (instants: Instants) => {
  const newest = byNewest(instants);
  return (a: Hit, b: Hit): number => b.score - a.score || newest(a, b);
};

interface Written {
  readonly id: string;
  readonly createdAt: string;
}

/** The same order of rows that say themselves when they were written. */
export const byAge = (a: Written, b: Written): number => (a.createdAt > b.createdAt ? -1 : a.createdAt < b.createdAt ? 1 : byId(a, b));

/** What must be known to say which rows are the first of a ranking. */
export interface OpenTies {
  /** Rows whose equals are all among the first. */
  readonly inside: readonly string[];
  /** Rows whose equals are partly cut off. */
  readonly across: readonly string[];
  /** How many of `across` are among the first. */
  readonly room: number;
}

/** @param hits best first; @param limit how many of them are wanted. */
export function openTies(hits: readonly Hit[], limit: number): OpenTies {
  const inside: string[] = [];
  for (let from = 0; from < Math.min(limit, hits.length); ) {
    const score = hits[from]?.score;
    let to = from + 1;
    while (to < hits.length && hits[to]?.score === score) to++;
    const ids = to - from > 1 ? hits.slice(from, to).map(({ id }) => id) : [];
    if (to > limit) return { inside, across: ids, room: limit - from };
    inside.push(...ids);
    from = to;
  }
  return { inside, across: [], room: 0 };
}
