/** Which database, opened and brought up to this build (`config-packaging.md` §6). */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/load.ts";
import { chooseDatabase } from "../config/modes.ts";
import { requirePath } from "../config/paths.ts";
import { causeChain, MemoryError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { OwnerAccess } from "../store/connection.ts";
import { ensureNodeIdentity, unpackTemplate } from "../store/embedded/template.ts";
import { isConnectionFault } from "../store/failures.ts";
import { migrate, verifyMigrations } from "../store/migrate.ts";
import { grants, migrations } from "../store/migrations.ts";
import { openEmbedded } from "../store/pglite.ts";
import type { Database } from "../store/port.ts";
import { openPostgres } from "../store/postgres.ts";
import type { Assets } from "./assets.ts";

export type OwnedDatabase = Database & OwnerAccess;

export interface BootstrapParts {
  readonly config: Config;
  readonly assets: Assets;
  readonly nodeName: string;
  readonly log: Logger;
}

/** The role that every transaction runs as, unless `CUBA_APP_ROLE` is off. */
const APP_ROLE = "cuba_app";
const OWNER_ONLY = 0o700;

/**
 * Opens the database. Embedded: unpacked on first use, migrated, ready. PostgreSQL: migrated at once where it can be reached, else before
 * the first call that reaches it; until then each call fails with the true reason.
 * @throws MemoryError where starting makes no sense: a data directory that does not open, a ledger of a newer build, a server too old.
 */
export async function openDatabase(parts: BootstrapParts): Promise<OwnedDatabase> {
  const { config } = parts;
  const choice = chooseDatabase(config.mode, config.settings.DATABASE_URL.value);
  return choice.kind === "embedded" ? await embedded(parts) : await server(parts, choice.url);
}

async function prepare(db: OwnedDatabase, { config, nodeName, log }: BootstrapParts): Promise<void> {
  await db.asOwner(async (connection) => {
    if (config.settings.SKIP_MIGRATIONS.value) return await verifyMigrations(connection, migrations);
    const { applied, warnings } = await migrate(connection, migrations, grants);
    for (const warning of warnings) log.warn(warning);
    if (applied.length > 0) log.info("database migrated", { files: applied.length, newest: applied.at(-1) });
    await ensureNodeIdentity(connection, nodeName);
  });
}

async function embedded(parts: BootstrapParts): Promise<OwnedDatabase> {
  const { config, assets, nodeName, log } = parts;
  const directory = join(requirePath(config.paths, "dataDir"), "db");
  const engine = await assets.engine(requirePath(config.paths, "cacheRoot"));
  const { template } = assets;
  if (template === undefined) mkdirSync(directory, { recursive: true, mode: OWNER_ONLY });
  if (template !== undefined && (await unpackTemplate(template, directory))) log.info("embedded database set up");
  const db = await openEmbedded({ directory, assets: engine, nodeName, create: template === undefined });
  try {
    await prepare(db, parts);
    return db;
  } catch (error) {
    await db[Symbol.asyncDispose]();
    throw error;
  }
}

async function server(parts: BootstrapParts, url: string): Promise<OwnedDatabase> {
  const { config, nodeName, log } = parts;
  const { settings } = config;
  const db = openPostgres({
    url,
    nodeName,
    log,
    ...(settings.APP_ROLE.value ? { role: APP_ROLE } : {}),
    ...(settings.DB_MAX_CONNECTIONS.value === undefined ? {} : { maxConnections: settings.DB_MAX_CONNECTIONS.value }),
    settings: { randomPageCost: settings.RANDOM_PAGE_COST.value, ioConcurrency: settings.IO_CONCURRENCY.value },
  });
  const ready = once(() => prepare(db, parts));
  try {
    await ready();
  } catch (error) {
    if (!isAway(error)) {
      await db[Symbol.asyncDispose]();
      throw error;
    }
    log.warn("the database cannot be reached yet; calls fail until it can", { cause: causeChain(error) });
  }
  return {
    traits: db.traits,
    read: async (ctx, work) => (await ready(), db.read(ctx, work)),
    write: async (ctx, work, limits) => (await ready(), db.write(ctx, work, limits)),
    tryLock: async (key) => (await ready(), db.tryLock(key)),
    listen: (channel, onPayload) => db.listen(channel, onPayload),
    asOwner: (work) => db.asOwner(work),
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  };
}

/** True where waiting may help: nobody answers, rather than somebody refusing. */
const isAway = (error: unknown): boolean =>
  isConnectionFault(error) || (error instanceof MemoryError && (error.code === "busy" || error.code === "timeout"));

/** Runs `work` until it has succeeded once; callers of the same try share it, a failed try is made again by the next caller. */
function once(work: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | undefined;
  return () => {
    current ??= work().catch((error: unknown) => {
      current = undefined;
      throw error;
    });
    return current;
  };
}
