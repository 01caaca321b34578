/** Directories that only their owner may enter. */
import { chmodSync, lstatSync, mkdirSync, statSync } from "node:fs";
import { MemoryError } from "../kernel/errors.ts";

const OWNER_ONLY = 0o700;
const OTHERS = 0o077;
const STICKY = 0o1000;

const codeOf = (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : String(error));

/**
 * Makes the data directory, or closes an existing one of ours to everybody else. A directory that is shared on purpose (sticky, or another user's)
 * keeps its mode: the files in it are 0600 all the same.
 * @throws MemoryError `unavailable` where it cannot be made
 */
export function prepareDataDir(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: OWNER_ONLY });
    if (process.platform === "win32") return;
    const { mode, uid } = statSync(path);
    if ((mode & OTHERS) !== 0 && (mode & STICKY) === 0 && uid === process.getuid?.()) chmodSync(path, OWNER_ONLY);
  } catch (error) {
    throw new MemoryError(
      "unavailable",
      `The data directory ${path} cannot be used (${codeOf(error)}); nothing was written. Make it writable for this user, or set CUBA_DATA_DIR to another directory.`,
      { cause: error },
    );
  }
}

/**
 * Makes a directory below one that everybody may write to, and checks that it is ours: another user could have made it first to read what we send.
 * @throws MemoryError `refused` where it belongs to somebody else or is a link
 */
export function preparePrivateDir(path: string): void {
  mkdirSync(path, { recursive: true, mode: OWNER_ONLY });
  if (process.platform === "win32") return;
  const { mode, uid } = lstatSync(path);
  if (!isOwn(path)) {
    throw new MemoryError(
      "refused",
      `${path} belongs to user ${uid} or is a link, so the local socket is not put there; nothing was written. Remove it, or set XDG_RUNTIME_DIR to a directory of your own.`,
    );
  }
  if ((mode & OTHERS) !== 0) chmodSync(path, OWNER_ONLY);
}

/** True where `path` is a real directory of this user. */
export function isOwn(path: string): boolean {
  try {
    const stat = lstatSync(path);
    return stat.isDirectory() && (process.getuid === undefined || stat.uid === process.getuid());
  } catch {
    return false;
  }
}
