/** Facts fade by half-life (`tools-maintenance.md` §5.1). */
import { noDeadline } from "../../../kernel/deadline.ts";
import type { Phase } from "../phase.ts";

/** While a session is open, what was worked on in these hours is spared (`tools-maintenance.md` §18.2). */
const SPARE_HOURS = 8;

export const decay: Phase = {
  name: "decay",
  columns: { count: "decayedCount" },
  run: async (ctx, { fading }) => {
    const { count } = await fading.decay({ ...ctx, deadline: noDeadline, spareHours: SPARE_HOURS });
    return { count };
  },
};
