/** What was called and how it went. Successes stay in memory; failures are stored, redacted and capped by the table itself. */
import type { CallContext } from "../kernel/context.ts";
import { causeChain } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Database } from "../store/port.ts";
import { insertHandlerFailure } from "../store/queries/handler-failures.ts";

/** Calls kept in memory, newest last; lost at restart. */
export const RING_CAPACITY = 500;

export interface CallRecord {
  readonly tool: string;
  readonly client: string;
  readonly outcome: "ok" | "error";
  readonly elapsedMs: number;
  /** RFC 3339, UTC. */
  readonly at: string;
}

export interface ToolTotals {
  readonly calls: number;
  readonly failures: number;
  readonly slowestMs: number;
  readonly totalMs: number;
}

export interface Telemetry {
  /** @param call `error` is the redacted cause chain of a failure. */
  record(
    ctx: Pick<CallContext, "client" | "principal">,
    call: { readonly tool: string; readonly ok: boolean; readonly elapsedMs: number; readonly error: string | undefined },
  ): void;
  recent(): readonly CallRecord[];
  totals(): ReadonlyMap<string, ToolTotals>;
  /** Waits for failure rows on their way to the table. */
  settled(): Promise<void>;
}

export interface TelemetryParts {
  readonly db: Database;
  readonly log: Logger;
  readonly now: () => Date;
}

export function createTelemetry({ db, log, now }: TelemetryParts): Telemetry {
  const ring: CallRecord[] = [];
  const totals = new Map<string, ToolTotals>();
  const writing = new Set<Promise<void>>();

  const store = (ctx: Pick<CallContext, "client" | "principal">, tool: string, error: string, elapsedMs: number) => {
    const written = db
      .write({ principal: ctx.principal, scope: { kind: "everything" }, signal: new AbortController().signal }, async (tx) => {
        await tx.run(insertHandlerFailure({ tool, client: ctx.client, error, elapsedMs }));
      })
      // A call must not fail because its failure could not be written down.
      .catch((cause: unknown) => log.warn("a failure could not be recorded", { tool, cause: causeChain(cause) }))
      .finally(() => writing.delete(written));
    writing.add(written);
  };

  return {
    record(ctx, call) {
      ring.push({
        tool: call.tool,
        client: ctx.client,
        outcome: call.ok ? "ok" : "error",
        elapsedMs: call.elapsedMs,
        at: now().toISOString(),
      });
      if (ring.length > RING_CAPACITY) ring.shift();
      const sum = totals.get(call.tool) ?? { calls: 0, failures: 0, slowestMs: 0, totalMs: 0 };
      totals.set(call.tool, {
        calls: sum.calls + 1,
        failures: sum.failures + (call.ok ? 0 : 1),
        slowestMs: Math.max(sum.slowestMs, call.elapsedMs),
        totalMs: sum.totalMs + call.elapsedMs,
      });
      if (call.error !== undefined) store(ctx, call.tool, call.error, Math.round(call.elapsedMs));
    },
    recent: () => [...ring],
    totals: () => totals,
    async settled() {
      await Promise.all(writing);
    },
  };
}
