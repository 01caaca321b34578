/** Facts fade by half-life (`tools-maintenance.md` §5.1). */
import { noDeadline } from "../../../kernel/deadline.ts";
import { createFading } from "../../maintenance/fading.ts";
import type { Phase } from "../phase.ts";

/** While a session is open, what was worked on in these hours is spared (`tools-maintenance.md` §18.2). */
const SPARE_HOURS = 8;

export const decay: Phase = {
  name: "decay",
  columns: { count: "decayedCount" },
  run: async (ctx, { db }) => {
    const { count } = await createFading({ db }).decay({ ...ctx, deadline: noDeadline, spareHours: SPARE_HOURS });
    return { count };
  },
};
