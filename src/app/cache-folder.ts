/** Where files go that can be made again: what a compiled program must have as real files, and what is derived from models. */
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Paths, requirePath } from "../config/paths.ts";

/** Below the data directory, for machines whose home is read-only or missing. */
const IN_DATA_DIR = "cache";

/** True where a folder could be made and written to: it, or the nearest one above it that is there, takes files. */
function isWritable(folder: string): boolean {
  try {
    let nearest = folder;
    while (!existsSync(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest);
    accessSync(nearest, constants.W_OK);
    return statSync(nearest).isDirectory();
  } catch {
    return false;
  }
}

/**
 * The cache of this user, else a folder in the data directory: whoever has a data directory elsewhere needs no home for the database.
 * @throws MemoryError `unavailable` where neither is known
 */
export function cacheFolder(paths: Paths): string {
  const { cacheRoot, dataDir } = paths;
  if (cacheRoot !== undefined && (dataDir === undefined || isWritable(cacheRoot))) return cacheRoot;
  return join(requirePath(paths, "dataDir"), IN_DATA_DIR);
}

/** The same where it is a matter of more or less; undefined where there is none. */
export const cacheFolderIfAny = (paths: Paths): string | undefined =>
  paths.cacheRoot === undefined && paths.dataDir === undefined ? undefined : cacheFolder(paths);
