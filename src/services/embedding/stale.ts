/**
 * Rows whose vector is missing or of another model, counted and ordered window by window: a statement reads a bounded stretch of its table, and no more
 * of them are in memory than are asked for at once, however many are due.
 */
import type { CallScope } from "../../kernel/context.ts";
import type { Database } from "../../store/port.ts";
import { countStale, type StaleRank, staleRanks, type VectorKind, vectorTable } from "../../store/queries/observations-vectors.ts";
import { FIRST_ID, type Window, windowEnd } from "../../store/queries/windows.ts";

/** Rows of a table that one statement looks at: some 10 ms. */
const WINDOW_ROWS = 5_000;

export interface StaleOf {
  readonly kind: VectorKind;
  /** The running model. */
  readonly label: string;
}

/** The most important first, then the newest, then the smaller id. */
const byRank = (a: StaleRank, b: StaleRank): number =>
  b.importance - a.importance || b.createdUs - a.createdUs || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

async function* windows(db: Database, ctx: CallScope, kind: VectorKind, size: number): AsyncGenerator<Window> {
  const table = vectorTable[kind];
  const endBehind = async (after: string): Promise<string | undefined> =>
    (await db.read(ctx, (tx) => tx.first(windowEnd({ table, after, size }))))?.id;
  for (let after = FIRST_ID; ; ) {
    const upTo = await endBehind(after);
    yield { after, upTo };
    if (upTo === undefined) return;
    after = upTo;
  }
}

/** @param windowRows for tests, which need more than one window. */
export function createStaleRows({ db, windowRows = WINDOW_ROWS }: { readonly db: Database; readonly windowRows?: number }) {
  return {
    /** How many there are, counted to `most`. `all`: every row, stale or not. */
    async count(ctx: CallScope, { kind, label, all, most }: StaleOf & { readonly all: boolean; readonly most: number }): Promise<number> {
      let found = 0;
      for await (const window of windows(db, ctx, kind, windowRows)) {
        const counted = await db.read(ctx, (tx) => tx.first(countStale({ kind, label, all, scope: ctx.scope, window })));
        found += counted?.count ?? 0;
        if (found >= most) return most;
      }
      return found;
    },

    /** The most important ones that come behind `behind` in the order, at most `most`. */
    async best(
      ctx: CallScope,
      { kind, label, behind, most }: StaleOf & { readonly behind: StaleRank | undefined; readonly most: number },
    ): Promise<readonly StaleRank[]> {
      let kept: StaleRank[] = [];
      const keepBest = () => {
        kept = kept.sort(byRank).slice(0, most);
      };
      for await (const window of windows(db, ctx, kind, windowRows)) {
        for (const row of await db.read(ctx, (tx) => tx.all(staleRanks({ kind, label, scope: ctx.scope, window }))))
          if (behind === undefined || byRank(behind, row) < 0) kept.push(row);
        keepBest();
      }
      return kept;
    },
  };
}
