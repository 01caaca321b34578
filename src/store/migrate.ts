/**
 * The migration runner (`data-model.md` §13): a lock, one transaction a file with its ledger row inside, the digest of every file that
 * was applied compared on each start. A file that the ledger lacks is applied whatever its number; an edited one is refused.
 */
import { conflict, MemoryError, unavailable } from "../kernel/errors.ts";
import { allOrNothing, type Connection } from "./connection.ts";
import { storeFault, translate } from "./failures.ts";

export interface Migration {
  /** `0001_foundation`; the number is the order. */
  readonly name: string;
  readonly sql: string;
}

export type MigrationState = "applied" | "pending" | "edited" | "dirty" | "unknown";

export interface MigrationStatus {
  readonly name: string;
  /** `unknown`: recorded by a newer build. `dirty`: recorded without success, which this runner never does. */
  readonly state: MigrationState;
  readonly appliedAt: string | undefined;
}

export interface MigrationReport {
  /** Names of the files applied now. */
  readonly applied: readonly string[];
  /** Things a person should know, none of which stops the program. */
  readonly warnings: readonly string[];
}

/** Advisory lock around the runner: 0x0CBAA0D171060010. Beyond 2^53, hence text. */
const MIGRATE_LOCK = "917222295528144912";
/** How long a second starter waits for the first one to finish; the whole provisioning has 60 s. */
const LOCK_TIMEOUT = "60s";
const LEAST_SERVER = 150_000;
/** The oldest that is supported. Distances of bits, which the signs of vectors need, came with 0.7. */
const LEAST_VECTOR = [0, 8, 0] as const;
/** Index faults are fixed here. */
const GOOD_VECTOR = [0, 8, 4] as const;
/** Two databases of one server that migrate at once collide on the role row. */
const ROLE_COLLISION = /^(XX000|23505)$/;
const ROLE_ATTEMPTS = 5;

/** SHA-256 of the file, line endings normalised: a CRLF checkout is the same file. */
export const digestOf = (migration: Migration): string =>
  new Bun.CryptoHasher("sha256").update(migration.sql.replaceAll("\r\n", "\n")).digest("hex");

interface LedgerRow {
  readonly name: string;
  readonly digest: string;
  readonly appliedAt: string;
  readonly success: boolean;
}

async function readLedger(connection: Connection): Promise<LedgerRow[] | undefined> {
  const { rows: found } = await connection.query("select to_regclass('public.brain_migrations') is not null as found");
  if (found[0]?.found !== true) return undefined;
  const { rows } = await connection.query("select name, digest, applied_at, success from brain_migrations order by name");
  return rows.map((row) => ({
    name: String(row.name),
    digest: String(row.digest),
    appliedAt: String(row.applied_at),
    success: row.success === true,
  }));
}

function compare(migrations: readonly Migration[], ledger: readonly LedgerRow[]): MigrationStatus[] {
  const recorded = new Map(ledger.map((row) => [row.name, row]));
  const ours = migrations.map((migration): MigrationStatus => {
    const row = recorded.get(migration.name);
    if (row === undefined) return { name: migration.name, state: "pending", appliedAt: undefined };
    const state = !row.success ? "dirty" : row.digest !== digestOf(migration) ? "edited" : "applied";
    return { name: migration.name, state, appliedAt: row.appliedAt };
  });
  const known = new Set(migrations.map((migration) => migration.name));
  const theirs = ledger
    .filter((row) => !known.has(row.name))
    .map((row): MigrationStatus => ({ name: row.name, state: row.success ? "unknown" : "dirty", appliedAt: row.appliedAt }));
  return [...ours, ...theirs];
}

/** What is applied, pending or wrong, in the order of the files. Works for `cuba_app` too. */
export async function migrationStatus(connection: Connection, migrations: readonly Migration[]): Promise<MigrationStatus[]> {
  return compare(migrations, (await readLedger(connection)) ?? []);
}

const namesIn = (status: readonly MigrationStatus[], state: MigrationState) =>
  status.filter((entry) => entry.state === state).map((entry) => entry.name);

/** What must stop the program whether it migrates or not. */
function refuseWrongLedger(status: readonly MigrationStatus[], newestShipped: string): void {
  const dirty = namesIn(status, "dirty");
  if (dirty.length > 0) {
    throw conflict(
      `The migration ${dirty.join(", ")} is recorded without success. Nothing was changed. Restore a backup, or finish it by hand and set success in brain_migrations.`,
      { reason: "migration_dirty" },
    );
  }
  const unknown = namesIn(status, "unknown");
  if (unknown.length > 0) {
    throw conflict(
      `The database is newer than this program: it has ${unknown.at(-1)}, this build ends at ${newestShipped}. Nothing was changed. Install the newer version.`,
      { reason: "migration_newer" },
    );
  }
  const edited = namesIn(status, "edited");
  if (edited.length > 0) {
    throw conflict(
      `The migration ${edited.join(", ")} was applied in another form than the one in this build. Nothing was changed. Install the release that made this database.`,
      { reason: "migration_edited" },
    );
  }
}

const newest = (migrations: readonly Migration[]): string => migrations.at(-1)?.name ?? "none";

/**
 * For `CUBA_SKIP_MIGRATIONS`: changes nothing, refuses a database without a ledger, behind this build, newer than it, or edited.
 * @throws MemoryError naming both versions.
 */
export async function verifyMigrations(connection: Connection, migrations: readonly Migration[]): Promise<void> {
  const ledger = await readLedger(connection);
  if (ledger === undefined || ledger.length === 0) {
    throw conflict(
      `No migration is recorded in this database; this build needs ${newest(migrations)}. Start once without CUBA_SKIP_MIGRATIONS.`,
      { reason: "migration_none" },
    );
  }
  const status = compare(migrations, ledger);
  refuseWrongLedger(status, newest(migrations));
  const pending = namesIn(status, "pending");
  if (pending.length > 0) {
    throw conflict(
      `The database is older than this program: it ends at ${ledger.at(-1)?.name}, this build needs ${pending.join(", ")}. Start once without CUBA_SKIP_MIGRATIONS.`,
      { reason: "migration_behind" },
    );
  }
}

const atLeast = (version: string, least: readonly number[]): boolean => {
  const parts = version.split(".").map(Number);
  for (const [index, want] of least.entries()) {
    const have = parts[index] ?? 0;
    if (have !== want) return have > want;
  }
  return true;
};

/** Refuses a server that is too old or lacks an extension, with the statement to run. Answers warnings. */
async function checkServer(connection: Connection): Promise<string[]> {
  const { rows } = await connection.query(`
    select current_setting('server_version_num') as server, current_setting('server_version') as server_text, wanted.name,
           coalesce(e.extversion, a.default_version) as version
    from unnest(array['pg_trgm', 'vector']) as wanted(name)
    left join pg_extension as e on e.extname = wanted.name
    left join pg_available_extensions as a on a.name = wanted.name
    order by wanted.name`);
  const server = rows[0];
  if (Number(server?.server) < LEAST_SERVER) {
    throw unavailable(`PostgreSQL ${String(server?.server_text)} is too old: version 15 or newer is needed. Nothing was written.`);
  }
  const missing = rows.filter((row) => row.version === null).map((row) => String(row.name));
  if (missing.length > 0) {
    throw unavailable(
      `The extension ${missing.join(" and ")} is not installed on the database server. Nothing was written. Install it (pgvector 0.8 or newer; pg_trgm is in the contrib package), then run: ${missing.map((name) => `CREATE EXTENSION ${name};`).join(" ")}`,
    );
  }
  const vector = String(rows.find((row) => row.name === "vector")?.version);
  if (!atLeast(vector, LEAST_VECTOR)) {
    throw unavailable(
      `The extension vector ${vector} is too old: 0.8 or newer is needed. Nothing was written. Install it, then run: ALTER EXTENSION vector UPDATE;`,
    );
  }
  return atLeast(vector, GOOD_VECTOR) ? [] : [`The extension vector is ${vector}; 0.8.4 fixes index faults. Update it when you can.`];
}

async function applyFile(connection: Connection, migration: Migration): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await allOrNothing(connection, async () => {
        await connection.script(migration.sql);
        await connection.query("insert into brain_migrations (name, digest, success) values ($1::text, $2::text, true)", [
          migration.name,
          digestOf(migration),
        ]);
      });
    } catch (error) {
      const failure = translate(error);
      const state = storeFault(failure)?.state ?? "";
      if (attempt === ROLE_ATTEMPTS || !ROLE_COLLISION.test(state)) {
        throw new MemoryError(
          "unavailable",
          `The migration ${migration.name} failed (SQLSTATE ${state}). It was rolled back; the files before it are kept. The log has the cause.`,
          {
            reason: "migration_failed",
            cause: failure,
          },
        );
      }
      await Bun.sleep(50 + Math.random() * 350); // 50 to 400 ms: two starters must not meet again
    }
  }
}

/**
 * Brings the database up to this build. `connection` belongs to the owner and to nobody else meanwhile; safe when two programs start at once.
 * @param grants statements run after the files, ending with the REVOKEs.
 * @throws MemoryError: server too old, extension missing, ledger edited, dirty or newer, a file that failed.
 */
export async function migrate(connection: Connection, migrations: readonly Migration[], grants: string): Promise<MigrationReport> {
  try {
    const warnings = await checkServer(connection);
    // A migration of a large table may take longer than any call; the wait for the lock may not.
    await connection.script(`set statement_timeout = 0; set lock_timeout = '${LOCK_TIMEOUT}'`);
    await connection.query("select pg_advisory_lock($1::bigint)", [MIGRATE_LOCK]);
    try {
      await connection.script(`create table if not exists brain_migrations (
        name text primary key, digest text not null, applied_at timestamptz not null default now(), success boolean not null)`);
      const status = compare(migrations, (await readLedger(connection)) ?? []);
      refuseWrongLedger(status, newest(migrations));
      const pending = new Set(namesIn(status, "pending"));
      const applied: string[] = [];
      for (const migration of migrations) {
        if (!pending.has(migration.name)) continue;
        await applyFile(connection, migration);
        applied.push(migration.name);
      }
      await connection.script(grants);
      return { applied, warnings };
    } finally {
      await connection.query("select pg_advisory_unlock($1::bigint)", [MIGRATE_LOCK]);
      await connection.script("reset lock_timeout; reset statement_timeout");
    }
  } catch (error) {
    throw translate(error);
  }
}
