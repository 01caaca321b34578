/** The data directory as files: writing and syncing many of them, and how it was left. */
import { open, readdir } from "node:fs/promises";
import path from "node:path";

/** Files handled side by side: a journalling file system takes their syncs together; more gains nothing. */
const SIDE_BY_SIDE = 16;

/** Runs `work` for each item, some at a time. */
export async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
}

export async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === "win32") return; // no directory sync there
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Writes a new file, readable by its owner alone, and waits until it is on disk. */
export async function writeSynced(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Brings every file and directory below `directory` to disk: what a killed process wrote may lie in the kernel's cache alone. */
export async function syncTree(directory: string): Promise<void> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true });
  const names = (of: (entry: (typeof found)[number]) => boolean) =>
    found.filter(of).map((entry) => path.join(entry.parentPath, entry.name));
  await eachOf(
    names((entry) => entry.isFile()),
    async (file) => {
      const handle = await open(file, process.platform === "win32" ? "r+" : "r");
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
    },
  );
  await eachOf([directory, ...names((entry) => entry.isDirectory())], syncDirectory);
}

/** Offset of `state` in `global/pg_control`: after the system identifier and two version numbers. */
const STATE_OFFSET = 16;
/** `DB_SHUTDOWNED` of PostgreSQL's `catalog/pg_control.h`. */
const SHUT_DOWN = 1;

/** True where the last engine closed in order; false also where that cannot be read: the engine will say what is wrong. */
export async function wasShutDown(directory: string): Promise<boolean> {
  const handle = await open(path.join(directory, "global", "pg_control"), "r").catch(() => undefined);
  if (handle === undefined) return false;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, STATE_OFFSET);
    return bytesRead === 4 && buffer.readUInt32LE(0) === SHUT_DOWN;
  } finally {
    await handle.close();
  }
}
