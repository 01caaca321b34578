/** What the vector arm cannot see: memories that have no vector yet, and those whose vector is another model's. Neither may look like "nothing found". */
import { counted } from "../../kernel/text.ts";
import type { Tx } from "../../store/port.ts";
import type { Filters } from "../../store/queries/search-filters.ts";
import { hasForeignVectors, withoutVector } from "../../store/queries/search-vectors.ts";

export interface Unseen {
  /** Memories without a vector, at most {@link MOST_COUNTED}. */
  readonly missing: number;
  /** Pieces of long memories without one, at most {@link MOST_COUNTED}: what such a memory says past its beginning. */
  readonly pieces: number;
  /** True where some have another model's. */
  readonly foreign: boolean;
}

export interface MissingVectors {
  of(tx: Tx, filters: Filters, label: string): Promise<Unseen>;
}

const MOST_COUNTED = 1_000;

/**
 * How long it is believed that no vector is another model's, in times of what the look took: finding none means reading every row (20 ms at 10,000, so 6 s). Sync
 * brings some, and so does another process on the same server whose model was exchanged: this one then finds nothing by meaning, and must say so soon. That
 * there are some is found at once, and asked each time, so the end of a `reembed` shows.
 */
const BELIEVED_TIMES = 300;
/** Never shorter or longer than this, milliseconds. */
const BELIEVED_LEAST_MS = 1_000;
const BELIEVED_MOST_MS = 10 * 60_000;
/** Scopes remembered. */
const REMEMBERED_SCOPES = 64;

/** @param now milliseconds, monotonic */
export function createMissingVectors(now: () => number): MissingVectors {
  /** Scope and label → until when no other model's vectors are looked for. */
  const clean = new Map<string, number>();
  return {
    async of(tx, filters, label) {
      const { scope, includeUnscoped } = filters;
      const key = `${scope.kind === "project" ? scope.id : scope.kind}|${includeUnscoped}|${label}`;
      const whole: Filters = { scope, includeUnscoped, after: undefined, before: undefined, tag: undefined };
      const without = await tx.first(withoutVector({ filters: whole, most: MOST_COUNTED }));
      const [missing, pieces] = [without?.memories ?? 0, without?.pieces ?? 0];
      if ((clean.get(key) ?? 0) > now()) return { missing, pieces, foreign: false };
      const started = now();
      const foreign = (await tx.first(hasForeignVectors({ filters: whole, label })))?.found ?? false;
      const ended = now();
      clean.delete(key);
      if (!foreign) clean.set(key, ended + Math.min(BELIEVED_MOST_MS, Math.max(BELIEVED_LEAST_MS, BELIEVED_TIMES * (ended - started))));
      const [oldest] = clean.keys();
      if (clean.size > REMEMBERED_SCOPES && oldest !== undefined) clean.delete(oldest);
      return { missing, pieces, foreign };
    },
  };
}

/** Everything could be searched by meaning. */
export const isWhole = ({ missing, pieces, foreign }: Unseen): boolean => missing === 0 && pieces === 0 && !foreign;

const some = (count: number, one: string, many: string): string[] =>
  count === 0 ? [] : [count >= MOST_COUNTED ? `${MOST_COUNTED} or more ${many}` : counted(count, one, many)];

/** What a person is told about it. */
export function unseenSentences({ missing, pieces, foreign }: Unseen): string[] {
  const what = [...some(missing, "memory", "memories"), ...some(pieces, "piece of a long memory", "pieces of long memories")];
  return [
    ...(what.length === 0
      ? []
      : [
          `${what.join(" and ")} without a vector could be found by words only; the vectors are being made. If that lasts, run 'memory-industry reembed'.`,
        ]),
    ...(foreign ? ["Memories with another model's vectors could be found by words only. Run 'memory-industry reembed'."] : []),
  ];
}
