/** Which entities hang together (`tools-maintenance.md` §15.3). */
import { deadlineIn } from "../../../kernel/deadline.ts";
import type { Phase } from "../phase.ts";
import { MEASURE_LIMIT_MS } from "./pagerank.ts";

export const communities: Phase = {
  name: "communities",
  columns: { count: "communities" },
  run: async (ctx, { nodeMetrics }) => ({
    count: (await nodeMetrics.tag({ signal: ctx.signal, pace: ctx.pace, deadline: deadlineIn(MEASURE_LIMIT_MS) })).communities,
  }),
};
