/**
 * The embedded adapter: PostgreSQL in this process, one connection, transactions one after another.
 *
 * - `write` resolves when its commit is on disk (`embedded/durability.ts`). The wait happens after the transaction has left the connection.
 * - An aborted signal keeps a transaction from starting, and a statement from being sent. A statement that runs cannot be stopped: the engine
 *   is a function call on this thread, no timer and no signal reaches it (`statement_timeout` is accepted and never fires; decision 0011).
 * - On a full disk no write begins (`embedded/room.ts`). After a crash of the engine nothing does: {@link EmbeddedDatabase.stopped} says so.
 * - Reads run in the same turns. They may show a commit whose sync is still on its way; nobody was told yet that it is stored.
 */
import { unavailable } from "../kernel/errors.ts";
import { APP_ROLE } from "./app-role.ts";
import type { OwnerAccess } from "./connection.ts";
import type { EngineAssets } from "./embedded/assets.ts";
import { type Engine, startEngine } from "./embedded/engine.ts";
import { type FreeBytes, freeBytesOf, lacksRoom, requireRoom } from "./embedded/room.ts";
import { createUpkeep } from "./embedded/upkeep.ts";
import { type EngineConnection, wireConnection } from "./embedded/wire-connection.ts";
import { translate } from "./failures.ts";
import type { Database, Traits, TxLimits } from "./port.ts";
import { createTurns } from "./queue.ts";
import { retrying, runTransaction, type Stamping } from "./transaction.ts";

export interface EmbeddedOptions {
  /** The data directory; must exist (`unpackTemplate`). */
  readonly directory: string;
  readonly assets: EngineAssets;
  /** Label of this machine, stored as `origin_node`. */
  readonly nodeName: string;
  readonly log?: Stamping["log"];
  /** How much room the disk has; a test says it. */
  readonly freeBytes?: FreeBytes;
  /** Makes the directory where it is missing: only the template script and tests do. */
  readonly create?: boolean;
}

export interface EmbeddedDatabase extends Database, OwnerAccess {
  /** Resolves, with what it died of, when the engine has crashed or the disk did not confirm a write: this process can only end. */
  readonly stopped: Promise<unknown>;
  /** Writes all changed pages to their files and frees the log. Takes a turn. */
  checkpoint(): Promise<void>;
  /**
   * Does what a server's background processes would do after `quietMs` without a call: checkpoint, ANALYZE, VACUUM, at most one table. The
   * adapter does it by itself in quiet moments. Answers the statements that ran.
   */
  tidy(quietMs: number): Promise<string[]>;
}

/** Opens the embedded database. @throws MemoryError `unavailable`. */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const engine = await startEngine(options.directory, options.assets, options.create ? { create: true } : {});
  const stopped = Promise.withResolvers<unknown>();
  const connection = wireConnection(engine.pglite, stopped.resolve);
  const { rows } = await connection.query("select current_setting('server_version_num') as version");
  const traits: Traits = {
    concurrent: false,
    crossProcessNotify: false,
    serverVersion: Number(rows[0]?.version),
  };
  const house: House = { engine, connection, traits, stopped, freeBytes: options.freeBytes ?? freeBytesOf(options.directory) };
  return embedded(house, { role: APP_ROLE, nodeName: options.nodeName, log: options.log });
}

interface House {
  readonly engine: Engine;
  readonly connection: EngineConnection;
  readonly traits: Traits;
  readonly stopped: PromiseWithResolvers<unknown>;
  readonly freeBytes: FreeBytes;
}

/** Log that a checkpoint may give back, bytes: one segment. */
const WORTH_A_CHECKPOINT_BYTES = 4 * 1024 * 1024;

function embedded({ engine, connection, traits, stopped, freeBytes }: House, stamping: Stamping): EmbeddedDatabase {
  const turns = createTurns();
  let crashed = false;
  void stopped.promise.then(() => {
    crashed = true;
  });
  const locks = new Set<bigint>();
  let closed: Promise<void> | undefined;

  /** A turn; who asks before the close still gets it, the close waits at the end of the queue. */
  const take = async <T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    if (closed !== undefined) throw unavailable("The database is closed: the program is ending. Nothing was written.");
    return await turns.take(work, signal);
  };

  const upkeep = createUpkeep({ connection, take, log: engine.sync, hasRoom: () => !lacksRoom(freeBytes()) });

  /** Before a write, in its turn. A checkpoint gives the log back that nobody needs any more. @throws MemoryError `unavailable` */
  const makeRoom = async () => {
    if (!lacksRoom(freeBytes())) return;
    if (engine.sync.volume >= WORTH_A_CHECKPOINT_BYTES) {
      await connection.script("checkpoint").catch((error: unknown) => {
        throw translate(error);
      });
      engine.sync.forgetVolume();
    }
    requireRoom(freeBytes());
  };

  /** Runs `work` in a turn, then waits, outside of it, until what it committed is on disk. */
  const durably = async <T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    const { result, mark } = await take(async () => {
      const before = engine.sync.asked;
      const done = await work();
      return { result: done, mark: engine.sync.asked === before ? 0 : engine.sync.asked };
    }, signal);
    await engine.sync.durable(mark).catch((error: unknown) => {
      stopped.resolve(error);
      throw error;
    });
    upkeep.used(mark > 0);
    return result;
  };

  return {
    traits,
    stopped: stopped.promise,

    async read(ctx, work, limits = {}) {
      const result = await take(
        () => retrying(ctx.signal, () => runTransaction(connection, "read", ctx, stamping, limits, work)),
        ctx.signal,
      );
      upkeep.used(false);
      return result;
    },

    write: (ctx, work, limits: TxLimits = {}) =>
      durably(async () => {
        await makeRoom();
        return await retrying(ctx.signal, () => runTransaction(connection, "write", ctx, stamping, limits, work));
      }, ctx.signal),

    // Every advisory lock is granted here, so the exclusion is ours: one process owns the directory.
    async tryLock(key) {
      if (locks.has(key)) return undefined;
      locks.add(key);
      return {
        async [Symbol.asyncDispose]() {
          locks.delete(key);
        },
      };
    },

    async listen(channel, onPayload) {
      const stop = connection.onNotification((heard) => {
        if (heard.channel === channel) onPayload(heard.payload);
      });
      await take(() => connection.script(`listen ${channel}`));
      // The engine goes on listening: another listener may share the channel, and an unheard notification costs nothing.
      return {
        async [Symbol.asyncDispose]() {
          stop();
        },
      };
    },

    asOwner: (work) =>
      durably(() =>
        work(connection).catch(async (error: unknown) => {
          await connection.script("rollback"); // a warning where no transaction is open
          throw translate(error);
        }),
      ),

    checkpoint: () => upkeep.checkpoint(),
    tidy: (quietMs) => upkeep.step(quietMs),

    async [Symbol.asyncDispose]() {
      upkeep.stop();
      // A crashed engine cannot close; what it has on disk is recovered at the next start.
      closed ??= turns.take(() => (crashed ? engine.sync.close() : engine.close()));
      await closed;
    },
  };
}
