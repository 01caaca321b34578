/**
 * Makes the data directory that the program carries: `bun scripts/template.ts [OUT]`, default `dist/template/pgdata.tar.zst`.
 * initdb, migrations, grants; without the databases nobody connects to, without a node identity, vacuumed and checkpointed.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { installedAssets } from "../src/store/embedded/assets.ts";
import { packTemplate, slimDown } from "../src/store/embedded/template.ts";
import { migrate } from "../src/store/migrate.ts";
import { grants, migrations } from "../src/store/migrations.ts";
import { openEmbedded } from "../src/store/pglite.ts";

export async function makeTemplate(): Promise<Uint8Array> {
  const directory = await mkdtemp(join(tmpdir(), "memory-industry-template-"));
  try {
    const db = await openEmbedded({ directory, assets: await installedAssets({ initdb: true }), nodeName: "", create: true });
    await db.asOwner(async (connection) => {
      await migrate(connection, migrations, grants);
      await slimDown(connection);
    });
    await db[Symbol.asyncDispose]();
    return await packTemplate(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const out = process.argv[2] ?? join(import.meta.dir, "..", "dist", "template", "pgdata.tar.zst");
  const archive = await makeTemplate();
  await mkdir(dirname(out), { recursive: true });
  await Bun.write(out, archive);
  console.log(`${out}: ${archive.byteLength} bytes`);
}
