/** A database that may not be there yet: the daemon starts anyway, each call says the true reason, and the first one that succeeds stays. */
import type { Database, Traits } from "./port.ts";

export interface LazyDatabase<D extends Database> extends Database {
  /** True once an attempt has succeeded. */
  readonly isOpen: boolean;
  /** The database itself, for what the port does not offer: the one that the calls use, opened where it is not yet. */
  reach(): Promise<D>;
}

/**
 * @param open connects, migrates, steps down; called again by a later call after it has failed, by one caller at a time.
 * @param assumed traits until then.
 */
export function lazyDatabase<D extends Database>(open: () => Promise<D>, assumed: Traits): LazyDatabase<D> {
  let database: D | undefined;
  let opening: Promise<D> | undefined;
  let closed = false;

  const ready = async (): Promise<D> => {
    if (database !== undefined) return database;
    opening ??= open().finally(() => {
      opening = undefined;
    });
    const opened = await opening;
    if (closed) await opened[Symbol.asyncDispose]();
    database = opened;
    return opened;
  };

  return {
    get traits() {
      return database?.traits ?? assumed;
    },
    get isOpen() {
      return database !== undefined;
    },
    reach: ready,
    read: async (ctx, work, limits) => await (await ready()).read(ctx, work, limits),
    write: async (ctx, work, limits) => await (await ready()).write(ctx, work, limits),
    tryLock: async (key) => await (await ready()).tryLock(key),
    listen: async (channel, onPayload) => await (await ready()).listen(channel, onPayload),
    async [Symbol.asyncDispose]() {
      closed = true;
      await (database ?? (await opening?.catch(() => undefined)))?.[Symbol.asyncDispose]();
    },
  };
}
