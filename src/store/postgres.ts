/**
 * The server adapter: any PostgreSQL ≥ 15 by URL, several hosts with failover (the driver looks for the one that accepts writes).
 *
 * - A pool of our own (server/pool.ts) over single connections; nothing is opened before it is needed.
 * - An aborted signal takes a caller out of the queue, or cancels its running statement on the server (`pg_cancel_backend` from a second
 *   connection); the connection goes back only when that is done, so that a late cancel never hits somebody else.
 * - A connection that the server cut while it lay idle is found out by the next transaction on it. One that has changed nothing runs once more, on a fresh
 *   connection: a read, and a write of which no statement was sent. A connection lost in the middle of a write fails it; whether it was committed may not be
 *   known, so it is never repeated. Reads go to the primary as well: there is no
 *   setting that names a replica, and what was just written must be found.
 */
import type { CallScope } from "../kernel/context.ts";
import type { Connection, OwnerAccess } from "./connection.ts";
import { isConnectionFault, translate } from "./failures.ts";
import type { Database, Traits, Tx, TxLimits } from "./port.ts";
import { type Client, type ClientOptions, connect, defaultSettings, type SessionSettings } from "./server/client.ts";
import { createListener } from "./server/listener.ts";
import { createPool } from "./server/pool.ts";
import { retrying, runTransaction, type Stamping } from "./transaction.ts";

export interface ServerOptions {
  readonly url: string;
  /** URL of the owner, for {@link OwnerAccess}; the same as `url` where the role could not be stepped down. */
  readonly ownerUrl?: string;
  /** Role taken in each transaction; undefined where the login is that role, or must stay what it is. */
  readonly role?: string;
  readonly nodeName: string;
  readonly settings?: Partial<SessionSettings>;
  readonly maxConnections?: number;
  readonly acquireTimeoutMs?: number;
  readonly log?: Stamping["log"];
}

export interface ServerDatabase extends Database, OwnerAccess {
  /** Answers a query as the runtime role, or fails with the true reason: what "ready" means. */
  ping(): Promise<{ readonly role: string; readonly bypassesRowSecurity: boolean }>;
}

const MAX_CONNECTIONS = 4;
const ACQUIRE_TIMEOUT_MS = 5_000;
const IDLE_MS = 600_000;
const LIFETIME_MS = 1_800_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** A cancelled statement that has not ended by then sits on a dead network: its connection is dropped, milliseconds. */
const CANCEL_GRACE_MS = 5_000;
/** Version assumed until the first connection: the oldest that is served. */
const LEAST_SERVER = 150_000;

/** A database on a server. Opens nothing; the first call does. */
export function openPostgres(options: ServerOptions): ServerDatabase {
  const settings: SessionSettings = { ...defaultSettings, ...options.settings };
  const stamping: Stamping = { role: options.role, nodeName: options.nodeName, log: options.log };
  let serverVersion = LEAST_SERVER;

  const connectTo = async (url: string, extra: Partial<ClientOptions> = {}): Promise<Client> => {
    const client = await connect({ url, settings, connectTimeoutMs: CONNECT_TIMEOUT_MS, ...extra });
    serverVersion = client.serverVersion;
    return client;
  };

  const pool = createPool({
    connect: () => connectTo(options.url),
    max: options.maxConnections ?? MAX_CONNECTIONS,
    acquireTimeoutMs: options.acquireTimeoutMs ?? ACQUIRE_TIMEOUT_MS,
    idleMs: IDLE_MS,
    lifetimeMs: LIFETIME_MS,
  });

  const listener = createListener({ connect: (onNotification, onClose) => connectTo(options.url, { onNotification, onClose }) });

  /** Asks the server to stop what `client` runs. A failure means that the statement goes on until its own timeout. */
  const cancelRunning = async (client: Client) => {
    const helper = await connectTo(options.url);
    try {
      await helper.query("select pg_cancel_backend($1::int)", [String(client.backendPid)]);
    } finally {
      await helper.close();
    }
  };

  const onConnection = async <T>(signal: AbortSignal, work: (client: Client) => Promise<T>): Promise<T> => {
    const client = await pool.acquire(signal).catch((error: unknown) => {
      throw translate(error);
    });
    let cancelling: Promise<void> | undefined;
    let givingUp: ReturnType<typeof setTimeout> | undefined;
    const onAbort = () => {
      cancelling ??= cancelRunning(client).catch(() => undefined);
      givingUp = setTimeout(() => void client.close().catch(() => undefined), CANCEL_GRACE_MS);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await work(client);
    } finally {
      signal.removeEventListener("abort", onAbort);
      clearTimeout(givingUp);
      if (cancelling !== undefined) {
        await cancelling;
        // The cancel may have hit the rollback itself; a connection with an open transaction must not go back.
        await client.script("rollback").catch(() => client.close());
      }
      pool.release(client);
    }
  };

  const transact = <T>(mode: "read" | "write", ctx: CallScope, limits: TxLimits, work: (tx: Tx) => Promise<T>): Promise<T> =>
    retrying(ctx.signal, async () => {
      /** `lent`: a connection was there. `sent`: the transaction began, so statements may have been sent. */
      const reached: { it: "nothing" | "lent" | "sent" } = { it: "nothing" };
      const attempt = () =>
        onConnection(ctx.signal, (client) => {
          reached.it = "lent";
          return runTransaction(client, mode, ctx, stamping, limits, (tx) => {
            reached.it = "sent";
            return work(tx);
          });
        });
      try {
        return await attempt();
      } catch (error) {
        const changedNothing = reached.it === "lent" || (reached.it === "sent" && mode === "read");
        if (!changedNothing || !isConnectionFault(error) || ctx.signal.aborted) throw error;
        // Whatever cut this one cut the others.
        pool.dropFree();
        return await attempt();
      }
    });

  /** A connection outside of the pool for the time of `work`. */
  const alone = async <T>(url: string, work: (connection: Connection) => Promise<T>): Promise<T> => {
    const client = await connectTo(url).catch((error: unknown) => {
      throw translate(error);
    });
    try {
      return await work(client);
    } catch (error) {
      throw translate(error);
    } finally {
      await client.close();
    }
  };

  const traits: Traits = {
    concurrent: true,
    crossProcessNotify: true,
    get serverVersion() {
      return serverVersion;
    },
  };

  return {
    traits,
    read: (ctx, work, limits = {}) => transact("read", ctx, limits, work),
    write: (ctx, work, limits = {}) => transact("write", ctx, limits, work),

    async tryLock(key) {
      // A session lock needs a session: this connection is the lock, and losing it frees the lock.
      const client = await connectTo(options.url).catch((error: unknown) => {
        throw translate(error);
      });
      const { rows } = await client.query("select pg_try_advisory_lock($1::bigint) as held", [String(key)]);
      if (rows[0]?.held !== true) {
        await client.close();
        return undefined;
      }
      return { [Symbol.asyncDispose]: () => client.close() };
    },

    listen: async (channel, onPayload) => {
      try {
        return await listener.listen(channel, onPayload);
      } catch (error) {
        throw translate(error);
      }
    },

    asOwner: (work) => alone(options.ownerUrl ?? options.url, work),

    async ping() {
      const client = await pool.acquire().catch((error: unknown) => {
        throw translate(error);
      });
      try {
        const { rows } = await client.query(
          "select r.rolname, r.rolsuper or r.rolbypassrls as bypasses from pg_roles as r where r.rolname = coalesce($1::text, current_user)",
          [options.role ?? null],
        );
        return { role: String(rows[0]?.rolname), bypassesRowSecurity: rows[0]?.bypasses === true };
      } catch (error) {
        throw translate(error);
      } finally {
        pool.release(client);
      }
    },

    async [Symbol.asyncDispose]() {
      await listener[Symbol.asyncDispose]();
      await pool.close();
    },
  };
}
