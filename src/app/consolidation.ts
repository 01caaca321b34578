/** The consolidation cycle, wired, and what the command `rem` asks of the owner. */
import type { Config } from "../config/load.ts";
import type { Embedder } from "../inference/port.ts";
import type { CallScope } from "../kernel/context.ts";
import type { Logger } from "../kernel/logger.ts";
import type { OwnerMethod } from "../mcp/server.ts";
import type { Chunks } from "../services/chunks.ts";
import { createBuilds } from "../services/codegraph/build.ts";
import type { EmbeddingQueue } from "../services/embedding/queue.ts";
import { createIngest } from "../services/ingest/ingest.ts";
import type { Judge } from "../services/judge/judge.ts";
import type { Maintenance } from "../services/maintenance/maintenance.ts";
import type { Observations } from "../services/observations/observations.ts";
import type { NoteStore } from "../services/observations/store.ts";
import { type Calls, createPace } from "../services/pace.ts";
import { createAutolink } from "../services/relations/autolink.ts";
import { createRem, type Rem } from "../services/rem/cycle.ts";
import { phases } from "../services/rem/registry.ts";
import { cycleAnswer } from "../services/rem/report.ts";
import type { Database } from "../store/port.ts";
import { countWithoutVector } from "../store/queries/observations-vectors.ts";
import { ladderFor, nonce } from "./judge.ts";

/** Texts without a vector are counted up to here, each kind. */
const COUNTED_ROWS = 1_000_000;

export interface ConsolidationParts {
  readonly db: Database;
  readonly config: Config;
  readonly embedder: Embedder;
  readonly queue: EmbeddingQueue;
  readonly chunks: Chunks;
  readonly observations: Observations;
  readonly notes: NoteStore;
  readonly judge: Judge;
  readonly maintenance: Pick<Maintenance, "nodeMetrics" | "fading">;
  readonly calls: Calls;
  readonly log: Logger;
}

export function composeConsolidation({
  db,
  config,
  embedder,
  queue,
  chunks,
  observations,
  notes,
  judge,
  maintenance: { nodeMetrics, fading },
  calls,
  log,
}: ConsolidationParts): Rem {
  const { settings } = config;
  return createRem({
    db,
    phases,
    pace: createPace(calls),
    log,
    embedder,
    vectors: queue,
    chunks,
    autolink: createAutolink({ db }),
    fading,
    builds: createBuilds(db),
    nodeMetrics,
    // Sampling is a client's own model inside its own request: never a timer's.
    ladder: () => ladderFor(config)(undefined),
    extractor: (ladder) => createIngest({ db, judge, now: () => new Date(), nonce, observations, notes, ladder: () => ladder }),
    nonce,
    settings: {
      autolink: settings.REM_AUTOLINK.value,
      backfillLimit: settings.REM_BACKFILL_LIMIT.value,
      relationBatch: settings.REM_RELATION_BATCH.value,
      extractionBatch: settings.REM_EXTRACTION_BATCH.value,
      scanTimeoutMs: settings.REM_SCAN_TIMEOUT_SECS.value * 1_000,
      llmDailyCap: settings.LLM_DAILY_CAP.value,
      chunkThresholdChars: settings.CHUNK_THRESHOLD_CHARS.value,
    },
  });
}

/** @param stopped fires when the product closes: a cycle ends between two slices then. */
export function consolidationMethods({ db, rem, stopped }: { db: Database; rem: Rem; stopped: AbortSignal }): [string, OwnerMethod][] {
  const missing = async (scope: CallScope) =>
    (await db.read(scope, (tx) => tx.first(countWithoutVector({ limit: COUNTED_ROWS }))))?.count ?? 0;
  return [
    [
      "owner/rem",
      async (_params, { signal, progress }) => {
        const ctx: CallScope = { principal: { kind: "system", id: "rem" }, scope: { kind: "everything" }, signal };
        const before = await missing(ctx);
        const outcome = await rem.run({
          signal: AbortSignal.any([signal, stopped]),
          onPhase: (done, total, name) => progress(done, total, name),
        });
        const after = await missing({ ...ctx, signal: new AbortController().signal });
        return { ...cycleAnswer(outcome), embeddings_missing_before: before, embeddings_missing_after: after };
      },
    ],
  ];
}
