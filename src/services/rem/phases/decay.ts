/** Facts fade by half-life (`tools-maintenance.md` §5.1). */
import { decayedImportance, REST_DAYS } from "../../../domain/strength/decay.ts";
import { fadingObservations, saveFaded } from "../../../store/queries/fading.ts";
import type { Phase } from "../phase.ts";
import { walk } from "../walk.ts";

/** While a session is open, what was worked on in these hours is spared (`tools-maintenance.md` §18.2). */
const SPARE_HOURS = 8;
/** Rows rewritten in one transaction: an update of a row costs as much as storing it, about a millisecond in the embedded engine. */
const MOST_REWRITTEN = 25;
/** Rows looked at in one transaction. */
const WINDOW = { first: 100, most: 4_000 };

/**
 * A row is rewritten at most once a day, whatever the number of cycles: the factors multiply up to the same importance, and four-hourly rewriting of
 * 100,000 rows would be all that the embedded engine does.
 */
export const decay: Phase = {
  name: "decay",
  doc: "observations that lost importance",
  run: async (ctx, parts) => {
    let count = 0;
    await walk(ctx, parts, { table: "observations", ...WINDOW, writes: true }, async (tx, window) => {
      const due = await tx.all(
        fadingObservations({ ...window, scope: ctx.scope, restDays: REST_DAYS, spareHours: SPARE_HOURS, limit: MOST_REWRITTEN }),
      );
      if (due.length === 0) return undefined;
      await tx.run(saveFaded(due.map((row) => ({ id: row.id, importance: decayedImportance(row) }))));
      count += due.filter((row) => decayedImportance(row) < row.importance).length;
      return { upTo: due.length < MOST_REWRITTEN ? undefined : due.at(-1)?.id };
    });
    return { count };
  },
};
