/**
 * What has run out: notes of working memory past their time, predictions that nobody resolved in half a year, and what builds of code that were killed have
 * left unseen. No knowledge is among it.
 */
import { purgeNotes, purgePredictions } from "../../../store/queries/rem-chores.ts";
import { inSlices } from "../../pace.ts";
import type { Phase } from "../phase.ts";

const UNRESOLVED_DAYS = 180;
const ROWS = { first: 50, most: 500 };

export const purge: Phase = {
  name: "purge",
  run: async (ctx, { db, builds }) => {
    let count = 0;
    const statements = [purgeNotes, (limit: number) => purgePredictions({ days: UNRESOLVED_DAYS, limit })];
    for (const statement of statements)
      await inSlices(ctx.pace, ctx.signal, ROWS, async (size) => {
        const gone = await db.write(ctx, (tx) => tx.run(statement(size)));
        count += gone;
        return gone === size;
      });
    return { count: count + (await builds.endAbandoned(ctx, ctx.pace)) };
  },
};
