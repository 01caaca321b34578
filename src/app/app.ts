/** The composed product: what `compose` returns and every edge works with. */
import type { McpServer, OutgoingMessage } from "../mcp/connection.ts";

/** State of the parts, for `/health`, `doctor` and the panel. Reading it loads nothing and never throws. */
export interface HealthReport {
  readonly status: "ok" | "starting" | "degraded";
  readonly version: string;
  readonly database: "up" | "unreachable";
  readonly ready: boolean;
  readonly models: Readonly<Record<string, { readonly state: string; readonly reason?: string }>>;
}

export interface App extends AsyncDisposable {
  readonly mcp: McpServer;
  health(): Promise<HealthReport>;
  /** Calls one tool as the owner; the CLI's road when this process owns the database. */
  callTool(name: string, args: Readonly<Record<string, unknown>>): Promise<OutgoingMessage>;
  /** Waits for queued embeddings, at most `limitMs`; answers how many did not finish. */
  drain(limitMs: number): Promise<number>;
  /** Drains, stops timers, closes models and database. */
  close(): Promise<void>;
}
