import { existingTables } from "../../store/queries/diagnosis.ts";
import { databaseCheck, fail, ok } from "../check.ts";

export default databaseCheck("schema", async ({ db, scope, tables }) => {
  const rows = await db.read(scope, (tx) => tx.all(existingTables({ names: tables })));
  const there = new Set(rows.map(({ name }) => name));
  const missing = tables.filter((name) => !there.has(name));
  return missing.length === 0 ? ok(`all ${tables.length} tables`) : fail(`missing: ${missing.join(", ")}`, "memory-industry migrate");
});
