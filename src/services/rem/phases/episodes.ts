/** Episodes fade by a power of their age (`tools-maintenance.md` §5.7). */
import { decayedEpisode } from "../../../domain/strength/decay.ts";
import { agingEpisodes, saveAged } from "../../../store/queries/fading.ts";
import type { Phase } from "../phase.ts";
import { walk } from "../walk.ts";

/** Younger ones are left alone. */
const REST_HOURS = 1;
/** The importance follows from age alone, so a row may wait until it would move by this share: else every cycle rewrites every episode. */
const LEAST_CHANGE = 0.001;
const WINDOW = { first: 25, most: 500 };

export const episodes: Phase = {
  name: "episodes",
  doc: "episodes that lost importance",
  run: async (ctx, parts) => {
    let count = 0;
    await walk(ctx, parts, { table: "episodes", ...WINDOW, writes: true }, async (tx, window) => {
      const rows = await tx.all(agingEpisodes({ ...window, scope: ctx.scope, restHours: REST_HOURS }));
      const moved = rows
        .map(({ id, importance, initialImportance, ageDays }) => ({
          id,
          before: importance,
          importance: decayedEpisode(initialImportance, ageDays),
        }))
        .filter(({ before, importance }) => Math.abs(importance - before) > LEAST_CHANGE * before);
      if (moved.length > 0) await tx.run(saveAged(moved));
      count += moved.length;
      return undefined;
    });
    return { count };
  },
};
