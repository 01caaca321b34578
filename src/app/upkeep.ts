/** The services that keep a memory in order, wired: fading, merging, pruning, feedback. */
import { undoFileOf, writeUndoFile } from "../cli/undo-file.ts";
import { newId } from "../kernel/ids.ts";
import type { Audit } from "../services/audit.ts";
import { createFeedback } from "../services/feedback.ts";
import { createFading } from "../services/maintenance/fading.ts";
import { createOverview } from "../services/maintenance/overview.ts";
import { createPairs } from "../services/maintenance/pairs.ts";
import { createPruning, type KeepUndo } from "../services/maintenance/pruning.ts";
import { createSummaries } from "../services/maintenance/summaries.ts";
import type { Database } from "../store/port.ts";
import type { composeGraph } from "./graph.ts";

export interface UpkeepParts {
  readonly db: Database;
  readonly graph: Pick<ReturnType<typeof composeGraph>, "notes" | "facts" | "queue" | "reembed">;
  readonly audit: Audit;
  readonly keepUndo: KeepUndo;
}

export function composeUpkeep({ db, graph, audit, keepUndo }: UpkeepParts) {
  const { notes, facts, queue, reembed } = graph;
  return {
    maintenance: {
      fading: createFading({ db }),
      overview: createOverview({ db }),
      pairs: createPairs({ db, facts }),
      pruning: createPruning({ db, audit, keepUndo }),
      summaries: createSummaries({ db, notes, facts, queue }),
      reembed,
    },
    feedback: createFeedback({ db, notes, facts, audit, queue }),
  };
}

/** Undo files of deletions that a client asked for. @param directory throws where there is no place for one */
export const undoFiles =
  (directory: () => string): KeepUndo =>
  (kind, content) => {
    const now = new Date();
    return writeUndoFile(undoFileOf(directory(), kind, newId(), now), content, now);
  };
