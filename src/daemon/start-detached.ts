/** Starts a daemon that outlives us, and remembers what it says if it fails. */
import { closeSync, openSync, readSync, renameSync, statSync } from "node:fs";
import { MemoryError } from "../kernel/errors.ts";
import type { StartedDaemon } from "../transports/find-daemon.ts";
import type { DaemonPaths } from "./paths.ts";
import { prepareDataDir } from "./private-directory.ts";

/** A log of this size becomes `daemon.log.1` before the next daemon writes: one old and one new are kept. */
const LOG_TURN_BYTES = 1024 * 1024;

/** How much of the log's end is searched for a daemon's last words. */
const TAIL_BYTES = 64 * 1024;

/** How a daemon marks the line that says why it ends. The pid tells its words from those of others in the same log. */
export const lastWordsMark = (pid: number): string => `memory-industry[${pid}]: `;

export interface DetachedOptions {
  readonly paths: Pick<DaemonPaths, "dataDir" | "log">;
  /** Environment of the daemon: ours, less what belongs to one connection. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Starts `command` in a session of its own, in the data directory, with standard error in the log and nothing of ours inherited.
 * @throws MemoryError `unavailable` where the data directory or the log cannot be written, or the program cannot be started
 */
export function startDetached(command: readonly string[], { paths, env }: DetachedOptions): StartedDaemon {
  prepareDataDir(paths.dataDir);
  const log = openLog(paths.log);
  try {
    const child = Bun.spawn([...command], {
      cwd: paths.dataDir,
      env: { ...env },
      stdio: ["ignore", "ignore", log],
      detached: true,
    });
    child.unref();
    return {
      pid: child.pid,
      exitCode: () => child.exitCode ?? (child.signalCode === null ? undefined : "killed"),
      reason: () => lastWords(paths.log, child.pid),
    };
  } catch (error) {
    throw new MemoryError(
      "unavailable",
      `The memory daemon cannot be started (${command[0] ?? "no program"}); nothing was written. Run 'memory-industry doctor'.`,
      {
        cause: error,
      },
    );
  } finally {
    closeSync(log);
  }
}

function openLog(path: string): number {
  try {
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > LOG_TURN_BYTES) renameSync(path, `${path}.1`);
    return openSync(path, "a", 0o600);
  } catch (error) {
    throw new MemoryError(
      "unavailable",
      `${path} cannot be written, so no daemon was started. Make its directory writable, or set CUBA_DATA_DIR to another one.`,
      {
        cause: error,
      },
    );
  }
}

/** What the process said about its end; undefined where it said nothing. */
export function lastWords(path: string, pid: number): string | undefined {
  try {
    const size = statSync(path).size;
    const from = Math.max(0, size - TAIL_BYTES);
    const bytes = Buffer.alloc(size - from);
    const file = openSync(path, "r");
    try {
      readSync(file, bytes, 0, bytes.length, from);
    } finally {
      closeSync(file);
    }
    const mark = lastWordsMark(pid);
    const line = bytes
      .toString()
      .split("\n")
      .findLast((candidate) => candidate.startsWith(mark));
    return line?.slice(mark.length);
  } catch {
    return undefined;
  }
}
