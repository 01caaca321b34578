/** Connections to a server, lent one at a time. Nothing is opened before somebody asks: an unreachable server is found out by the first call. */
import { abortError } from "../transaction.ts";
import type { Client } from "./client.ts";

export interface PoolOptions {
  readonly connect: () => Promise<Client>;
  readonly max: number;
  /** Longest wait for a free connection, milliseconds. */
  readonly acquireTimeoutMs: number;
  /** An unused connection is closed after this, milliseconds; one is kept. */
  readonly idleMs: number;
  /** A connection is replaced after this, milliseconds: a pool moves on to a new primary or a rebalanced proxy by itself. */
  readonly lifetimeMs: number;
}

export interface Pool {
  /** A connection for the caller alone, to be given back. @throws an error of code ACQUIRE_TIMEOUT, the driver's, or the signal's. */
  acquire(signal?: AbortSignal): Promise<Client>;
  release(client: Client): void;
  /** Closes every connection that nobody uses now. */
  dropFree(): void;
  /** Waits for lent connections to come back, then closes all. Later calls are refused. */
  close(): Promise<void>;
}

interface Waiter {
  resolve(client: Client): void;
  reject(error: unknown): void;
}

/** How often unused connections are looked at, milliseconds. */
const SWEEP_MS = 30_000;

const poolError = (code: string, message: string) => Object.assign(new Error(message), { code });

export function createPool(options: PoolOptions): Pool {
  /** Free connections, the one used last at the end. */
  const free: { client: Client; since: number }[] = [];
  const lent = new Set<Client>();
  const waiters = new Set<Waiter>();
  let opening = 0;
  let closing = false;
  let drained: (() => void) | undefined;

  const isWorn = (client: Client) => performance.now() - client.bornAt > options.lifetimeMs;
  const discard = (client: Client) => void client.close().catch(() => undefined);

  const sweep = setInterval(() => {
    const now = performance.now();
    for (const entry of [...free]) {
      const last = free.length === 1 && lent.size === 0;
      if (entry.client.alive && !isWorn(entry.client) && (last || now - entry.since <= options.idleMs)) continue;
      free.splice(free.indexOf(entry), 1);
      discard(entry.client);
    }
  }, SWEEP_MS);
  sweep.unref();

  const lend = (client: Client) => {
    lent.add(client);
    return client;
  };

  const takeFree = (): Client | undefined => {
    for (let entry = free.pop(); entry !== undefined; entry = free.pop()) {
      if (entry.client.alive && !isWorn(entry.client)) return entry.client;
      discard(entry.client);
    }
    return undefined;
  };

  /** Opens a connection for whoever waits longest. A failure goes to that one: it holds the true reason. */
  const open = async () => {
    opening++;
    try {
      hand(await options.connect());
    } catch (error) {
      const [waiter] = waiters;
      if (waiter !== undefined) {
        waiters.delete(waiter);
        waiter.reject(error);
      }
    } finally {
      opening--;
      serve();
    }
  };

  const hand = (client: Client) => {
    const [waiter] = waiters;
    if (waiter !== undefined && !closing) {
      waiters.delete(waiter);
      waiter.resolve(lend(client));
    } else if (closing) discard(client);
    else free.push({ client, since: performance.now() });
  };

  /** Starts connections for those who wait, up to the limit. */
  const serve = () => {
    while (!closing && opening < waiters.size && lent.size + opening + free.length < options.max) void open();
    if (closing && lent.size === 0 && opening === 0) drained?.();
  };

  return {
    async acquire(signal) {
      if (closing) throw poolError("CONNECTION_ENDED", "the database is closed");
      if (signal?.aborted) throw abortError(signal);
      const client = waiters.size === 0 ? takeFree() : undefined;
      if (client !== undefined) return lend(client);
      return await new Promise<Client>((resolve, reject) => {
        const settle = (act: () => void) => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", onAbort);
          waiters.delete(waiter);
          act();
        };
        const waiter: Waiter = {
          resolve: (given) => settle(() => resolve(given)),
          reject: (error) => settle(() => reject(error)),
        };
        const timer = setTimeout(
          () => waiter.reject(poolError("ACQUIRE_TIMEOUT", "no connection became free in time")),
          options.acquireTimeoutMs,
        );
        const onAbort = () => signal !== undefined && waiter.reject(abortError(signal));
        signal?.addEventListener("abort", onAbort, { once: true });
        waiters.add(waiter);
        serve();
      });
    },

    release(client) {
      lent.delete(client);
      if (!client.alive) serve();
      else if (closing || isWorn(client)) {
        discard(client);
        serve();
      } else hand(client);
    },

    dropFree() {
      for (const { client } of free.splice(0)) discard(client);
    },

    async close() {
      closing = true;
      clearInterval(sweep);
      for (const waiter of [...waiters]) waiter.reject(poolError("CONNECTION_ENDED", "the database is closed"));
      if (lent.size > 0 || opening > 0) await new Promise<void>((resolve) => (drained = resolve));
      await Promise.all(free.splice(0).map(({ client }) => client.close().catch(() => undefined)));
    },
  };
}
