/** What `migrate` does. */
import type { MigrationOutcome } from "../cli/command.ts";
import { conflict } from "../kernel/errors.ts";
import { migrate, migrationStatus } from "../store/migrate.ts";
import { grants, migrations } from "../store/migrations.ts";
import { openGateway } from "./gateway.ts";
import type { ProcessFacts } from "./process.ts";
import { asSchemaOwner } from "./schema-owner.ts";

/** @throws MemoryError with the reason where the database cannot be reached, or must not be migrated by this build. */
export async function runMigrations(
  facts: ProcessFacts,
  { statusOnly }: { readonly statusOnly: boolean },
  signal: AbortSignal,
): Promise<MigrationOutcome> {
  return await asSchemaOwner(
    facts,
    {
      onlyLook: statusOnly,
      run: async ({ db, applied, warnings }) =>
        await db.asOwner(async (connection) => {
          const report = statusOnly ? undefined : await migrate(connection, migrations, grants);
          return {
            applied: [...applied, ...(report?.applied ?? [])],
            warnings: [...new Set([...warnings, ...(report?.warnings ?? [])])],
            files: await migrationStatus(connection, migrations),
          };
        }),
      askDaemon: async () => {
        const outcome = await askDaemon(facts, signal);
        if (!statusOnly && outcome.files.some(({ state }) => state === "pending"))
          throw conflict(
            "A running daemon owns the database and was started without migrating; nothing was changed. Stop it, then run the command again.",
          );
        return outcome;
      },
    },
    signal,
  );
}

/** A running daemon has migrated its database when it started. */
async function askDaemon(facts: ProcessFacts, signal: AbortSignal): Promise<MigrationOutcome> {
  await using gateway = await openGateway(facts, { project: undefined }, signal);
  const answer = await gateway.ask("owner/migrations", {});
  const list: unknown[] = Array.isArray(answer) ? answer : [];
  const files = list.flatMap((item) => {
    if (typeof item !== "object" || item === null) return [];
    const { name, state, appliedAt } = Object.fromEntries(Object.entries(item));
    return typeof name === "string" && typeof state === "string"
      ? [{ name, state, appliedAt: typeof appliedAt === "string" ? appliedAt : undefined }]
      : [];
  });
  return { applied: [], warnings: [], files };
}
