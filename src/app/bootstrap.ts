/** Which database, opened and brought up to this build (`config-packaging.md` §6). */
import { join } from "node:path";
import type { Config } from "../config/load.ts";
import { chooseDatabase } from "../config/modes.ts";
import { requirePath } from "../config/paths.ts";
import { causeChain, MemoryError, unavailable } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { APP_ROLE } from "../store/app-role.ts";
import type { OwnerAccess } from "../store/connection.ts";
import { holdsDatabase } from "../store/embedded/engine.ts";
import { isConnectionFault } from "../store/failures.ts";
import { lazyDatabase } from "../store/lazy.ts";
import type { MigrationReport } from "../store/migrate.ts";
import { grants, migrations } from "../store/migrations.ts";
import { openEmbedded } from "../store/pglite.ts";
import type { Database } from "../store/port.ts";
import { openPostgres } from "../store/postgres.ts";
import { type Schema, startEmbedded, startServer } from "../store/start.ts";
import { checkVectorWidth } from "../store/vectors.ts";
import type { Assets } from "./assets.ts";
import { cacheFolder } from "./cache-folder.ts";
import { finishPasswords, passwordFiles, passwordIn } from "./password-files.ts";

/** A database with the owner's way in, for migrations and their status. */
export type OwnedDatabase = Database &
  OwnerAccess & {
    /** The embedded engine's own end (`EmbeddedDatabase.stopped`); a server's is a matter of the next call. */
    readonly stopped?: Promise<unknown>;
  };

export interface BootstrapParts {
  readonly config: Config;
  readonly assets: Assets;
  readonly nodeName: string;
  readonly log: Logger;
  /** Length of the installed model's vectors; undefined = no model, nothing to compare. */
  readonly modelWidth: number | undefined;
}

/** What is assumed of a server that has not answered yet: the oldest that is served. */
const unseenServer = { concurrent: true, crossProcessNotify: true, serverVersion: 150_000 };

/**
 * Opens the database. Embedded: unpacked on first use, migrated, ready. PostgreSQL: the same where it can be reached, else at the first call
 * that reaches it; until then each call fails with the true reason.
 * @throws MemoryError where starting makes no sense: a directory that does not open, a newer ledger, a server too old, vectors of another width.
 */
export async function openDatabase(parts: BootstrapParts): Promise<OwnedDatabase> {
  const { config } = parts;
  const schema: Schema = { migrations, grants, skipMigrations: config.settings.SKIP_MIGRATIONS.value };
  const choice = chooseDatabase(config);
  return choice.kind === "embedded" ? await embedded(parts, schema) : await server(parts, schema, choice.url);
}

function tell({ log }: BootstrapParts, { applied, warnings }: MigrationReport): void {
  for (const warning of warnings) log.warn(warning);
  if (applied.length > 0) log.info("database migrated", { files: applied.length, newest: applied.at(-1) });
}

/** Refuses vectors of another width, and closes what it refuses. */
async function fitting<T extends Database & OwnerAccess>(db: T, { modelWidth }: BootstrapParts): Promise<T> {
  try {
    if (modelWidth !== undefined) await db.asOwner((connection) => checkVectorWidth(connection, modelWidth));
    return db;
  } catch (error) {
    await db[Symbol.asyncDispose]();
    throw error;
  }
}

async function embedded(parts: BootstrapParts, schema: Schema): Promise<OwnedDatabase> {
  const { config, assets, nodeName, log } = parts;
  const { db, report, created } = await startEmbedded({
    directory: join(requirePath(config.paths, "dataDir"), "db"),
    assets: await assets.engine(cacheFolder(config.paths)),
    template: assets.template,
    nodeName,
    schema,
  });
  if (created) log.info("embedded database set up");
  tell(parts, report);
  return await fitting(db, parts);
}

/** The app role's password, where one was provisioned; without one the role is taken in each transaction instead. */
async function appPassword({ config: { paths }, nodeName, log }: BootstrapParts): Promise<string | undefined> {
  const { configDir } = paths;
  if (configDir === undefined) return undefined;
  const { app } = passwordFiles(configDir);
  try {
    for (const { login, file } of await finishPasswords([app], { nodeName, mayWithdraw: false }))
      log.warn("a secure --rotate that was broken off is finished: the login has its new password", { login, file });
    return passwordIn(app);
  } catch (error) {
    log.warn("the password of the app role could not be read", { cause: causeChain(error) });
    return undefined;
  }
}

async function server(parts: BootstrapParts, schema: Schema, url: string): Promise<OwnedDatabase> {
  const { config, nodeName, log } = parts;
  const { settings } = config;
  const open = async (): Promise<OwnedDatabase> => {
    const { db, report } = await startServer({
      url,
      schema,
      nodeName,
      log,
      stepDown: settings.APP_ROLE.value,
      appPassword: await appPassword(parts),
      settings: { randomPageCost: settings.RANDOM_PAGE_COST.value, ioConcurrency: settings.IO_CONCURRENCY.value },
      ...(settings.DB_MAX_CONNECTIONS.value === undefined ? {} : { maxConnections: settings.DB_MAX_CONNECTIONS.value }),
    });
    tell(parts, report);
    return await fitting(db, parts);
  };
  try {
    return await open();
  } catch (error) {
    if (!isAway(error)) throw error;
    log.warn("the database cannot be reached yet; calls fail until it can", { cause: causeChain(error) });
    const lazy = lazyDatabase(open, unseenServer);
    return {
      get traits() {
        return lazy.traits;
      },
      read: lazy.read,
      write: lazy.write,
      tryLock: lazy.tryLock,
      listen: lazy.listen,
      asOwner: async (work) => await (await lazy.reach()).asOwner(work),
      [Symbol.asyncDispose]: () => lazy[Symbol.asyncDispose](),
    };
  }
}

/** Reason of the error where there is no database yet, which is no fault. */
export const NO_DATABASE = "no_database";

/**
 * Opens what is there for a look: nothing is unpacked, migrated or refused.
 * @throws MemoryError with the reason where there is nothing, or it does not open.
 */
export async function openForReading(parts: Omit<BootstrapParts, "modelWidth">): Promise<OwnedDatabase> {
  const { config, assets, nodeName, log } = parts;
  const choice = chooseDatabase(config);
  if (choice.kind === "embedded") {
    const directory = join(requirePath(config.paths, "dataDir"), "db");
    if (!holdsDatabase(directory))
      throw unavailable(`There is no database in ${directory} yet; the first client or 'serve' makes it.`, { reason: NO_DATABASE });
    return await openEmbedded({ directory, assets: await assets.engine(cacheFolder(config.paths)), nodeName });
  }
  const common = { url: choice.url, nodeName, log };
  const asApp = openPostgres({ ...common, role: APP_ROLE });
  try {
    if (config.settings.APP_ROLE.value) {
      await asApp.ping();
      return asApp;
    }
  } catch (error) {
    await asApp[Symbol.asyncDispose]();
    if (isConnectionFault(error)) throw error;
  }
  return openPostgres(common);
}

/** True where waiting may help: nobody answers, rather than somebody refusing. */
const isAway = (error: unknown): boolean =>
  isConnectionFault(error) || (error instanceof MemoryError && (error.code === "busy" || error.code === "timeout"));
