/** What a batch of memories came to (`cuba_cronica batch_add`, `cuba_ingesta`): counts, ids in the caller's order, and by name what was left out. */
import type { PossibleConflict } from "../domain/duplicate-gate.ts";
import { MAX_BATCH } from "../services/observations/kinds.ts";
import type { BatchResult } from "../services/observations/observations.ts";
import type { Overload } from "../services/observations/overload.ts";
import type { ReadNotes } from "../services/observations/read-notes.ts";
import type { Answer } from "./define.ts";
import { fitRows } from "./fit.ts";
import { round } from "./numbers.ts";

/** What each of the two lists of a batch's answer may take; a hundred ids need 3,000 tokens besides. */
const BATCH_LIST_TOKENS = 2_500;
/** Beside two hundred ids. */
const LONG_BATCH_LIST_TOKENS = 1_000;
/** Warnings of a batch that goes over the limit of many entities. */
const SHOWN_WARNINGS = 5;

export const shownConflict = ({ id, contentPreview, similarity, kind }: PossibleConflict) => ({
  id,
  content_preview: contentPreview,
  similarity: round(similarity),
  kind,
});

/** Says what was retired, and that it is still there. */
export const overloadWarning = (entity: string, { live, atLeast, retired }: Overload) =>
  `Entity '${entity}' has ${atLeast ? "more than " : ""}${live} observations; ${retired} faded ${retired === 1 ? "one was" : "ones were"} retired: ` +
  "hidden, not deleted. Condense it with cuba_zafra action=summarize.";

/** @param items how many the caller sent. */
export async function batchAnswer(stored: BatchResult, read: ReadNotes, items: number): Promise<Answer> {
  const budget = items > MAX_BATCH ? LONG_BATCH_LIST_TOKENS : BATCH_LIST_TOKENS;
  const rejected = [...read.rejected, ...stored.rejected].sort((a, b) => a.index - b.index);
  const retired = stored.overloads.reduce((sum, overload) => sum + overload.retired, 0);
  const conflicts = stored.possibleConflicts.map((conflict) => ({ index: conflict.index, ...shownConflict(conflict) }));
  const refused = await fitRows({ rows: rejected, total: rejected.length, offset: 0, budget });
  const flagged = await fitRows({ rows: conflicts, total: conflicts.length, offset: 0, budget });
  return {
    added: stored.added,
    deduplicated: stored.deduplicated,
    reinforced: stored.reinforced,
    total_processed: stored.added + stored.deduplicated + stored.reinforced,
    chunks: stored.chunks,
    skipped: read.skipped.length,
    ...(read.skipped.length === 0 ? {} : { skipped_indexes: read.skipped }),
    rejected: refused.rows,
    ...(refused.truncated ? { rejected_total: refused.total } : {}),
    ids: Array.from({ length: items }, (_, index) => stored.ids.get(index) ?? null),
    embedding: { ready: stored.ready, pending: stored.added + stored.deduplicated + stored.reinforced - stored.ready },
    possible_conflicts: flagged.rows,
    ...(flagged.truncated ? { possible_conflicts_total: flagged.total } : {}),
    superseded: retired,
    ...(stored.overloads.length === 0
      ? {}
      : {
          overload_warnings: stored.overloads.slice(0, SHOWN_WARNINGS).map((overload) => overloadWarning(overload.entityName, overload)),
        }),
  };
}
