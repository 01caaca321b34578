/** Episodes fade by a power of their age (`tools-maintenance.md` §5.7). */
import { EPISODE_DECAY } from "../../../domain/strength/decay.ts";
import { noDeadline } from "../../../kernel/deadline.ts";
import { createFading } from "../../maintenance/fading.ts";
import type { Phase } from "../phase.ts";

export const episodes: Phase = {
  name: "episodes",
  run: async (ctx, { db }) => {
    const { count } = await createFading({ db }).decayEpisodes({ ...ctx, deadline: noDeadline }, EPISODE_DECAY);
    return { count };
  },
};
