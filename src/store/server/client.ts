/**
 * One connection to a server. postgres.js reconnects silently when a connection drops; in the middle of a transaction that would run the
 * rest of it on a fresh connection, outside of any transaction and without its stamp. So each client is a postgres.js instance of exactly
 * one connection that is thrown away as soon as that connection closes, and the pool (pool.ts) is ours.
 */
import postgres from "postgres";
import type { Connection } from "../connection.ts";
import { readers } from "../wire.ts";

/** Planner and session settings of every connection (`data-model.md` §12). */
export interface SessionSettings {
  readonly applicationName: string;
  readonly randomPageCost: number;
  readonly ioConcurrency: number;
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly idleInTransactionTimeoutMs: number;
}

export const defaultSettings: SessionSettings = {
  applicationName: "memory-industry",
  randomPageCost: 1.1,
  ioConcurrency: 200,
  // A call has 30 s; background work names its own limit. All were 0 once, and two clashing statements hung for ever.
  statementTimeoutMs: 60_000,
  lockTimeoutMs: 10_000,
  idleInTransactionTimeoutMs: 60_000,
};

export interface ClientOptions {
  /** `postgres://…`, several hosts separated by commas. */
  readonly url: string;
  readonly settings: SessionSettings;
  /** Longest wait for one host to answer, milliseconds. */
  readonly connectTimeoutMs: number;
  readonly onNotification?: (channel: string, payload: string) => void;
  /** Called once, when the connection is gone. */
  readonly onClose?: () => void;
}

export interface Client extends Connection {
  /** False as soon as the connection is gone; it never comes back. */
  readonly alive: boolean;
  /** Server process of this connection, for `pg_cancel_backend`. */
  readonly backendPid: number;
  /** `server_version_num`. */
  readonly serverVersion: number;
  /** Milliseconds of the monotonic clock at which the connection was made. */
  readonly bornAt: number;
  close(): Promise<void>;
}

/** Every type reads as wire.ts says and writes as the text that it is given; postgres.js would re-encode JSON and cut microseconds. */
const textTypes = Object.fromEntries(
  [...readers].map(([oid, parse]) => [`t${oid}`, { to: oid, from: [oid], serialize: (text: string) => text, parse }]),
);

/** Parameters of libpq that name things of the client. The driver would hand them to the server, which refuses to start a session with them. */
const CLIENT_ONLY =
  /^(channel_binding|gssencmode|gsslib|krbsrvname|keepalives\w*|load_balance_hosts|requirepeer|sslcompression|sslcrl\w*|sslsni|tcp_user_timeout)=/i;

/** `url` without the parameters that only libpq knows; providers put them into the address they hand out. */
export function withoutClientParameters(url: string): string {
  const [address = "", query] = url.split("?", 2);
  if (query === undefined) return url;
  const kept = query.split("&").filter((pair) => !CLIENT_ONLY.test(pair));
  return kept.length === 0 ? address : `${address}?${kept.join("&")}`;
}

const closedError = () => Object.assign(new Error("the connection is closed"), { code: "CONNECTION_CLOSED" });

/** Makes one connection and sets its session up. Fails with the driver's error. */
export async function connect(options: ClientOptions): Promise<Client> {
  const { settings } = options;
  let alive = true;
  /** Rejects what is under way. The driver forgets a statement that was sent between a socket's error and its close. */
  const pending = new Set<(error: Error) => void>();
  const die = () => {
    alive = false;
    for (const reject of pending) reject(closedError());
    pending.clear();
  };
  const driverOptions = {
    max: 1,
    prepare: true,
    fetch_types: false,
    // Ends are ours to decide: a driver timer would close under a transaction.
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: options.connectTimeoutMs / 1000,
    target_session_attrs: "read-write" as const,
    types: textTypes,
    onnotice: () => {},
    onnotify: options.onNotification,
    onclose: () => {
      const wasAlive = alive;
      die();
      if (wasAlive) options.onClose?.();
    },
    connection: {
      application_name: settings.applicationName,
      TimeZone: "UTC",
      DateStyle: "ISO",
      random_page_cost: String(settings.randomPageCost),
      // Compiling a statement takes tens of milliseconds to seconds and is done for a cost that is only estimated: before PostgreSQL 18 a plan that was
      // forbidden counts as ten billion. Ours end before it would pay.
      jit: "off",
      statement_timeout: settings.statementTimeoutMs,
      lock_timeout: settings.lockTimeoutMs,
      idle_in_transaction_session_timeout: settings.idleInTransactionTimeoutMs,
    },
  };
  const sql = postgres(withoutClientParameters(options.url), driverOptions);
  const send = async (text: string, params: readonly (string | null)[]) => {
    if (!alive) throw closedError();
    const { promise: gone, reject } = Promise.withResolvers<never>();
    pending.add(reject);
    try {
      const answer = params.length === 0 ? sql.unsafe(text) : sql.unsafe(text, [...params], { prepare: true });
      return await Promise.race([answer, gone]);
    } finally {
      pending.delete(reject);
    }
  };
  try {
    const [about] = await send("select pg_backend_pid() as pid, current_setting('server_version_num')::int as version", []);
    // Platforms without prefetch refuse any value but 0.
    await send(`set effective_io_concurrency = ${Math.trunc(settings.ioConcurrency)}`, []).catch(() => undefined);
    return {
      pipelined: true,
      bornAt: performance.now(),
      backendPid: Number(about?.pid),
      serverVersion: Number(about?.version),
      get alive() {
        return alive;
      },
      async query(text, params = []) {
        const rows = await send(text, params);
        return { rows: [...rows], command: rows.command, count: rows.count ?? 0 };
      },
      async script(text) {
        await send(text, []);
      },
      async close() {
        die();
        await sql.end({ timeout: 1 }); // seconds the server may take to say goodbye
      },
    };
  } catch (error) {
    die();
    await sql.end({ timeout: 0 });
    throw error;
  }
}
