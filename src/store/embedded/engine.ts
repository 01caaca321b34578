/** Starts and stops the PostgreSQL inside this process on one data directory. */
import { existsSync } from "node:fs";
import path from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { NodeFS } from "@electric-sql/pglite/nodefs";
import { unavailable } from "../../kernel/errors.ts";
import { type EngineAssets, extension, initdbOf } from "./assets.ts";
import { type CrashingModule, throwAfterCrash } from "./crash.ts";
import { syncTree, wasShutDown } from "./directory.ts";
import { createWalSync, type HookedModule, type WalSync } from "./durability.ts";
import { engineFiles, openFileLimit, requireOpenFiles } from "./open-files.ts";
import { freeBytesOf, isFull, lacksRoom } from "./room.ts";

/**
 * PGlite's defaults without `-F` (it would switch fsync off), plus ours. With `-F` and the default buffers a process is 118 MB larger.
 * `wal_sync_method=fsync`: the engine's `fdatasync` is an empty function, its `fsync` reaches our hook.
 */
const startParams = (files: number) => [
  "--single",
  "-O",
  "-j",
  ...[
    "search_path=public",
    "exit_on_error=false",
    "log_checkpoints=false",
    "max_worker_processes=0",
    "max_parallel_workers=0",
    "max_parallel_workers_per_gather=0",
    "max_parallel_maintenance_workers=0",
    "io_method=sync",
    "shared_buffers=32MB",
    "wal_sync_method=fsync",
    "timezone=UTC",
    "datestyle=ISO",
    `max_files_per_process=${files}`,
    "jit=off", // there is no code generator in the build; the planner need not ask
  ].flatMap((setting) => ["-c", setting]),
];

/** Segments of 4 MB instead of 16: a fresh directory is 12 MB smaller to unpack, and a checkpoint gives space back sooner. */
const initdbParams = ["--wal-segsize=4"];

class SyncedFS extends NodeFS {
  readonly #sync: WalSync;
  constructor(directory: string, sync: WalSync) {
    super(directory);
    this.#sync = sync;
  }
  override async init(engine: PGlite, options: Parameters<NodeFS["init"]>[1]) {
    const { emscriptenOpts } = await super.init(engine, options);
    // The types call the module opaque; its file operations are what Emscripten's library_nodefs.js defines, its entrances what PGlite calls.
    const install = (module: unknown) => {
      this.#sync.install(module as HookedModule);
      throwAfterCrash(module as CrashingModule);
    };
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), install] } };
  }
}

export interface Engine {
  readonly pglite: PGlite;
  readonly sync: WalSync;
  /** Checkpoints and closes; the process can end afterwards (an open engine keeps the event loop alive). */
  close(): Promise<void>;
}

/** True where `directory` holds a database. */
export const holdsDatabase = (directory: string): boolean => existsSync(path.join(directory, "PG_VERSION"));

/**
 * Opens the database in `directory`; makes one there only if `create` is set (about 3 s and 870 MB, so the program ships a template).
 * @throws MemoryError `unavailable`; nothing is renamed or made anew by a failure.
 */
export async function startEngine(directory: string, assets: EngineAssets, options: { readonly create?: boolean } = {}): Promise<Engine> {
  if (!options.create && !holdsDatabase(directory)) {
    throw unavailable(
      "The data directory holds no database. Nothing was written. Unpack the template or restore a backup, then start again.",
    );
  }
  const limit = openFileLimit();
  requireOpenFiles(limit);
  const sync = createWalSync(path.resolve(directory));
  if (holdsDatabase(directory) && !(await wasShutDown(directory))) {
    await syncTree(directory);
    sync.starting();
  }
  const pglite = new PGlite({
    fs: new SyncedFS(directory, sync),
    pgliteWasmModule: assets.engine,
    initdbWasmModule: initdbOf(assets),
    fsBundle: assets.bundle,
    extensions: {
      vector: extension("vector", assets.extensions.vector),
      pg_trgm: extension("pg_trgm", assets.extensions.pg_trgm),
    },
    startParams: startParams(engineFiles(limit)),
    initDbStartParams: initdbParams,
  });
  try {
    await pglite.waitReady;
    sync.started();
  } catch (error) {
    const free = freeBytesOf(directory)();
    if (lacksRoom(free))
      throw unavailable(
        `${isFull(free)} The database could not be opened; nothing that was stored is lost. Free some space, then start again.`,
        {
          cause: error,
        },
      );
    throw unavailable(
      "The embedded database could not be opened. Nothing was changed in its directory. Another process may own it, or its files are damaged: stop other processes, else restore a backup.",
      { cause: error },
    );
  }
  return {
    pglite,
    sync,
    async close() {
      // Single-user mode writes its shutdown checkpoint by itself, through the same hook.
      await pglite.close();
      await sync.close();
    },
  };
}
