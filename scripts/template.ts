/**
 * Makes the data directory that the program carries: `bun scripts/template.ts [OUT]`, default `dist/template/pgdata.tar.zst`;
 * with `--prepare` the one of this checkout's schema, where it is not there yet (`with-bun.mjs` asks while it installs).
 * initdb, migrations, grants; without the databases nobody connects to, without a node identity, vacuumed and checkpointed.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { sourceTemplate } from "../src/app/assets.ts";
import { installedAssets } from "../src/store/embedded/assets.ts";
import { packTemplate, slimDown } from "../src/store/embedded/template.ts";
import { migrate } from "../src/store/migrate.ts";
import { grants, migrations } from "../src/store/migrations.ts";
import { openEmbedded } from "../src/store/pglite.ts";

/** Compression of a checkout's own archive: half a megabyte larger than the shipped one, and made in a tenth of a second instead of seven. */
const PREPARED_LEVEL = 3;

/** @param level of compression; the shipped one's where it is left out */
export async function makeTemplate(level?: number): Promise<Uint8Array> {
  const directory = await mkdtemp(join(tmpdir(), "memory-industry-template-"));
  try {
    const db = await openEmbedded({ directory, assets: await installedAssets({ initdb: true }), nodeName: "", create: true });
    await db.asOwner(async (connection) => {
      await migrate(connection, migrations, grants);
      await slimDown(connection);
    });
    await db[Symbol.asyncDispose]();
    return await packTemplate(directory, level);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function prepare(): Promise<void> {
  const file = sourceTemplate();
  if (existsSync(file)) return;
  process.stderr.write("memory-industry: making the empty database of this checkout, once (5 s, more on a busy machine)\n");
  const making = `${file}.${process.pid}.part`;
  await mkdir(dirname(file), { recursive: true });
  await Bun.write(making, await makeTemplate(PREPARED_LEVEL));
  await rename(making, file);
}

if (import.meta.main && process.argv[2] === "--prepare") await prepare();
else if (import.meta.main) {
  const out = process.argv[2] ?? join(import.meta.dir, "..", "dist", "template", "pgdata.tar.zst");
  const archive = await makeTemplate();
  await mkdir(dirname(out), { recursive: true });
  await Bun.write(out, archive);
  console.log(`${out}: ${archive.byteLength} bytes`);
}
