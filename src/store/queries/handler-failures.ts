import { sql } from "drizzle-orm";

/** A failed call. `error` is redacted by the caller; the table keeps the newest 1000 by trigger. */
export const insertHandlerFailure = (q: { tool: string; client: string; error: string; elapsedMs: number }) => sql`
  insert into brain_handler_failures (tool, client, error, elapsed_ms)
  values (${q.tool}::text, ${q.client}::text, ${q.error}::text, ${q.elapsedMs}::int)`;
