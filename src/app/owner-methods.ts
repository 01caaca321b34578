/** What the owner of the database does for our own commands (`OwnerMethod` of `cli/gateway.ts`); served to the `cli` transport alone. */
import { diagnoseOwner } from "../doctor/run.ts";
import type { OwnerMethod } from "../mcp/server.ts";
import { migrationStatus } from "../store/migrate.ts";
import { migrations } from "../store/migrations.ts";
import { type OwnerParts, ownerFacts } from "./diagnosis.ts";

export function ownerMethods(parts: OwnerParts): ReadonlyMap<string, OwnerMethod> {
  const { database } = parts;
  return new Map<string, OwnerMethod>([
    ["owner/doctor", async ({ deep }, { signal }) => await diagnoseOwner(await ownerFacts(parts, { deep: deep === true, signal }))],
    [
      "owner/migrations",
      async () => ("db" in database ? await database.db.asOwner((connection) => migrationStatus(connection, migrations)) : []),
    ],
  ]);
}
