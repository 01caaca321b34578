/** The services that keep a memory in order, wired: fading, merging, pruning, feedback, and what its graph looks like. */
import { undoFileOf, writeUndoFile } from "../cli/undo-file.ts";
import type { Embedder } from "../inference/port.ts";
import { newId } from "../kernel/ids.ts";
import { createAnalytics } from "../services/analytics/analytics.ts";
import type { RunMeasure } from "../services/analytics/measures.ts";
import { createNodeMetrics } from "../services/analytics/node-metrics.ts";
import { createMeasureRunner } from "../services/analytics/run.ts";
import type { Audit } from "../services/audit.ts";
import { createFeedback } from "../services/feedback.ts";
import { createForgetting } from "../services/forgetting.ts";
import { createFading } from "../services/maintenance/fading.ts";
import { createOverview } from "../services/maintenance/overview.ts";
import { createPairs } from "../services/maintenance/pairs.ts";
import { createPruning, type KeepUndo } from "../services/maintenance/pruning.ts";
import { createSummaries } from "../services/maintenance/summaries.ts";
import type { PaceOfCall } from "../services/pace.ts";
import type { Database } from "../store/port.ts";
import type { composeGraph } from "./graph.ts";

export interface UpkeepParts {
  readonly db: Database;
  readonly graph: Pick<ReturnType<typeof composeGraph>, "notes" | "facts" | "queue" | "reembed">;
  readonly audit: Audit;
  readonly keepUndo: KeepUndo;
  readonly embedder: Pick<Embedder, "label" | "status">;
  readonly paceOf: PaceOfCall;
  /** Has the abstention gate fit its distributions anew with the next question that needs one. */
  readonly forgetDistributions: () => void;
  /** Measures graphs; in a thread of its own by default. */
  readonly run?: RunMeasure;
}

export function composeUpkeep({
  db,
  graph,
  audit,
  keepUndo,
  embedder,
  paceOf,
  forgetDistributions,
  run = createMeasureRunner(),
}: UpkeepParts) {
  const { notes, facts, queue, reembed } = graph;
  return {
    maintenance: {
      fading: createFading({ db }),
      overview: createOverview({ db, onCounted: forgetDistributions }),
      pairs: createPairs({ db, facts, paceOf }),
      pruning: createPruning({ db, audit, keepUndo }),
      summaries: createSummaries({ db, notes, facts, queue }),
      reembed,
      nodeMetrics: createNodeMetrics({ db, run }),
      paceOf,
    },
    analytics: createAnalytics({ db, embedder, run, paceOf }),
    forgetting: createForgetting({ db, audit, onErased: forgetDistributions, paceOf }),
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
