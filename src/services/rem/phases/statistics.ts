/** Statistics for the planner, where a server's own upkeep has not taken them. */
import { staleStatistics, takeStatistics } from "../../../store/queries/rem-chores.ts";
import type { Phase } from "../phase.ts";

const TABLES = ["brain_observations", "brain_entities", "brain_relations", "brain_observation_chunks"];
/** Outdated: more rows changed than this, and than this share of the table. */
const LEAST_ROWS = 50;
const SHARE = 0.05;

export const statistics: Phase = {
  name: "statistics",
  run: async (ctx, { db }) => {
    // One statement there holds everybody up; its adapter takes them one table at a time, in quiet moments.
    if (!db.traits.concurrent) return { count: 0, skipped: "the embedded engine takes them by itself in quiet moments" };
    return await db.write(ctx, async (tx) => {
      const stale = await tx.all(staleStatistics({ tables: TABLES, leastRows: LEAST_ROWS, share: SHARE }));
      if (stale.length > 0) await tx.first(takeStatistics());
      return { count: stale.length };
    });
  },
};
