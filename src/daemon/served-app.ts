/** What a daemon needs of the composed product; `app/` makes it. */
import type { MemoryError } from "../kernel/errors.ts";
import type { McpServer } from "../mcp/connection.ts";

/** State of the parts (`cli-daemon.md` §4.7). Reading it loads nothing and never throws. */
export interface HealthFacts {
  readonly status: "ok" | "starting" | "degraded";
  readonly version: string;
  readonly database: "up" | "unreachable";
  readonly ready: boolean;
  readonly models: Readonly<Record<string, { readonly state: string; readonly reason?: string | undefined }>>;
  /** The optional graph engine. */
  readonly graph?: { readonly backend: string; readonly reachable: boolean; readonly lastError?: string | undefined } | undefined;
  /** Further facts for full scope (`mode`, `resource_tier`, `gpu`, `llm`), already free of keys, addresses with passwords and paths. */
  readonly runtime?: Readonly<Record<string, unknown>> | undefined;
}

export interface ServedApp {
  /** Resolves, with the reason, when it can do nothing more and the process has to end. */
  readonly broken?: Promise<MemoryError>;
  readonly mcp: McpServer;
  health(): Promise<HealthFacts>;
  /** Waits for queued embeddings, at most `limitMs`; answers how many did not finish. */
  drain(limitMs: number): Promise<number>;
  /** Does what is due before an idle stop, bounded: a consolidation cycle. */
  beforeIdleStop(): Promise<void>;
  /** Stops timers, closes models and database. */
  close(): Promise<void>;
}
