/** What an observation may be (`tools-graph.md` §1.1). `superseded` is a state that only the product sets, so it is no type here. */

export const observationTypes = ["fact", "decision", "lesson", "preference", "context", "tool_usage", "error", "solution"] as const;
export type ObservationType = (typeof observationTypes)[number];

export const observationSources = ["agent", "user", "error_detection", "consolidation", "inference"] as const;
export type ObservationSource = (typeof observationSources)[number];

/** Most observations of one call. */
export const MAX_BATCH = 100;
/** Longest content of one memory, code points. */
export const MAX_CONTENT_CHARS = 10_000;

/** Something to be remembered about an entity; content and values are checked by whoever makes it. */
export interface Note {
  readonly entityName: string;
  readonly content: string;
  readonly observationType: ObservationType;
  readonly source: ObservationSource;
  /** A caller may withhold, never promote. */
  readonly trust?: "quarantined" | undefined;
  /** Skips the duplicate gate. */
  readonly force?: boolean;
}
