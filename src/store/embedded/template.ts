/**
 * The pre-initialised, migrated data directory that the program carries: unpacking it takes a tenth of the time of `initdb`
 * (3.4 s, 870 MB). The archive is a tar of the directory, compressed with zstd (1.7 MB instead of 2.7 with gzip).
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import { unavailable } from "../../kernel/errors.ts";
import type { Connection } from "../connection.ts";
import { eachOf, syncDirectory, writeSynced } from "./directory.ts";
import { holdsDatabase } from "./engine.ts";
import { packTar, readTar, type TarEntry } from "./tar.ts";

/**
 * Makes `directory` from the archive (read only then) unless it holds a database already. All or nothing: the files are written and synced beside it, then
 * renamed. Answers whether it was made.
 * @throws MemoryError `unavailable` where the directory holds something else, or the disk refuses.
 */
export async function unpackTemplate(archive: () => Promise<Uint8Array>, directory: string): Promise<boolean> {
  if (holdsDatabase(directory)) return false;
  if (existsSync(directory) && (await readdir(directory)).length > 0) {
    throw unavailable(
      "The data directory is not empty and holds no database. Nothing was written. Move what is in it, or choose another CUBA_DATA_DIR.",
    );
  }
  const parent = path.dirname(path.resolve(directory));
  const making = path.join(parent, `${path.basename(directory)}.new-${randomBytes(6).toString("hex")}`);
  await mkdir(parent, { recursive: true, mode: 0o700 });
  try {
    const entries = [...readTar(new Uint8Array(Bun.zstdDecompressSync(await archive())))];
    await mkdir(making, { mode: 0o700 });
    const folders = entries.filter((entry) => entry.name.endsWith("/"));
    for (const folder of folders) await mkdir(path.join(making, folder.name), { recursive: true, mode: 0o700 });
    const files = entries.filter((entry) => !entry.name.endsWith("/"));
    await eachOf(files, (entry) => writeSynced(path.join(making, entry.name), entry.bytes));
    for (const folder of folders) await syncDirectory(path.join(making, folder.name));
    await syncDirectory(making);
    await rename(making, directory);
    await syncDirectory(parent);
    return true;
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    if (holdsDatabase(directory)) return false; // somebody else was faster
    throw unavailable(
      "The embedded database could not be set up. Nothing was left behind. Check the free space and the rights of the data directory.",
      {
        cause: error,
      },
    );
  }
}

/**
 * Takes out what a shipped directory should not have: the node identity, and the databases that exist to be copied from, which the embedded
 * engine never does (600 of 1,280 files). Then leaves it vacuumed and its log short. As the owner, before closing.
 */
export async function slimDown(connection: Connection): Promise<void> {
  for (const statement of [
    "update pg_database set datistemplate = false where datname in ('template0', 'template1')",
    "drop database template1",
    "drop database template0",
    "delete from brain_node_identity",
    "vacuum (freeze, analyze)",
    "checkpoint",
  ]) {
    await connection.script(statement);
  }
}

/** Compression of what is shipped: 1.6 MB after 5 to 20 s of work, once a build. */
const SHIPPED_LEVEL = 19;

/** The archive of a closed data directory, its names in order. A test takes a lower `level`, 1 to 22. */
export async function packTemplate(directory: string, level = SHIPPED_LEVEL): Promise<Uint8Array> {
  const entries: TarEntry[] = [];
  const walk = async (below: string) => {
    const found = await readdir(path.join(directory, below), { withFileTypes: true });
    for (const item of found.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = `${below}${item.name}`;
      if (item.isDirectory()) {
        entries.push({ name: `${name}/`, bytes: new Uint8Array() });
        await walk(`${name}/`);
      } else entries.push({ name, bytes: new Uint8Array(await readFile(path.join(directory, name))) });
    }
  };
  await walk("");
  return new Uint8Array(Bun.zstdCompressSync(packTar(entries), { level }));
}

/**
 * Gives a database without a node identity its own. The template carries none: an identity that is shipped would be shared by all machines.
 * Call as the owner after opening; does nothing where the row is there.
 */
export async function ensureNodeIdentity(connection: Connection, label: string): Promise<void> {
  await connection.query(
    "insert into brain_node_identity (label) select nullif($1::text, '') where not exists (select from brain_node_identity)",
    [label],
  );
}
