/** How a cycle is shown to people and machines; one list of keys for everybody who shows one, today the command `rem`. */
import type { CycleRow } from "../../store/queries/rem-cycles.ts";
import type { CycleOutcome } from "./cycle.ts";
import { phases } from "./registry.ts";

export const cycleView = (row: CycleRow) => ({
  started_at: row.startedAt,
  finished_at: row.finishedAt,
  duration_ms: row.durationMs,
  decayed_count: row.decayedCount,
  autolink_edges: row.autolinkEdges,
  embeddings_backfilled: row.embeddingsBackfilled,
  entities_scanned: row.entitiesScanned,
  facts_extracted: row.factsExtracted,
  communities: row.communities,
  duplicate_candidates: row.duplicateCandidates,
  relation_scan_failed: row.relationScanFailed,
  extraction_failed: row.extractionFailed,
  llm_calls: row.llmCalls,
  // jsonb keeps no order.
  phases: Object.fromEntries(phases.flatMap(({ name }) => (row.phases[name] === undefined ? [] : [[name, row.phases[name]]]))),
  error: row.error,
  llm_degraded: row.relationScanFailed > 0 || row.extractionFailed > 0,
});

/** What `rem` answers; `ran` false with the reason where another cycle holds the lock. */
export function cycleAnswer(outcome: CycleOutcome) {
  switch (outcome.kind) {
    case "ran":
      return { action: "rem", ran: true, ...cycleView(outcome.cycle) };
    case "busy":
      return { action: "rem", ran: false, reason: "another cycle is running on this database; nothing was done" };
    case "recent":
      return { action: "rem", ran: false, reason: `a cycle came to its end ${outcome.secondsAgo} s ago; nothing was done` };
  }
}
