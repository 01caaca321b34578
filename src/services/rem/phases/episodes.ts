/** Episodes fade by a power of their age (`tools-maintenance.md` §5.7). */
import { EPISODE_DECAY } from "../../../domain/strength/decay.ts";
import { noDeadline } from "../../../kernel/deadline.ts";
import type { Phase } from "../phase.ts";

export const episodes: Phase = {
  name: "episodes",
  run: async (ctx, { fading }) => {
    const { count } = await fading.decayEpisodes({ ...ctx, deadline: noDeadline }, EPISODE_DECAY);
    return { count };
  },
};
