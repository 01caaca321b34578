/** A database that may not be there yet: the daemon starts anyway, each call says the true reason, and the first one that succeeds stays. */
import type { Database, Traits } from "./port.ts";

export interface LazyDatabase extends Database {
  /** True once an attempt has succeeded. */
  readonly isOpen: boolean;
}

/**
 * @param open connects, migrates, steps down; called again by a later call after it has failed, by one caller at a time.
 * @param assumed traits until then.
 */
export function lazyDatabase(open: () => Promise<Database>, assumed: Traits): LazyDatabase {
  let database: Database | undefined;
  let opening: Promise<Database> | undefined;
  let closed = false;

  const ready = async (): Promise<Database> => {
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
