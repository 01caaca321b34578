/**
 * The embedded adapter: PostgreSQL in this process, one connection, transactions one after another.
 *
 * - `write` resolves when its commit is on disk (`embedded/durability.ts`). The wait happens after the transaction has left the connection.
 * - An aborted signal keeps a transaction from starting, and a statement from being sent. A statement that runs cannot be stopped: the engine
 *   is a function call on this thread, no timer and no signal reaches it (`statement_timeout` is accepted and never fires; decision 0011).
 * - Reads run in the same turns. They may show a commit whose sync is still on its way; nobody was told yet that it is stored.
 */
import type { Connection, OwnerAccess } from "./connection.ts";
import type { EngineAssets } from "./embedded/assets.ts";
import { type Engine, startEngine } from "./embedded/engine.ts";
import { wireConnection } from "./embedded/wire-connection.ts";
import { translate } from "./failures.ts";
import type { Database, Traits, TxLimits } from "./port.ts";
import { createTurns } from "./queue.ts";
import { retrying, runTransaction, type Stamping } from "./transaction.ts";

/**
 * Vectors in a column up to which the embedded database scans exactly. Measured: 20,000 × 384 floats in 20 ms, while an HNSW index costs
 * 14 ms an insert and 39 s to build (`design.md` §2).
 */
export const EXACT_LIMIT = 25_000;

/**
 * Log volume after which an idle moment is used for a checkpoint, bytes. Single-user PostgreSQL never starts one by itself: the log would
 * grow, and recovery after a crash with it (a few seconds for 32 MB).
 */
const CHECKPOINT_BYTES = 32 * 1024 * 1024;
/** Nobody has asked for anything for so long: idle, milliseconds. */
const IDLE_MS = 2_000;
/** Log volume at which the checkpoint no longer waits for an idle moment. */
const CHECKPOINT_NOW_BYTES = 4 * CHECKPOINT_BYTES;

export interface EmbeddedOptions {
  /** The data directory; must exist (`unpackTemplate`). */
  readonly directory: string;
  readonly assets: EngineAssets;
  /** Label of this machine, stored as `origin_node`. */
  readonly nodeName: string;
  readonly log?: Stamping["log"];
  /** Vectors up to which search scans exactly; a test lowers it. */
  readonly exactLimit?: number;
  /** Makes the directory where it is missing: only the template script and tests do. */
  readonly create?: boolean;
}

export interface EmbeddedDatabase extends Database, OwnerAccess {
  /** Writes all changed pages to their files and frees the log. Takes a turn. */
  checkpoint(): Promise<void>;
}

/** Runs `work` inside a transaction role of `cuba_app`, so that row security holds although the engine's only user is a superuser. */
const APP_ROLE = "cuba_app";

/** Opens the embedded database. @throws MemoryError `unavailable`. */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const engine = await startEngine(options.directory, options.assets, options.create ? { create: true } : {});
  const connection = wireConnection(engine.pglite);
  const { rows } = await connection.query("select current_setting('server_version_num') as version");
  const traits: Traits = {
    concurrent: false,
    crossProcessNotify: false,
    exactVectorLimit: options.exactLimit ?? EXACT_LIMIT,
    serverVersion: Number(rows[0]?.version),
  };
  return embedded(engine, connection, traits, { role: APP_ROLE, nodeName: options.nodeName, log: options.log });
}

function embedded(engine: Engine, connection: Connection, traits: Traits, stamping: Stamping): EmbeddedDatabase {
  const turns = createTurns();
  const locks = new Set<bigint>();
  let idle: ReturnType<typeof setTimeout> | undefined;
  let closed: Promise<void> | undefined;

  const checkpoint = () =>
    turns.take(async () => {
      if (closed !== undefined) return;
      await connection.script("checkpoint");
      engine.sync.forgetVolume();
    });

  /** After each write: a checkpoint when the log has grown, preferably while nobody waits. */
  const tend = () => {
    if (engine.sync.volume < CHECKPOINT_BYTES || closed !== undefined) return;
    clearTimeout(idle);
    const due = engine.sync.volume >= CHECKPOINT_NOW_BYTES ? 0 : IDLE_MS;
    idle = setTimeout(() => void checkpoint().catch(() => undefined), due);
    idle.unref();
  };

  return {
    traits,

    read: (ctx, work) =>
      turns.take(() => retrying(ctx.signal, () => runTransaction(connection, "read", ctx, stamping, {}, work)), ctx.signal),

    async write(ctx, work, limits: TxLimits = {}) {
      const { result, mark } = await turns.take(async () => {
        const before = engine.sync.asked;
        const done = await retrying(ctx.signal, () => runTransaction(connection, "write", ctx, stamping, limits, work));
        return { result: done, mark: engine.sync.asked === before ? 0 : engine.sync.asked };
      }, ctx.signal);
      await engine.sync.durable(mark);
      tend();
      return result;
    },

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
      const stop = engine.pglite.onNotification((from, payload) => {
        if (from === channel) onPayload(payload);
      });
      await turns.take(() => connection.script(`listen ${channel}`));
      // The engine goes on listening: another listener may share the channel, and an unheard notification costs nothing.
      return {
        async [Symbol.asyncDispose]() {
          stop();
        },
      };
    },

    async asOwner(work) {
      const { result, mark } = await turns.take(async () => {
        const before = engine.sync.asked;
        const done = await work(connection).catch(async (error: unknown) => {
          await connection.script("rollback"); // a warning where no transaction is open
          throw translate(error);
        });
        return { result: done, mark: engine.sync.asked === before ? 0 : engine.sync.asked };
      });
      await engine.sync.durable(mark);
      return result;
    },

    checkpoint,

    async [Symbol.asyncDispose]() {
      clearTimeout(idle);
      closed ??= turns.take(() => engine.close());
      await closed;
    },
  };
}
