/** The composed product: what `compose` returns and every edge works with. */
import type { McpServer } from "../mcp/connection.ts";

/** State of the parts, for `/health`, `doctor` and the panel. Reading it loads nothing and never throws. */
export interface HealthReport {
  readonly status: "ok" | "starting" | "degraded";
  readonly version: string;
  readonly database: "up" | "unreachable";
  readonly ready: boolean;
  readonly models: Readonly<Record<string, { readonly state: string; readonly reason?: string }>>;
}

export interface App {
  readonly mcp: McpServer;
  health(): Promise<HealthReport>;
  /** Waits for queued embeddings, at most `limitMs`; answers how many did not finish. */
  drain(limitMs: number): Promise<number>;
  /** Stops timers, closes models and database. */
  close(): Promise<void>;
}
