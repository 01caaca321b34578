/** Long observations without chunks, the longest first: they came by an import, or a crash lay between text and chunks. */
import { longTexts, textsOf } from "../../../store/queries/rem-chores.ts";
import { inSlices } from "../../pace.ts";
import { walk } from "../../walk.ts";
import type { Phase } from "../phase.ts";

const WINDOW = { first: 500, most: 5_000 };
/** Texts cut in one transaction: the first may be 2 MiB long. */
const CUT_AT_ONCE = 4;

export const chunks: Phase = {
  name: "chunks",
  run: async (ctx, parts) => {
    const { settings, db } = parts;
    if (settings.backfillLimit === 0) return { count: 0, skipped: "switched off (CUBA_REM_BACKFILL_LIMIT=0)" };
    let longest: { readonly id: string; readonly chars: number }[] = [];
    await walk(ctx, parts, { table: "observations", ...WINDOW, writes: false }, async (tx, window) => {
      const found = await tx.all(longTexts({ ...window, thresholdChars: settings.chunkThresholdChars }));
      return {
        committed: () => {
          longest = [...longest, ...found].sort((a, b) => b.chars - a.chars).slice(0, settings.backfillLimit);
        },
      };
    });
    let count = 0;
    await inSlices(ctx.pace, ctx.signal, { first: 1, most: CUT_AT_ONCE }, async (size) => {
      const ids = longest.slice(count, count + size).map(({ id }) => id);
      if (ids.length === 0) return false;
      await db.write(ctx, async (tx) => {
        await parts.chunks.store(tx, await tx.all(textsOf({ ids })));
      });
      count += ids.length;
      return true;
    });
    return { count };
  },
};
