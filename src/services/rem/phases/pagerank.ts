/** Rank, betweenness and energy of every node (`tools-maintenance.md` §15.1, §15.2, §15.4); an entity's own importance is not touched. */
import { deadlineIn } from "../../../kernel/deadline.ts";
import type { Phase } from "../phase.ts";

/** A graph that takes longer is measured by a person who waits for it, milliseconds. */
export const MEASURE_LIMIT_MS = 300_000;

export const pagerank: Phase = {
  name: "pagerank",
  run: async (ctx, { nodeMetrics }) => {
    const { updated, sampled } = await nodeMetrics.rank({ signal: ctx.signal, pace: ctx.pace, deadline: deadlineIn(MEASURE_LIMIT_MS) });
    return sampled ? { count: updated, note: "betweenness was estimated from some of the nodes" } : { count: updated };
  },
};
