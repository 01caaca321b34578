/**
 * Makes the data directory that the program carries: `bun scripts/template.ts [OUT]`, default `dist/template/pgdata.tar.zst`.
 * initdb, migrations, grants; without the databases nobody connects to, without a node identity, vacuumed and checkpointed.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { installedAssets } from "../src/store/embedded/assets.ts";
import { packTemplate } from "../src/store/embedded/template.ts";
import { migrate } from "../src/store/migrate.ts";
import { grants, migrations } from "../src/store/migrations.ts";
import { openEmbedded } from "../src/store/pglite.ts";

/** template0 and template1 exist to copy databases from, which the embedded engine never does; they are 600 of 1,280 files. */
const slim = [
  "update pg_database set datistemplate = false where datname in ('template0', 'template1')",
  "drop database template1",
  "drop database template0",
  "delete from brain_node_identity",
  "vacuum (freeze, analyze)",
  "checkpoint",
];

export async function makeTemplate(): Promise<Uint8Array> {
  const directory = await mkdtemp(join(tmpdir(), "memory-industry-template-"));
  try {
    const db = await openEmbedded({ directory, assets: await installedAssets({ initdb: true }), nodeName: "", create: true });
    await db.asOwner(async (connection) => {
      await migrate(connection, migrations, grants);
      for (const statement of slim) await connection.script(statement);
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
