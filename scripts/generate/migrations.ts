/** The digests of the migrations as they were released: what stands there stays, a new migration is added behind. */
import { join } from "node:path";
import { digestOf } from "../../src/store/migrate.ts";
import { migrations } from "../../src/store/migrations.ts";
import { root } from "../run.ts";
import type { GeneratedFile } from "./file.ts";

const DIGESTS = "test/golden/migration-digests.json";

/** A digest that is there is never written anew: `test/store/migrations.test.ts` then says which file was edited. */
export async function migrationDigests(): Promise<GeneratedFile[]> {
  const file = Bun.file(join(root, DIGESTS));
  const now = Object.fromEntries(migrations.map((migration) => [migration.name, digestOf(migration)]));
  const frozen: Record<string, string> = (await file.exists()) ? await file.json() : {};
  return [{ path: DIGESTS, content: `${JSON.stringify({ ...now, ...frozen }, null, 2)}\n` }];
}
