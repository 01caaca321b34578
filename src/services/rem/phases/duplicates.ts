/** How many pairs of entity names nearly are one: counted, for `dedupe` to show. */
import { NEAR_NAMES_ABOVE } from "../../../domain/defaults.ts";
import { createNearNames } from "../../../domain/near-names.ts";
import { namesIn } from "../../../store/queries/rem-chores.ts";
import { inSlices } from "../../pace.ts";
import { walk } from "../../walk.ts";
import type { Phase } from "../phase.ts";

/** Counting ends here: a person who reads "1,000 and more" needs no better number. */
const MOST_PAIRS = 1_000;
const WINDOW = { first: 500, most: 2_000 };
/** Names compared in one slice: each costs more than the one before it, up to a fifth of a millisecond, so that a slice that has grown on the first ones would last. */
const COMPARED = { first: 10, most: 100 };

export const duplicates: Phase = {
  name: "duplicates",
  columns: { count: "duplicateCandidates" },
  run: async (ctx, parts) => {
    const near = createNearNames(NEAR_NAMES_ABOVE);
    await walk(ctx, parts, { table: "entities", ...WINDOW, writes: false }, async (tx, window) => {
      const found = await tx.all(namesIn(window));
      return { committed: () => near.add(found) };
    });
    let count = 0;
    let at = 0;
    await inSlices(ctx.pace, ctx.signal, COMPARED, async (size) => {
      count += near.pairs(at, at + size).length;
      at += size;
      return at < near.size && count < MOST_PAIRS;
    });
    return at < near.size ? { count, note: "counting was ended early: there are at least so many" } : { count };
  },
};
