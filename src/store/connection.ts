/** One connection, and what a transaction needs of it. Adapters implement it; transactions, migrations and owner work run on it. */
import type { RawRow, WireValue } from "./wire.ts";

export interface RawResult {
  readonly rows: readonly RawRow[];
  /** First word of the command tag: SELECT, INSERT, COMMIT … */
  readonly command: string;
  /** Rows the command tag counts; 0 where it counts none. */
  readonly count: number;
}

export interface Connection {
  /** True where statements travel one behind the other without waiting for answers: what is sent next is carried out next, whoever sends it. */
  readonly pipelined?: boolean;
  /** One statement with parameters `$1…`. Fails with the driver's error; failures.ts translates. */
  query(text: string, params?: readonly WireValue[]): Promise<RawResult>;
  /** Statements without parameters, separated by semicolons, sent as one message. */
  script(text: string): Promise<void>;
}

/** What an adapter offers besides `Database`: work as the owner of the schema (migrations, indexes, grants), outside of row security. */
export interface OwnerAccess {
  /** Runs `work` alone on one owner connection. Never for product queries: row security does not apply to it. */
  asOwner<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
}

/** Work of the schema's owner, all of it or none: unstamped, outside of row security. @throws what `work` throws, or the driver's error */
export async function allOrNothing<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  await connection.script("begin");
  try {
    const result = await work();
    await connection.script("commit");
    return result;
  } catch (error) {
    // The failure that matters is the first one; a rollback on a lost connection fails too.
    await connection.script("rollback").catch(() => undefined);
    throw error;
  }
}
