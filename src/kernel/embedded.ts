/**
 * Files inside the compiled program. `scripts/build.ts` lays them under `assets/`, where the file system calls of the runtime find them by a virtual
 * path; the operating system does not, so what a loader of its own must open (a native library, an extension archive) is written out once.
 */
import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Virtual root of a program compiled by Bun: `/$bunfs/root`, on Windows `B:\~BUN\root`. */
const VIRTUAL_ROOT = /^(.*[\\/](?:\$bunfs|~BUN)[\\/]root)(?:[\\/]|$)/;

/** The virtual folder of the embedded files; undefined when the program runs from source. */
export const embeddedFolder = (modulePath: string = import.meta.dir): string | undefined => {
  const root = VIRTUAL_ROOT.exec(modulePath)?.[1];
  return root === undefined ? undefined : join(root, "assets");
};

const OWNER_ONLY = 0o700;

/**
 * True where `target` holds the same bytes. Compared, not only measured: a library of the right size whose bytes a disk or a cleaner had changed took the whole
 * process down when it ran. 38 MB take some 20 ms, in the thread that loads a model. What cannot be read is written anew.
 */
function isWritten(target: string, wanted: Uint8Array): boolean {
  try {
    return statSync(target).size === wanted.length && readFileSync(target).equals(wanted);
  } catch {
    return false;
  }
}

/**
 * Copies `source` to `target` unless it is there as it should be: under another name first, forced to disk, then renamed, so that two processes at once and a power cut
 * leave either nothing or the whole file. Answers `target`.
 * @throws the file system's error where the directory cannot be written.
 */
export function writeOnce(source: string, target: string): string {
  const bytes = readFileSync(source);
  if (isWritten(target, bytes)) return target;
  mkdirSync(dirname(target), { recursive: true, mode: OWNER_ONLY });
  const unfinished = `${target}.${randomUUID()}.part`;
  const handle = openSync(unfinished, "wx", OWNER_ONLY);
  try {
    writeFileSync(handle, bytes);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  try {
    renameSync(unfinished, target);
  } catch (error) {
    rmSync(unfinished, { force: true });
    // Windows does not replace a library that another process has loaded: then that process wrote the same file.
    if (!isWritten(target, bytes)) throw error;
  }
  return target;
}

/** Writes every file of an embedded folder once into `directory`; answers the names. */
export function writeFolderOnce(source: string, directory: string): string[] {
  const names = readdirSync(source).sort();
  for (const name of names) writeOnce(join(source, name), join(directory, name));
  return names;
}
