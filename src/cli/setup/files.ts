/** Files that belong to other programs: read exactly, written whole or not at all, mode and symlink kept. */
import { randomBytes } from "node:crypto";
import { chmod, chown, lstat, mkdir, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { refused, unavailable } from "../../kernel/errors.ts";

/** Mode of a file that we create: a client's configuration may hold tokens. */
export const PRIVATE_FILE = 0o600;
const PRIVATE_DIRECTORY = 0o700;
const PERMISSIONS = 0o7777;

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);

/** Text of a file; undefined where there is none. @throws MemoryError `refused` for what is no UTF-8 text */
export async function readText(file: string): Promise<string | undefined> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    if (codeOf(error) === "ENOENT") {
      if ((await lstat(file).catch(() => undefined)) === undefined) return undefined;
      throw refused(`${file} is a symlink that leads nowhere; it was left as it is.`, { field: file });
    }
    throw unavailable(`${file} cannot be read (${String(codeOf(error))}); nothing was written.`, { field: file, cause: error });
  }
  try {
    // ignoreBOM: the mark stays part of the text, so that it is written back.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw refused(`${file} is not UTF-8 text; it was left as it is.`, { field: file });
  }
}

/** Where a name leads in the end: the target of a symlink, or the name itself where nothing is there yet. */
async function targetOf(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return file;
    throw error;
  }
}

/**
 * Replaces the content of a file at once (temporary file beside it, `rename`), through a symlink, with the mode and owner it had.
 * A new file is readable by its owner only.
 */
export async function writeText(file: string, text: string): Promise<void> {
  const target = await targetOf(file);
  const before = await stat(target).catch(() => undefined);
  const temporary = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString("hex")}.tmp`);
  try {
    const handle = await open(temporary, "wx", PRIVATE_FILE);
    try {
      await handle.writeFile(text, "utf8");
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (before !== undefined) {
      await chmod(temporary, before.mode & PERMISSIONS);
      // Only root can give a file away; everybody else owns it already.
      await chown(temporary, before.uid, before.gid).catch(() => undefined);
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw unavailable(`${file} could not be written (${String(codeOf(error) ?? error)}); it is as it was.`, { field: file, cause: error });
  }
}

/** Creates what is missing of a directory; answers the directories it made, outermost first. */
export async function ensureDirectory(directory: string): Promise<string[]> {
  const missing: string[] = [];
  for (let at = directory; !(await exists(at)); at = dirname(at)) missing.unshift(at);
  for (const one of missing) await mkdir(one, { mode: PRIVATE_DIRECTORY });
  return missing;
}

export const exists = async (file: string): Promise<boolean> => (await stat(file).catch(() => undefined)) !== undefined;

/** `20261130T142233Z`. */
const stampOf = (now: Date): string => now.toISOString().replace(/[-:]|\.\d+/g, "");

/**
 * Copies the bytes of a file beside it as `<file>.bak-<stamp>`, with its mode, never over another backup. Answers the copy's name.
 * A hard link would change with an editor that writes in place, so it is a copy.
 */
export async function backUp(file: string, now: Date): Promise<string> {
  const bytes = await readFile(file);
  const { mode } = await stat(file);
  for (let copy = 1; ; copy++) {
    const name = `${file}.bak-${stampOf(now)}${copy === 1 ? "" : `-${copy}`}`;
    try {
      const handle = await open(name, "wx", PRIVATE_FILE);
      try {
        await handle.writeFile(bytes);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await chmod(name, mode & PERMISSIONS);
      return name;
    } catch (error) {
      if (codeOf(error) !== "EEXIST")
        throw unavailable(`No backup of ${file} could be made (${String(codeOf(error))}); nothing was written.`, { cause: error });
    }
  }
}
