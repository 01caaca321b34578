/** The audit log: the product's own events in the transaction of what they record, and what clients append, verify and read. */
import { type AuditBreak, createAuditVerifier } from "../domain/audit-chain.ts";
import type { CallContext } from "../kernel/context.ts";
import { ANSWER_RESERVE_MS } from "../kernel/deadline.ts";
import { conflict, invalid, shown } from "../kernel/errors.ts";
import { isDuplicate } from "../store/failures.ts";
import type { Database, Tx } from "../store/port.ts";
import { type AppendedAudit, AUDIT_LINEAR, appendAudit, auditCount, auditPage, auditTail } from "../store/queries/audit.ts";

/** Events of the product. Nobody else may append under these names. */
const RESERVED = ["memory", "forget", "prune", "sync", "project", "auth"];
/** What stands before the name of an event that a client appended. */
const CLIENT_PREFIX = "client.";
/** Where a client's event says who appended it. */
const CLIENT_KEY = "_client";
/** Appends that met another writer on a chain without a lock in between: tries, and the first pause, milliseconds. */
const MAX_RETRIES = 5;
const FIRST_PAUSE_MS = 5;
/** Rows of one page of a walk. */
const PAGE_ROWS = 1_000;

export type ServerEvent = `${"memory" | "forget" | "prune" | "sync" | "project" | "auth"}.${string}`;

export interface AuditVerdict {
  readonly checked: number;
  readonly total: number;
  readonly unprotected: number;
  readonly head: { readonly id: number; readonly hash: string } | undefined;
  readonly firstBreak: { readonly id: number; readonly reason: AuditBreak } | undefined;
  /** Every row was looked at. */
  readonly complete: boolean;
}

export interface AuditEvent {
  readonly id: number;
  readonly action: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
}

export interface Audit {
  /** Records what the product does, in the transaction that does it: both are kept, or neither. The payload holds no text of a memory. */
  record(tx: Tx, event: ServerEvent, payload: Readonly<Record<string, unknown>>): Promise<AppendedAudit>;
  /** A client's own event, under `client.`. @throws MemoryError `invalid` for a name of the product's, or a payload that cannot be chained. */
  append(
    ctx: CallContext,
    event: { readonly action: string; readonly payload: Readonly<Record<string, unknown>> },
  ): Promise<AppendedAudit & { readonly retries: number }>;
  /** @param limit rows to look at; all of them without it. */
  verify(ctx: CallContext, limit: number | undefined): Promise<AuditVerdict>;
  /** Newest first. */
  tail(
    ctx: CallContext,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ rows: readonly AuditEvent[]; total: number }>;
}

export interface AuditParts {
  readonly db: Database;
  /** Key of the chain, read anew for each call; undefined → plain SHA-256. */
  readonly key: () => string | undefined;
  readonly now: () => Date;
  /** Waits; a test passes its own. */
  readonly pause?: (ms: number) => Promise<void>;
}

/** The name under which a client's event is stored. */
function clientEvent(action: string): string {
  if (action.startsWith(CLIENT_PREFIX)) return action;
  const family = action.split(".")[0] ?? "";
  if (RESERVED.includes(family) && action.includes("."))
    throw invalid(
      `event_action '${shown(action)}' is reserved: events of ${RESERVED.map((name) => `${name}.*`).join(", ")} are the server's own. Choose another name. Nothing was written.`,
      { field: "event_action" },
    );
  return CLIENT_PREFIX + action;
}

export function createAudit({ db, key, now, pause = (ms) => Bun.sleep(ms) }: AuditParts): Audit {
  const total = (ctx: CallContext) => db.read(ctx, async (tx) => (await tx.first(auditCount()))?.rows ?? 0);
  return {
    record: (tx, event, payload) => appendAudit(tx, { action: event, payload, at: now(), key: key() }),

    async append(ctx, { action, payload }) {
      if (Object.hasOwn(payload, CLIENT_KEY))
        throw invalid(`payload.${CLIENT_KEY} is the server's own key: it says who appended. Leave it out. Nothing was written.`, {
          field: `payload.${CLIENT_KEY}`,
        });
      const entry = { action: clientEvent(action), payload: { ...payload, [CLIENT_KEY]: ctx.client.split("::")[0] }, key: key() };
      for (let retries = 0; ; retries++) {
        try {
          return { ...(await db.write(ctx, (tx) => appendAudit(tx, { ...entry, at: now() }))), retries };
        } catch (error) {
          if (!isDuplicate(error, AUDIT_LINEAR)) throw error;
          if (retries === MAX_RETRIES)
            throw conflict("Other writers kept extending the audit log. Nothing was written. Try again.", { cause: error });
          await pause(FIRST_PAUSE_MS * 2 ** retries);
        }
      }
    },

    async verify(ctx, limit) {
      const verifier = createAuditVerifier(key());
      const most = limit ?? Number.POSITIVE_INFINITY;
      let after = 0;
      let ended = false;
      while (!ended && verifier.state.firstBreak === undefined && ctx.deadline.remainingMs() > ANSWER_RESERVE_MS) {
        const size = Math.min(PAGE_ROWS, most - verifier.state.checked);
        if (size <= 0) break;
        const from = after;
        const rows = await db.read(ctx, (tx) => tx.all(auditPage({ afterId: from, limit: size })));
        verifier.take(rows);
        after = rows.at(-1)?.id ?? after;
        ended = rows.length < size;
      }
      const { checked, unprotected, head, firstBreak } = verifier.state;
      const rows = await total(ctx);
      return {
        checked,
        total: rows,
        unprotected,
        head: head === undefined ? undefined : { id: head.id, hash: Buffer.from(head.hash).toString("hex") },
        firstBreak,
        complete: ended || checked >= rows,
      };
    },

    tail: (ctx, page) =>
      db.read(ctx, async (tx) => ({
        rows: (await tx.all(auditTail(page))).map((row) => ({
          id: row.id,
          action: row.action,
          payload: row.payload,
          createdAt: row.created_at,
        })),
        total: (await tx.first(auditCount()))?.rows ?? 0,
      })),
  };
}
