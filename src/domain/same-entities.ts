/**
 * Which merges follow from verdicts on pairs. Pair by pair the result would hang on the order: of 22 verdicts 3 flipped between two runs. So what was
 * found to be one is gathered first, and a group in which any two were found to be different is left alone as a whole.
 */
import type { SameVerdict } from "./trust/reply.ts";

/** What was said of two entities, by their ids. */
export interface EntityVerdict {
  readonly a: string;
  readonly b: string;
  readonly verdict: SameVerdict;
  /** 0–1. */
  readonly confidence: number;
}

export interface Merges {
  /** Groups of ids that are one, each at least two. */
  readonly groups: readonly (readonly string[])[];
  /** Groups in which two verdicts disagree. */
  readonly disputed: readonly (readonly string[])[];
}

/** Below this a verdict is a guess (`cli-daemon.md` §3.11). */
export const LEAST_CONFIDENCE = 0.7;

export function mergesOf(verdicts: readonly EntityVerdict[]): Merges {
  const parent = new Map<string, string>();
  const root = (id: string): string => {
    let at = id;
    for (let next = parent.get(at); next !== undefined && next !== at; next = parent.get(at)) at = next;
    return at;
  };
  for (const { a, b, verdict, confidence } of verdicts)
    if (verdict === "same" && confidence >= LEAST_CONFIDENCE) {
      const [x, y] = [root(a), root(b)].sort();
      if (x === undefined || y === undefined) continue;
      parent.set(x, x);
      parent.set(y, x);
    }
  const groups = Map.groupBy([...parent.keys()].sort(), root);
  const disputed = new Set(
    verdicts.flatMap(({ a, b, verdict }) =>
      verdict === "different" && parent.has(a) && parent.has(b) && root(a) === root(b) ? [root(a)] : [],
    ),
  );
  const split = (wanted: boolean) => [...groups].filter(([at]) => disputed.has(at) === wanted).map(([, ids]) => ids);
  return { groups: split(false), disputed: split(true) };
}
