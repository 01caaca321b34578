import { installedExtensions } from "../../store/queries/diagnosis.ts";
import { databaseCheck, fail, ok, warn } from "../check.ts";

/** Oldest that works, and the first without index faults. */
const LEAST_VECTOR = [0, 8, 0];
const GOOD_VECTOR = [0, 8, 4];

function atLeast(version: string, least: readonly number[]): boolean {
  const parts = version.split(".").map(Number);
  for (const [at, want] of least.entries()) if ((parts[at] ?? 0) !== want) return (parts[at] ?? 0) > want;
  return true;
}

export default databaseCheck("extensions", async ({ db, scope }) => {
  const rows = await db.read(scope, (tx) => tx.all(installedExtensions({ names: ["pg_trgm", "vector"] })));
  const missing = rows.filter(({ version }) => version === null).map(({ name }) => name);
  if (missing.length > 0) return fail(`${missing.join(" and ")} missing`, missing.map((name) => `CREATE EXTENSION ${name};`).join(" "));
  const detail = rows.map(({ name, version }) => `${name} ${version}`).join(", ");
  const vector = rows.find(({ name }) => name === "vector")?.version ?? "0";
  if (!atLeast(vector, LEAST_VECTOR))
    return fail(`${detail}: vector 0.8 or newer is needed`, "Install it, then: ALTER EXTENSION vector UPDATE;");
  if (!atLeast(vector, GOOD_VECTOR))
    return warn(`${detail}: index faults are fixed in vector 0.8.4`, "Install it, then: ALTER EXTENSION vector UPDATE; and REINDEX.");
  return ok(detail);
});
