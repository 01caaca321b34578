/** How many files this process may have open, and what of them the embedded engine may take: sockets of clients need some too. */
import { readFileSync } from "node:fs";
import { unavailable } from "../../kernel/errors.ts";

/** Below this the engine, the program itself and a handful of clients do not fit. */
export const LEAST_OPEN_FILES = 128;
/** Below this there is little room for clients; many windows meet a wall. */
export const FEW_OPEN_FILES = 256;
/** PostgreSQL's own bounds of `max_files_per_process` that matter here. */
const ENGINE_LEAST = 64;
const ENGINE_MOST = 1_000;

/** The soft limit; undefined where the system does not say, or sets none. */
export function openFileLimit(): number | undefined {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined; // no Linux
  }
}

/** What the engine may open: half, so that it never takes the last descriptor. Without the setting it takes all but ten. */
export const engineFiles = (limit: number | undefined): number =>
  limit === undefined ? ENGINE_MOST : Math.min(ENGINE_MOST, Math.max(ENGINE_LEAST, Math.floor(limit / 2)));

/** @throws MemoryError `unavailable` */
export function requireOpenFiles(limit: number | undefined): void {
  if (limit !== undefined && limit < LEAST_OPEN_FILES)
    throw unavailable(
      `This process may open only ${limit} files, and the embedded database needs ${LEAST_OPEN_FILES}. Nothing was written. Raise the limit ('ulimit -n 1024', LimitNOFILE= of a service), then start again.`,
    );
}
