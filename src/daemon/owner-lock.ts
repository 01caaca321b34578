/** Exactly one process owns a data directory (`config-packaging.md` §6.3). The kernel's lock decides; the record beside it tells others who it is. */
import { fchmodSync, ftruncateSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { unavailable } from "../kernel/errors.ts";
import { isSameFile, type KernelLock, tryLockFile, tryLockPipe } from "./kernel-lock.ts";
import type { DaemonPaths } from "./paths.ts";
import { isRunning, ownIdentity, type ProcessIdentity } from "./process-identity.ts";

/** What `daemon.lock` says about its owner. Nothing secret. */
export interface OwnerRecord extends ProcessIdentity {
  readonly version: string;
  /** `auto`: a daemon that a bridge started · `alone`: one process without a daemon · else the address a `serve` listens on. */
  readonly address: string;
  /** RFC 3339. */
  readonly since: string;
  /** Version that the owner makes room for; older starters then leave the directory to it. */
  readonly heir?: string;
}

export interface OwnerLock {
  readonly record: OwnerRecord;
  /** The dead owner whose lock was taken over. */
  readonly previous: OwnerRecord | undefined;
  update(change: Partial<Pick<OwnerRecord, "address" | "heir">>): void;
  /** Removes the record and gives the directory free. Call it last: when the database is closed. */
  release(): void;
}

export type Acquired =
  | { readonly kind: "owned"; readonly lock: OwnerLock }
  | { readonly kind: "held"; readonly owner: OwnerRecord | undefined };

export interface LockRequest {
  readonly paths: Pick<DaemonPaths, "lock" | "guardedDir" | "socket">;
  readonly version: string;
  readonly address: string;
}

/**
 * Takes the owner lock, or says who holds it. A dead owner's lock is free at once, whatever its record says; a living one's is never taken.
 * The data directory must exist.
 * @throws MemoryError `unavailable` where the directory cannot be locked at all
 */
export async function acquireOwnerLock(request: LockRequest): Promise<Acquired> {
  const { paths } = request;
  const lock = process.platform === "win32" ? tryLockPipe(`${paths.socket}-owner`) : await tryLockFile(paths.lock, "file");
  if (lock === "held") return { kind: "held", owner: readOwner(paths.lock) };
  const previous = readOwner(paths.lock);
  const guard = await lockGuardedDir(paths.guardedDir);
  if (guard === "held") {
    // Somebody deleted the record of a living owner, so the file that we locked is a new one.
    if (previous === undefined) rmSync(paths.lock, { force: true });
    lock.unlock();
    return { kind: "held", owner: undefined };
  }
  return { kind: "owned", lock: own(request, lock, guard, previous) };
}

async function lockGuardedDir(path: string | undefined): Promise<KernelLock | "held" | undefined> {
  if (path === undefined || process.platform === "win32") return undefined;
  try {
    return await tryLockFile(path, "directory");
  } catch {
    // Some network file systems lock files but no directories; the file's lock is the one that counts.
    return undefined;
  }
}

function own(request: LockRequest, lock: KernelLock, guard: KernelLock | undefined, previous: OwnerRecord | undefined): OwnerLock {
  const { lock: path } = request.paths;
  let record: OwnerRecord = { ...ownIdentity(), version: request.version, address: request.address, since: new Date().toISOString() };
  const write = () => {
    const text = `${JSON.stringify(record)}\n`;
    if (lock.descriptor === undefined) {
      writeFileSync(path, text, { mode: 0o600 });
      return;
    }
    // In place: a renamed file would be another one than the file that is locked.
    ftruncateSync(lock.descriptor, 0);
    writeSync(lock.descriptor, text, 0);
  };
  try {
    if (lock.descriptor !== undefined) fchmodSync(lock.descriptor, 0o600);
    write();
  } catch (cause) {
    guard?.unlock();
    lock.unlock();
    throw unavailable(
      `${path} cannot be written (a full disk?); nothing was started. Make room in the data directory, or set CUBA_DATA_DIR to another one.`,
      { cause },
    );
  }
  let released = false;
  return {
    get record() {
      return record;
    },
    previous,
    update(change) {
      record = { ...record, ...change };
      write();
    },
    release() {
      if (released) return;
      released = true;
      if (lock.descriptor === undefined || isSameFile(lock.descriptor, path)) rmSync(path, { force: true });
      guard?.unlock();
      lock.unlock();
    },
  };
}

/** What the record says; undefined where there is none, or it is unreadable, or half written. Says nothing about life: see {@link liveOwner}. */
export function readOwner(path: string): OwnerRecord | undefined {
  try {
    return decodeOwner(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return undefined;
  }
}

/** The record of an owner that still runs; undefined where the record is a dead process's. */
export function liveOwner(path: string): OwnerRecord | undefined {
  const owner = readOwner(path);
  return owner !== undefined && isRunning(owner) ? owner : undefined;
}

/** True for a `serve`; false for a daemon without a port. */
export const hasPort = ({ address }: OwnerRecord): boolean => address !== "auto" && address !== "alone";

/** Decoded by hand: the bridge reads this too, and must not load a schema library. */
function decodeOwner(value: unknown): OwnerRecord | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { pid, processStart, bootId, version, address, since, heir } = Object.fromEntries(Object.entries(value));
  if (typeof pid !== "number" || !Number.isInteger(pid) || pid <= 0) return undefined;
  const words = [processStart, bootId, version, address, since].filter((word) => typeof word === "string");
  const [start, boot, ours, where, when] = words;
  if (start === undefined || boot === undefined || ours === undefined || where === undefined || when === undefined) return undefined;
  const record: OwnerRecord = { pid, processStart: start, bootId: boot, version: ours, address: where, since: when };
  return typeof heir === "string" ? { ...record, heir } : record;
}
