/** Relations between entities that turn up in the same sessions (`tools-maintenance.md` §15.7). */
import type { Proposal } from "../../relations/autolink.ts";
import type { Phase } from "../phase.ts";

/** New edges of one cycle. */
const MOST_EDGES = 200;

export const autolink: Phase = {
  name: "autolink",
  columns: { count: "autolinkEdges" },
  run: async (ctx, { autolink: links, settings }) => {
    if (!settings.autolink) return { count: 0, skipped: "switched off (CUBA_REM_AUTOLINK)" };
    const found: Proposal[] = [];
    await links.propose(ctx, {}, async (some) => {
      found.push(...some);
      return found.length < MOST_EDGES;
    });
    return { count: await links.store(ctx, found.slice(0, MOST_EDGES)) };
  },
};
