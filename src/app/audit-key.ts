/** The key of the audit chain (`tools-maintenance.md` §9.1): the variable, else the file `audit_key` of the secrets folder, else of a cache folder. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/load.ts";

/** Trimmed; blank is no key. No such file is no key either. */
function keyIn(folder: string | undefined): string | undefined {
  if (folder === undefined) return undefined;
  try {
    return readFileSync(join(folder, "audit_key"), "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Reads the key at each call: a file that was put there meanwhile counts. */
export const auditKeyOf =
  ({ settings, paths }: Config) =>
  (): string | undefined =>
    settings.AUDIT_KEY.value ?? keyIn(paths.configDir) ?? keyIn(paths.cacheRoot) ?? keyIn(paths.legacyCacheRoot);
