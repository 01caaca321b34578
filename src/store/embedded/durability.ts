/**
 * Makes a commit of the embedded engine survive a power cut.
 *
 * PGlite hands `fsync` to its file system, and its Node file system has none: the call succeeds and nothing reaches the disk. We give
 * it one. Data files, control file and directories are synced when PostgreSQL asks for it, as on any machine. The write-ahead log is the
 * exception: a commit only notes that its segment is dirty, and {@link WalSync.durable} syncs it outside of the connection's turn, so that
 * one `fdatasync` serves all transactions that committed since (group commit) and the event loop does not stand still for a disk.
 * The rule that no page reaches its file before its log does is kept: a write to anything but the log syncs the log first.
 */
import fs from "node:fs";
import path from "node:path";
import { unavailable } from "../../kernel/errors.ts";

/** What we touch of an open file of Emscripten's Node file system. */
interface Stream {
  readonly path: string;
  /** Descriptor of the real file; directories have none. */
  readonly nfd?: number;
}

interface StreamOps {
  fsync?: (stream: Stream) => number;
  write: (stream: Stream, ...rest: readonly unknown[]) => number;
  /** Sizes and modes by open file: `ftruncate`. */
  setattr: (stream: Stream, ...rest: readonly unknown[]) => void;
}

interface NodeOps {
  /** Sizes, modes and times by name. */
  setattr: (node: unknown, change: { readonly size?: number }) => void;
}

/** The part of the Emscripten module that the hook needs; the types of PGlite leave it open. */
export interface HookedModule {
  readonly NODEFS: { readonly stream_ops: StreamOps; readonly node_ops: NodeOps };
}

/** Where PGlite mounts the data directory. */
const MOUNT = "/pglite/data/";
const SEGMENT = /^pg_wal\/[0-9A-F]{24}$/;

/** Errno of Emscripten for an I/O error; PostgreSQL stops on it, as it must. */
const EIO = 29;

export interface WalSync {
  /** Puts the hook in; call before the engine opens a file. */
  install(module: HookedModule): void;
  /**
   * Says that every file of the directory is on disk and the engine is about to start: until {@link WalSync.started} a sync of a file that
   * the engine has not touched since is answered without asking the disk again. Recovery asks for each of a thousand files, twice.
   */
  starting(): void;
  started(): void;
  /** Grows with each sync of the log that the engine asked for: a transaction that leaves it as it was has written nothing. */
  readonly asked: number;
  /** Resolves when all that the engine asked for up to `mark` (a value of {@link WalSync.asked}) is on disk. */
  durable(mark: number): Promise<void>;
  /** Bytes of log written since the last {@link WalSync.forgetVolume}; tells when a checkpoint is due. */
  readonly volume: number;
  forgetVolume(): void;
  /** Gives the descriptor back; after the engine has closed. */
  close(): Promise<void>;
}

/** Syncs the log of the data directory `root`. */
export function createWalSync(root: string): WalSync {
  /** Segments that the engine wants on disk and that no group has taken yet. */
  const dirty = new Set<string>();
  /** Segments of the group that is on its way. */
  let inFlight: readonly string[] = [];
  let running: Promise<void> | undefined;
  let kept: { readonly segment: string; readonly descriptor: number } | undefined;
  let asked = 0;
  let done = 0;
  let broken: unknown;
  let volume = 0;
  /** While the engine starts: the files it has changed. Undefined = every sync reaches the disk. */
  let touched: Set<string> | undefined;

  /**
   * Opens a segment for syncing. Undefined where it is gone: the engine renames one that a checkpoint made needless, and asks for a sync
   * under its old name first.
   */
  const openSegment = (segment: string): number | undefined => {
    try {
      return fs.openSync(path.join(root, segment), "r+");
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  };

  /** The descriptor of the segment that the groups sync, kept while it is the one in use. Only groups touch it, one after another. */
  const keptDescriptor = (segment: string): number | undefined => {
    if (kept?.segment === segment) return kept.descriptor;
    const descriptor = openSegment(segment);
    if (descriptor === undefined) return undefined;
    if (kept !== undefined) fs.closeSync(kept.descriptor);
    kept = { segment, descriptor };
    return descriptor;
  };

  const datasync = (descriptor: number) =>
    new Promise<void>((resolve, reject) => fs.fdatasync(descriptor, (error) => (error ? reject(error) : resolve())));

  const startGroup = async () => {
    const upTo = asked;
    inFlight = [...dirty];
    dirty.clear();
    try {
      for (const segment of inFlight) {
        const descriptor = keptDescriptor(segment);
        if (descriptor !== undefined) await datasync(descriptor);
      }
      done = Math.max(done, upTo);
    } catch (error) {
      broken ??= error;
    } finally {
      inFlight = [];
      running = undefined;
    }
  };

  /** The log before the page: everything that is asked for, here and now. */
  const syncNow = () => {
    for (const segment of new Set([...inFlight, ...dirty])) {
      const descriptor = openSegment(segment);
      if (descriptor === undefined) continue;
      try {
        fs.fdatasyncSync(descriptor);
      } finally {
        fs.closeSync(descriptor);
      }
    }
    dirty.clear();
    done = asked;
  };

  const syncDirectory = (directory: string) => {
    if (process.platform === "win32") return; // Windows has no directory sync; NTFS journals names itself
    const descriptor = fs.openSync(directory, "r");
    try {
      fs.fsyncSync(descriptor);
    } finally {
      fs.closeSync(descriptor);
    }
  };

  const nameOf = (stream: Stream) => (stream.path.startsWith(MOUNT) ? stream.path.slice(MOUNT.length) : undefined);

  return {
    install(module) {
      const ops = module.NODEFS.stream_ops;
      const write = ops.write;
      ops.write = (stream, ...rest) => {
        const name = nameOf(stream);
        const isLog = name !== undefined && SEGMENT.test(name);
        if (name !== undefined && !isLog && done < asked) syncNow();
        const written = write(stream, ...rest);
        if (isLog) volume += written;
        if (name !== undefined) touched?.add(name);
        return written;
      };
      const setattr = ops.setattr;
      ops.setattr = (stream, ...rest) => {
        touched?.add(nameOf(stream) ?? "");
        setattr(stream, ...rest);
      };
      const nodes = module.NODEFS.node_ops;
      const setattrByName = nodes.setattr;
      nodes.setattr = (node, change) => {
        if (change.size !== undefined) touched = undefined; // which file is not known: from here on every sync counts
        setattrByName(node, change);
      };
      ops.fsync = (stream) => {
        try {
          const name = nameOf(stream) ?? "";
          if (SEGMENT.test(name)) {
            dirty.add(name);
            asked++;
          } else if (stream.nfd !== undefined) {
            if (touched === undefined || touched.has(name)) fs.fsyncSync(stream.nfd);
          } else syncDirectory(path.join(root, name));
          return 0;
        } catch (error) {
          broken ??= error;
          return EIO;
        }
      };
    },

    starting() {
      touched = new Set();
    },
    started() {
      touched = undefined;
    },

    get asked() {
      return asked;
    },

    async durable(mark) {
      while (done < mark && broken === undefined) {
        running ??= startGroup();
        await running;
      }
      if (broken !== undefined) {
        throw unavailable(
          "The disk did not confirm a write. The database takes no more changes, and whether the last one is stored is unknown. Check the disk, then restart.",
          { cause: broken },
        );
      }
    },

    get volume() {
      return volume;
    },
    forgetVolume() {
      volume = 0;
    },
    async close() {
      await running;
      if (kept !== undefined) fs.closeSync(kept.descriptor);
      kept = undefined;
    },
  };
}
