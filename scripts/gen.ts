/**
 * `npm run gen`: writes everything that follows from the lists of tools, commands and variables: docs/tools.md, docs/commands.md, docs/configuration.md,
 * docs/env.example, server.json, the tables of README.md, the golden files of `tools/list`, of the help texts and of the digests of migrations. `--check` writes nothing and exits 1 where a file is not what it should be.
 */
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { commandDocument } from "./generate/commands.ts";
import { configuration } from "./generate/configuration.ts";
import type { GeneratedFile } from "./generate/file.ts";
import { migrationDigests } from "./generate/migrations.ts";
import { readme } from "./generate/readme.ts";
import { serverJson } from "./generate/server-json.ts";
import { catalogueCost, toolDocuments } from "./generate/tools.ts";
import { root } from "./run.ts";

export async function generatedFiles(): Promise<GeneratedFile[]> {
  return [
    ...toolDocuments(),
    ...(await commandDocument()),
    ...configuration(),
    ...serverJson(),
    ...readme(),
    ...(await migrationDigests()),
  ];
}

/** The files that differ from what is on the disk. */
export async function staleFiles(): Promise<GeneratedFile[]> {
  const files = await generatedFiles();
  const onDisk = await Promise.all(
    files.map(async ({ path }) => {
      const file = Bun.file(join(root, path));
      return (await file.exists()) ? await file.text() : undefined;
    }),
  );
  return files.filter(({ content }, index) => content !== onDisk[index]);
}

async function main(): Promise<void> {
  const stale = await staleFiles();
  const check = process.argv.includes("--check");
  for (const { path, content } of stale) {
    console.log(check ? `not as generated: ${path}` : `wrote ${path}`);
    if (check) continue;
    mkdirSync(dirname(join(root, path)), { recursive: true });
    await Bun.write(join(root, path), content);
  }
  console.log(`tools/list: ${catalogueCost()}`);
  if (check && stale.length > 0) {
    console.log("run: npm run gen");
    process.exitCode = 1;
  }
}

if (import.meta.main) await main();
