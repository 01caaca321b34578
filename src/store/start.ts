/** From a directory or a URL to a database that is migrated, owned and ready (`data-model.md` §13, `config-packaging.md` §6.5). */
import { MemoryError } from "../kernel/errors.ts";
import { APP_ROLE } from "./app-role.ts";
import type { Connection } from "./connection.ts";
import { ensureNodeIdentity, unpackTemplate } from "./embedded/template.ts";
import { isConnectionFault, translate } from "./failures.ts";
import { type Migration, type MigrationReport, migrate, verifyMigrations } from "./migrate.ts";
import { type EmbeddedDatabase, type EmbeddedOptions, openEmbedded } from "./pglite.ts";
import { openPostgres, type ServerDatabase, type ServerOptions } from "./postgres.ts";
import { scramVerifier, withCredentials } from "./server/scram.ts";

export interface Schema {
  readonly migrations: readonly Migration[];
  readonly grants: string;
  /** `CUBA_SKIP_MIGRATIONS`: change nothing, refuse a database that does not fit. */
  readonly skipMigrations?: boolean;
}

const bringUp = async (connection: Connection, schema: Schema): Promise<MigrationReport> => {
  if (!schema.skipMigrations) return await migrate(connection, schema.migrations, schema.grants);
  await verifyMigrations(connection, schema.migrations);
  return { applied: [], warnings: ["Migrations are skipped (CUBA_SKIP_MIGRATIONS); the ledger matches this build."] };
};

export interface EmbeddedStart extends Omit<EmbeddedOptions, "create"> {
  readonly schema: Schema;
  /** The archive of `scripts/template.ts`; read only when the directory is missing. */
  readonly template: () => Promise<Uint8Array>;
}

/** Opens the embedded database, made from the template where there is none. The caller holds the owner lock of the data directory. */
export async function startEmbedded(options: EmbeddedStart): Promise<{ db: EmbeddedDatabase; report: MigrationReport; created: boolean }> {
  const created = await unpackTemplate(options.template, options.directory);
  const db = await openEmbedded(options);
  try {
    const report = await db.asOwner(async (connection) => {
      await ensureNodeIdentity(connection, options.nodeName);
      return await bringUp(connection, options.schema);
    });
    return { db, report, created };
  } catch (error) {
    await db[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * How the product runs on a server. `login`: connected as `cuba_app`. `role`: connected as the admin, who takes the role in each transaction,
 * as the embedded engine does. `admin`: as the admin itself; row security does not hold.
 */
export type Runtime = "login" | "role" | "admin";

export interface ServerStart extends Omit<ServerOptions, "role" | "ownerUrl"> {
  readonly schema: Schema;
  /** `CUBA_APP_ROLE`: false keeps the admin connection for the whole run. */
  readonly stepDown: boolean;
  /** Password of `cuba_app` (file `pgpass_app`); undefined where none was provisioned. */
  readonly appPassword: string | undefined;
}

export interface ServerReport extends MigrationReport {
  readonly runtime: Runtime;
}

/** The admin's rights that matter here, and whether the app role is there. */
async function examine(connection: Connection): Promise<{ login: string; ownsSchema: boolean; roleExists: boolean; maySetRole: boolean }> {
  const { rows } = await connection.query(`
    select current_user as login, has_schema_privilege('public', 'create') as owns, r.oid is not null as role_exists,
           coalesce(pg_has_role(current_user, r.oid, 'member'), false) as may_set
    from (select 1) as one
    left join pg_roles as r on r.rolname = '${APP_ROLE}'`);
  const row = rows[0];
  return {
    login: String(row?.login),
    ownsSchema: row?.owns === true,
    roleExists: row?.role_exists === true,
    maySetRole: row?.may_set === true,
  };
}

/**
 * Migrates as the login of `url`, then steps down to `cuba_app`. What does not work on the way down is a warning, never the end: the
 * database is served by the safest connection that could be had.
 * @throws MemoryError where the server cannot be reached or the schema does not fit.
 */
export async function startServer(options: ServerStart): Promise<{ db: ServerDatabase; report: ServerReport }> {
  const { schema, stepDown, appPassword, ...server } = options;
  const admin = openPostgres(server);
  try {
    const { facts, report } = await admin.asOwner(async (connection) => {
      const before = await examine(connection);
      if (before.login === APP_ROLE || !before.ownsSchema) {
        await verifyMigrations(connection, schema.migrations);
        return { facts: before, report: { applied: [], warnings: [] as readonly string[] } };
      }
      const brought = await bringUp(connection, schema);
      return { facts: await examine(connection), report: brought };
    });
    if (facts.login === APP_ROLE) return { db: admin, report: { ...report, runtime: "login" } };
    if (!stepDown) return { db: admin, report: { ...report, runtime: "admin" } };

    const warnings = [...report.warnings];
    const app = facts.roleExists && appPassword !== undefined ? await loginAsApp(options, appPassword, warnings) : undefined;
    const db = app ?? (facts.maySetRole ? openPostgres({ ...server, role: APP_ROLE }) : undefined);
    if (db === undefined) {
      warnings.push("The product runs on the admin connection: row security does not hold. Run 'memory-industry secure'.");
      return { db: admin, report: { ...report, warnings, runtime: "admin" } };
    }
    await admin[Symbol.asyncDispose]();
    return { db, report: { ...report, warnings, runtime: app === undefined ? "role" : "login" } };
  } catch (error) {
    await admin[Symbol.asyncDispose]();
    throw translate(error);
  }
}

/** A database connected as `cuba_app`, its password set first; undefined, with a warning, where that did not work out. */
async function loginAsApp(options: ServerStart, password: string, warnings: string[]): Promise<ServerDatabase | undefined> {
  const { schema: _schema, stepDown: _stepDown, appPassword: _password, ...server } = options;
  const admin = openPostgres(server);
  try {
    await admin.asOwner((connection) => connection.script(`alter role ${APP_ROLE} password '${scramVerifier(password)}'`));
  } catch {
    warnings.push(`The password of ${APP_ROLE} could not be set; the one it has is tried.`);
  } finally {
    await admin[Symbol.asyncDispose]();
  }
  const app = openPostgres({ ...server, url: withCredentials(options.url, APP_ROLE, password), ownerUrl: options.url });
  try {
    const { role, bypassesRowSecurity } = await app.ping();
    if (role === APP_ROLE && !bypassesRowSecurity) return app;
    warnings.push(`${role} may bypass row security and is not used.`);
  } catch (error) {
    const reason = error instanceof MemoryError && isConnectionFault(error) ? "it cannot connect" : "it cannot log in";
    warnings.push(`${APP_ROLE} is not used: ${reason}. Run 'memory-industry secure'.`);
  }
  await app[Symbol.asyncDispose]();
  return undefined;
}
