/** What a phase of the consolidation cycle is: one file each, one list (`registry.ts`). */
import type { Embedder } from "../../inference/port.ts";
import type { CallScope } from "../../kernel/context.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Ladder } from "../../llm/ladder.ts";
import type { Database } from "../../store/port.ts";
import type { CycleProgress } from "../../store/queries/rem-cycles.ts";
import type { NodeMetricsService } from "../analytics/node-metrics.ts";
import type { Chunks } from "../chunks.ts";
import type { Builds } from "../codegraph/build.ts";
import type { Ingest } from "../ingest/ingest.ts";
import type { Fading } from "../maintenance/fading.ts";
import type { Pace } from "../pace.ts";
import type { Autolink } from "../relations/autolink.ts";

export interface RemSettings {
  readonly autolink: boolean;
  /** Vectors and chunked texts of one cycle; 0 skips both. */
  readonly backfillLimit: number;
  readonly relationBatch: number | "auto";
  readonly extractionBatch: number | "auto";
  readonly scanTimeoutMs: number;
  readonly llmDailyCap: number;
  readonly chunkThresholdChars: number;
}

/** What phases work with; `app/` fills it in. */
export interface RemParts {
  readonly db: Database;
  readonly settings: RemSettings;
  readonly embedder: Pick<Embedder, "status">;
  /** The queue of missing vectors. */
  readonly vectors: { backfill(limit: number, signal: AbortSignal): Promise<number> };
  readonly chunks: Pick<Chunks, "store">;
  readonly fading: Fading;
  /** Builds of code, of which killed ones may have left something. */
  readonly builds: Pick<Builds, "endAbandoned">;
  readonly autolink: Autolink;
  /** Models that a person has chosen, in order, and why there is none where that can be said. Never the client's. */
  readonly ladder: () => Ladder;
  /** The reader of `cuba_ingesta auto_extract`, over the models it is given. */
  readonly extractor: (ladder: Ladder) => Pick<Ingest, "extract">;
  /** Measures of the whole graph, stored beside it. */
  readonly nodeMetrics: NodeMetricsService;
  /** Unguessable text for the markers around stored text. */
  readonly nonce: () => string;
}

/** A question that may be put to a language model. */
export interface Budget {
  /** Counts one question before it is put; false where the day's cap is reached. */
  take(): Promise<boolean>;
}

export interface PhaseContext extends CallScope {
  readonly pace: Pace;
  readonly budget: Budget;
  readonly log: Logger;
}

export interface PhaseOutcome {
  /** What was done, in the unit of the phase. */
  readonly count: number;
  /** Why nothing was tried; absent where the phase ran. */
  readonly skipped?: string;
  /** Tries that failed. */
  readonly failed?: number;
  /** What else there is to say. */
  readonly note?: string;
}

/** A column of the record that holds a number of one phase. */
export type CountColumn = Exclude<keyof CycleProgress, "phases" | "error" | "llmCalls">;

export interface Phase {
  readonly name: string;
  /** Columns of the record that show its count and its failures, where it has some of its own. */
  readonly columns?: { readonly count: CountColumn; readonly failed?: CountColumn };
  /** Idempotent, in slices, deletes no knowledge. A failure is its own: the next phase runs. */
  readonly run: (ctx: PhaseContext, parts: RemParts) => Promise<PhaseOutcome>;
}
