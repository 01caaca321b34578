/** One transaction on one connection: begin, stamp, work, commit. Shared by both engines; what differs is where the connection comes from. */
import type { SQL } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import type { CallScope } from "../kernel/context.ts";
import { cancelled, MemoryError, timedOut } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { oneLine } from "../kernel/text.ts";
import type { Connection } from "./connection.ts";
import { isConnectionFault, isRetryable, translate } from "./failures.ts";
import type { Query, Tx, TxLimits } from "./port.ts";
import { toWire, type WireValue } from "./wire.ts";

const dialect = new PgDialect();

/** A drizzle `sql` template as statement text with `$n` and its parameters. */
export function compile(statement: SQL): { text: string; params: WireValue[] } {
  const { sql: text, params } = dialect.sqlToQuery(statement);
  return { text, params: params.map(toWire) };
}

/** How each transaction of a database begins. */
export interface Stamping {
  /** Role taken for the transaction; undefined keeps the login's (an admin connection that could not step down). */
  readonly role: string | undefined;
  /** Label of this machine, the default of `origin_node`. Set per transaction: on PGlite all callers share one session. */
  readonly nodeName: string;
  /** Where slow statements go. */
  readonly log?: Pick<Logger, "warn"> | undefined;
}

/** A statement that takes longer is logged, milliseconds. */
const SLOW_MS = 1_000;
/** How much of a slow statement's text the log shows: enough to find it. It holds no values, those are parameters. */
const SHOWN_STATEMENT_CHARS = 160;

/** `app.current_project`: a uuid, nothing, or `*` (`data-model.md` §6.2). */
const scopeStamp = (scope: CallScope["scope"]): string => (scope.kind === "project" ? scope.id : scope.kind === "none" ? "" : "*");

/** `app.current_principal`: the name to look grants up by; the owner and our own timers are everybody (`0010`). */
const principalStamp = (principal: CallScope["principal"]): string =>
  principal.kind === "owner" || principal.kind === "system" ? "*" : principal.id;

/**
 * Plans of statements that find their rows by key (`0071`). Without bitmaps an index that has the wanted order is followed, not sorted again.
 * Sessions have `jit` off: before PostgreSQL 18 a forbidden way is one that costs ten billion, and that much cost would be worth compiling.
 */
const byKeyPlans: readonly [string, string][] = [
  ["plan_cache_mode", "force_generic_plan"],
  ["enable_seqscan", "off"],
  ["enable_bitmapscan", "off"],
];

/** The first statement: role, project, principal, node and limits, all transaction-local, in one round trip. */
function stamp(ctx: CallScope, stamping: Stamping, limits: TxLimits): { text: string; params: string[] } {
  const settings: [string, string][] = [];
  if (stamping.role !== undefined) settings.push(["role", stamping.role]);
  settings.push(["app.current_project", scopeStamp(ctx.scope)]);
  settings.push(["app.current_principal", principalStamp(ctx.principal)]);
  settings.push(["cuba.node_name", stamping.nodeName]);
  if (limits.statementTimeoutMs !== undefined)
    settings.push(["statement_timeout", String(Math.max(1, Math.ceil(limits.statementTimeoutMs)))]);
  if (limits.byKey) settings.push(...byKeyPlans);
  if (limits.lockTimeoutMs !== undefined) settings.push(["lock_timeout", String(Math.max(1, Math.ceil(limits.lockTimeoutMs)))]);
  const calls = settings.map(([name], index) => `set_config('${name}', $${index + 1}::text, true)`);
  return { text: `select ${calls.join(", ")}`, params: settings.map(([, value]) => value) };
}

/** The error of a call that was given up: by its client, or because its time was over. */
export function abortError(signal: AbortSignal): MemoryError {
  const late = signal.reason instanceof DOMException && signal.reason.name === "TimeoutError";
  return late ? timedOut("The time for this call was over before the database could answer. Nothing was written.") : cancelled();
}

class StatementTx implements Tx {
  readonly #connection: Connection;
  readonly #signal: AbortSignal;
  readonly #log: Stamping["log"];
  readonly #depth: number;
  #open = true;

  constructor(connection: Connection, signal: AbortSignal, log: Stamping["log"], depth = 0) {
    this.#connection = connection;
    this.#signal = signal;
    this.#log = log;
    this.#depth = depth;
  }

  close(): void {
    this.#open = false;
  }

  async #send(statement: SQL) {
    if (!this.#open) throw new Error("a statement was sent after its transaction had ended");
    if (this.#signal.aborted) throw abortError(this.#signal);
    const { text, params } = compile(statement);
    const startedAt = performance.now();
    try {
      return await this.#connection.query(text, params);
    } catch (error) {
      if (this.#signal.aborted) throw abortError(this.#signal);
      throw translate(error);
    } finally {
      const ms = performance.now() - startedAt;
      if (ms > SLOW_MS) this.#log?.warn("slow statement", { ms: Math.round(ms), statement: oneLine(text, SHOWN_STATEMENT_CHARS) });
    }
  }

  async all<T>(query: Query<T>): Promise<T[]> {
    const { rows } = await this.#send(query.statement);
    return rows.map((row) => query.schema.parse(row));
  }

  async first<T>(query: Query<T>): Promise<T | undefined> {
    const { rows } = await this.#send(query.statement);
    const row = rows[0];
    return row === undefined ? undefined : query.schema.parse(row);
  }

  async run(statement: SQL): Promise<number> {
    return (await this.#send(statement)).count;
  }

  async savepoint<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    if (!this.#open) throw new Error("a savepoint was opened after its transaction had ended");
    const name = `s${this.#depth + 1}`;
    const inner = new StatementTx(this.#connection, this.#signal, this.#log, this.#depth + 1);
    await this.#connection.script(`savepoint ${name}`);
    try {
      const result = await work(inner);
      await this.#connection.script(`release savepoint ${name}`);
      return result;
    } catch (error) {
      await this.#connection.script(`rollback to savepoint ${name}; release savepoint ${name}`);
      throw translate(error);
    } finally {
      inner.close();
    }
  }
}

/** Isolation of the port: each statement sees what is committed when it starts. */
const begin = { read: "begin read only", write: "begin" } as const;

/** Runs `work` in a stamped transaction on `connection`; commits, or rolls back and throws our error. */
export async function runTransaction<T>(
  connection: Connection,
  mode: keyof typeof begin,
  ctx: CallScope,
  stamping: Stamping,
  limits: TxLimits,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const tx = new StatementTx(connection, ctx.signal, stamping.log);
  const first = stamp(ctx, stamping, limits);
  let committing = false;
  try {
    // Sent together: a driver that pipelines needs one round trip for both.
    await Promise.all([connection.script(begin[mode]), connection.query(first.text, first.params)]);
    const result = await work(tx);
    if (ctx.signal.aborted) throw abortError(ctx.signal);
    if (mode === "read" && connection.pipelined) {
      // Nothing hangs on the end of a read, and whoever gets the connection next comes behind it. A connection that is lost says so to the next statement.
      void connection.query("commit").catch(() => undefined);
      return result;
    }
    committing = true;
    const end = await connection.query("commit");
    // A failed statement that `work` swallowed outside of a savepoint: the server rolls back and calls that a success.
    if (end.command !== "COMMIT")
      throw new MemoryError("internal", "A failed statement was ignored, so the transaction was rolled back. Nothing was written.");
    return result;
  } catch (error) {
    const failure = translate(error);
    // Statements that were asked for together may still be on their way: none may follow the rollback, outside of transaction and stamp.
    tx.close();
    if (committing && isConnectionFault(failure)) throw translate(error, { written: "unknown" });
    // The failure that matters is the first one; a rollback on a lost connection fails too.
    await connection.script("rollback").catch(() => undefined);
    throw failure;
  } finally {
    tx.close();
  }
}

/** Attempts of one transaction that collides (40001, 40P01), the first included. */
const ATTEMPTS = 4;
/** Longest pause before the second attempt, milliseconds; doubles each time, jittered so that two rivals do not meet again. */
const FIRST_PAUSE_MS = 10;

/** Runs `attempt` again while it collides with other transactions. */
export async function retrying<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (tries === ATTEMPTS || !isRetryable(error) || signal.aborted) throw error;
      await Bun.sleep(Math.random() * FIRST_PAUSE_MS * 2 ** (tries - 1));
    }
  }
}
