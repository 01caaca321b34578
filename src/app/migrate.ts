/** `migrate`: as the owner of the schema, without composing the product. */
import { join } from "node:path";
import type { MigrationOutcome } from "../cli/command.ts";
import { nodeName } from "../config/environment.ts";
import { chooseDatabase } from "../config/modes.ts";
import { requirePath } from "../config/paths.ts";
import { OWNER_LEAVES_WITHIN_MS, takeOwnership } from "../daemon/ownership.ts";
import { conflict, MemoryError } from "../kernel/errors.ts";
import { VERSION } from "../kernel/version.ts";
import type { OwnerAccess } from "../store/connection.ts";
import { migrate, migrationStatus } from "../store/migrate.ts";
import { grants, migrations } from "../store/migrations.ts";
import { openPostgres } from "../store/postgres.ts";
import { startEmbedded } from "../store/start.ts";
import { linkTo } from "../transports/daemon-link.ts";
import { openAssets } from "./assets.ts";
import { openForReading } from "./bootstrap.ts";
import { openGateway } from "./gateway.ts";
import { helloOf, type ProcessFacts } from "./process.ts";

/** How long a running daemon may take for its welcome, milliseconds. */
const WELCOME_LIMIT_MS = 3_000;

/** @throws MemoryError with the reason where the database cannot be reached, or must not be migrated by this build. */
export async function runMigrations(
  facts: ProcessFacts,
  options: { readonly statusOnly: boolean },
  signal: AbortSignal,
): Promise<MigrationOutcome> {
  const { config } = facts;
  const choice = chooseDatabase(config.mode, config.settings.DATABASE_URL.value);
  if (choice.kind === "embedded") return await onEmbedded(facts, options.statusOnly, signal);
  await using db = openPostgres({ url: choice.url, nodeName: nodeName(config), log: facts.log });
  return await bringUp(db, options.statusOnly);
}

async function bringUp(db: OwnerAccess, statusOnly: boolean): Promise<MigrationOutcome> {
  return await db.asOwner(async (connection) => {
    const report = statusOnly ? { applied: [], warnings: [] } : await migrate(connection, migrations, grants);
    return { ...report, files: await migrationStatus(connection, migrations) };
  });
}

/** A running daemon owns the directory and has migrated it when it started; without one this process owns it for a moment. */
async function onEmbedded(facts: ProcessFacts, statusOnly: boolean, signal: AbortSignal): Promise<MigrationOutcome> {
  const { config, log, paths } = facts;
  const found = await linkTo(paths().socket, helloOf("cli", config), WELCOME_LIMIT_MS);
  if (found.kind === "linked") {
    found.link.abort();
    const outcome = await askDaemon(facts, signal);
    if (!statusOnly && outcome.files.some(({ state }) => state === "pending"))
      throw conflict(
        "A running daemon owns the database and was started without migrating; nothing was changed. Stop it, then run the command again.",
      );
    return outcome;
  }
  const owning = await takeOwnership({
    paths: paths(),
    version: VERSION,
    address: "alone",
    waitMs: OWNER_LEAVES_WITHIN_MS,
    stop: signal,
    log,
  });
  if (owning.kind !== "owned") throw new MemoryError("cancelled", "Broken off before anything was done.");
  try {
    const assets = openAssets();
    if (statusOnly) {
      await using db = await openForReading({ config, assets, nodeName: nodeName(config), log });
      return await bringUp(db, true);
    }
    const { db, report } = await startEmbedded({
      directory: join(requirePath(config.paths, "dataDir"), "db"),
      assets: await assets.engine(requirePath(config.paths, "cacheRoot")),
      template: assets.template,
      nodeName: nodeName(config),
      schema: { migrations, grants },
    });
    try {
      return { ...report, files: await db.asOwner((connection) => migrationStatus(connection, migrations)) };
    } finally {
      await db[Symbol.asyncDispose]();
    }
  } finally {
    owning.lock.release();
  }
}

async function askDaemon(facts: ProcessFacts, signal: AbortSignal): Promise<MigrationOutcome> {
  await using gateway = await openGateway(facts, undefined, signal);
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
