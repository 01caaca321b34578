/** How many pairs of entity names nearly are one: counted, for `dedupe` to show. */
import { byTrigrams, nearNames } from "../../../store/queries/rem-chores.ts";
import type { Phase } from "../phase.ts";
import { walk } from "../walk.ts";

const SIMILARITY = 0.7;
/** Counting ends here: a person who reads "1,000 and more" needs no better number. */
const MOST_PAIRS = 1_000;
/** Names that resemble thousands of others make each look-up slow; the phase ends after this, milliseconds, and says so. */
const LONGEST_MS = 30_000;
const WINDOW = { first: 8, most: 500 };

export const duplicates: Phase = {
  name: "duplicates",
  doc: "pairs of entity names that nearly are one; counted only",
  run: async (ctx, parts) => {
    let count = 0;
    let isCut = false;
    const startedAt = ctx.pace.now();
    await walk(ctx, parts, { table: "entities", ...WINDOW, writes: false }, async (tx, window) => {
      await tx.run(byTrigrams(SIMILARITY));
      count += (await tx.first(nearNames({ ...window, similarity: SIMILARITY, limit: MOST_PAIRS - count })))?.count ?? 0;
      isCut = window.upTo !== undefined && (count >= MOST_PAIRS || ctx.pace.now() - startedAt > LONGEST_MS);
      return { stop: isCut };
    });
    return isCut ? { count, note: "counting was ended early: there are at least so many" } : { count };
  },
};
