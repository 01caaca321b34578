/**
 * The database port. PostgreSQL and PGlite speak one dialect, so the port is the transaction, not a repository per table.
 * Code asks a trait of the engine, never its name.
 */
import type { SQL } from "drizzle-orm";
import type { ZodType } from "zod";
import type { CallScope } from "../kernel/context.ts";

/** What an engine can do. */
export interface Traits {
  /** More than one connection works at the same time; races are real and advisory locks mean something. */
  readonly concurrent: boolean;
  /** NOTIFY reaches other processes. */
  readonly crossProcessNotify: boolean;
  /** Server version as `server_version_num`. */
  readonly serverVersion: number;
}

/** A statement with the schema that decodes its rows; made by `query()`. */
export interface Query<T> {
  readonly schema: ZodType<T>;
  readonly statement: SQL;
}

/** A row of what `query()` made. */
export type RowOf<Q extends (input: never) => Query<unknown>> = ReturnType<Q> extends Query<infer Row> ? Row : never;

/** One open transaction. Inside `work` only this is in reach; nothing slow happens here. */
export interface Tx {
  /** All rows, decoded. */
  all<T>(query: Query<T>): Promise<T[]>;
  /** The first row, or undefined. */
  first<T>(query: Query<T>): Promise<T | undefined>;
  /** Runs a statement for its effect; answers the number of rows it touched. */
  run(statement: SQL): Promise<number>;
  /** Runs `work` under a savepoint: its failure undoes only its own statements and is thrown to the caller. */
  savepoint<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** Limits of one transaction, milliseconds, for which the adapter has defaults, and how its statements are planned. */
export interface TxLimits {
  readonly statementTimeoutMs?: number;
  readonly lockTimeoutMs?: number;
  /**
   * Every statement of it finds its rows by a key: plans are made once and never scan a table. Planning costs three times what running such
   * statements does (`0071`), and the embedded engine, which nobody analyzes, would keep the plan that suited an empty table.
   */
  readonly byKey?: boolean;
}

export type Channel = "brain_sync_clock" | "brain_events";

export interface Database extends AsyncDisposable {
  readonly traits: Traits;
  /** A read-only transaction; may go to a replica. Retried on 40001/40P01. */
  read<T>(ctx: CallScope, work: (tx: Tx) => Promise<T>, limits?: Pick<TxLimits, "byKey">): Promise<T>;
  /** A read-write transaction. When it resolves the commit is on disk (embedded: WAL `fdatasync`ed). Retried on 40001/40P01. */
  write<T>(ctx: CallScope, work: (tx: Tx) => Promise<T>, limits?: TxLimits): Promise<T>;
  /** A session-level advisory lock, tried and not waited for; undefined where somebody else holds it. */
  tryLock(key: bigint): Promise<AsyncDisposable | undefined>;
  listen(channel: Channel, onPayload: (payload: string) => void): Promise<AsyncDisposable>;
}
