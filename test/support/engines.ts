/**
 * Databases for tests, as `cuba_app`: an owner proves nothing about isolation.
 * PGlite: a clone of a directory that is initialised and migrated once per schema, in `.cache/` of the checkout. PostgreSQL: a database per test file, cloned
 * from a template, where `MEMORY_INDUSTRY_TEST_PG` holds an admin URL.
 */
import { afterAll, beforeAll, describe, test } from "bun:test";
import { constants, cpSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { mkdtemp, rename, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import type { CallScope } from "../../src/kernel/context.ts";
import { newId } from "../../src/kernel/ids.ts";
import type { Connection, OwnerAccess } from "../../src/store/connection.ts";
import { type EngineAssets, installedAssets } from "../../src/store/embedded/assets.ts";
import { ensureNodeIdentity, slimDown } from "../../src/store/embedded/template.ts";
import { digestOf, migrate } from "../../src/store/migrate.ts";
import { grants, migrations } from "../../src/store/migrations.ts";
import { openEmbedded } from "../../src/store/pglite.ts";
import type { Database } from "../../src/store/port.ts";
import { openPostgres } from "../../src/store/postgres.ts";

export type EngineName = "pglite" | "postgres";

export interface TestDatabase extends Database, OwnerAccess {
  readonly engine: EngineName;
  /** Empties every table and puts the seed rows back, as the owner. */
  reset(): Promise<void>;
}

/** What a test body sees; `db` is there from `beforeAll` on. */
export interface TestEngine {
  readonly name: EngineName;
  readonly db: TestDatabase;
}

/** A call context of the owner without a project; `scope`, `principal` and `signal` can be given. */
export const testScope = (given: Partial<CallScope> = {}): CallScope => ({
  principal: { kind: "owner" },
  scope: { kind: "none" },
  signal: new AbortController().signal,
  ...given,
});

/** Scope of one project. */
export const inProject = (id: string, given: Partial<CallScope> = {}): CallScope => testScope({ scope: { kind: "project", id }, ...given });

/** The last word names the way the directory is made; change it with the way. */
const schemaDigest = new Bun.CryptoHasher("sha256")
  .update(["slim", ...migrations.map(digestOf), grants, import.meta.resolve("@electric-sql/pglite")].join("\n"))
  .digest("hex")
  .slice(0, 16);

let assets: Promise<EngineAssets> | undefined;
/** Compiled once a process. */
export const testAssets = (): Promise<EngineAssets> => (assets ??= installedAssets());

const cache = path.resolve(import.meta.dir, "../../.cache");
const READY = "test-database-";
const tempPrefix = path.join(os.tmpdir(), "memory-industry-test-");

/** The migrated directory of this schema; made by whoever comes first, in a place of its own, then renamed. Those of older schemas go. */
export async function migratedDirectory(): Promise<string> {
  const ready = path.join(cache, `${READY}${schemaDigest}`);
  if (existsSync(ready)) return ready;
  mkdirSync(cache, { recursive: true });
  for (const name of readdirSync(cache)) if (name.startsWith(READY)) rmSync(path.join(cache, name), { recursive: true, force: true });
  const making = await mkdtemp(path.join(cache, "making-"));
  const db = await openEmbedded({ directory: making, assets: await installedAssets({ initdb: true }), nodeName: "test", create: true });
  await db.asOwner(async (connection) => {
    await migrate(connection, migrations, grants);
    await slimDown(connection);
    await ensureNodeIdentity(connection, "test");
  });
  await db[Symbol.asyncDispose]();
  try {
    await rename(making, ready);
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    if (!existsSync(ready)) throw error;
  }
  return ready;
}

/** A fresh clone of {@link migratedDirectory}; the caller removes it. */
export async function cloneDirectory(): Promise<string> {
  const directory = await mkdtemp(tempPrefix);
  cpSync(await migratedDirectory(), directory, { recursive: true, mode: constants.COPYFILE_FICLONE });
  return directory;
}

/**
 * What a reset empties: everything of ours but the ledger. The caller is a superuser, hence the audit override. Deleting few rows without
 * triggers takes milliseconds; TRUNCATE of every table makes new files for each and takes a second.
 */
const resetScript = `
  begin;
  select set_config('app.audit_override', 'on', true);
  set local session_replication_role = replica;
  do $$ declare victim name; begin
    for victim in select relname from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'brain_migrations' loop
      execute format('delete from %I', victim);
    end loop;
    for victim in select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'S' loop
      execute format('alter sequence %I restart', victim);
    end loop;
  end $$;
  set local session_replication_role = origin;
  insert into brain_source_trust (source) values ('agent'), ('error_detection'), ('user'), ('consolidation'), ('inference');
  insert into brain_node_identity (label) values ('test');
  commit;`;

const asTestDatabase = (engine: EngineName, db: Database & OwnerAccess, dispose: () => Promise<void>): TestDatabase => ({
  engine,
  get traits() {
    return db.traits;
  },
  read: (ctx, work, limits) => db.read(ctx, work, limits),
  write: (ctx, work, limits) => db.write(ctx, work, limits),
  tryLock: (key) => db.tryLock(key),
  listen: (channel, onPayload) => db.listen(channel, onPayload),
  asOwner: (work) => db.asOwner(work),
  reset: () => db.asOwner((connection) => connection.script(resetScript)),
  async [Symbol.asyncDispose]() {
    await db[Symbol.asyncDispose]();
    await dispose();
  },
});

/** A migrated, empty embedded database of its own; dispose it. */
export async function openTestDatabase(): Promise<TestDatabase> {
  const directory = await cloneDirectory();
  const db = await openEmbedded({ directory, assets: await testAssets(), nodeName: "test" });
  // Synchronous: Bun removes a tree file by file through its thread pool otherwise, which takes seconds on a busy machine.
  return asTestDatabase("pglite", db, async () => rmSync(directory, { recursive: true, force: true }));
}

/** Admin URL of a server for the second half of the tests. */
const adminUrl = process.env.MEMORY_INDUSTRY_TEST_PG;

/** `url` with another database name. */
function onDatabase(url: string, database: string): string {
  const parsed = new URL(url);
  parsed.pathname = `/${database}`;
  return parsed.href;
}

const asAdmin = async <T>(url: string, work: (connection: Connection) => Promise<T>): Promise<T> => {
  const admin = openPostgres({ url, nodeName: "test" });
  try {
    return await admin.asOwner(work);
  } finally {
    await admin[Symbol.asyncDispose]();
  }
};

/** Any number that nothing else on a test server locks. */
const TEMPLATE_LOCK = "5150";

/** The migrated template database of this schema; made once a server, under a lock, and renamed when it is whole. */
async function templateDatabase(url: string): Promise<string> {
  const ready = `mi_template_${schemaDigest}`;
  await asAdmin(url, async (admin) => {
    await admin.query("select pg_advisory_lock($1::bigint)", [TEMPLATE_LOCK]);
    const { rows } = await admin.query("select 1 as found from pg_database where datname = $1::text", [ready]);
    if (rows.length > 0) return;
    const making = `mi_making_${newId().replaceAll("-", "")}`;
    await admin.script(`create database ${making}`);
    await asAdmin(onDatabase(url, making), (connection) => migrate(connection, migrations, grants));
    await admin.script(`alter database ${making} rename to ${ready}`);
  });
  return ready;
}

export interface ServerTestDatabase extends TestDatabase {
  /** Admin URL of this very database. */
  readonly url: string;
}

/** Roles belong to the whole server: tests that set a password of `cuba_app` set this one, so that they can run side by side. */
export const testAppPassword = "memory-industry-test";

/** A migrated, empty database of its own on the test server, as `cuba_app`; dispose it. */
export async function openTestServerDatabase(adminServerUrl: string): Promise<ServerTestDatabase> {
  const template = await templateDatabase(adminServerUrl);
  const name = `mi_test_${newId().replaceAll("-", "")}`;
  await asAdmin(adminServerUrl, (admin) => admin.script(`create database ${name} template ${template}`));
  const url = onDatabase(adminServerUrl, name);
  const db = openPostgres({ url, role: "cuba_app", nodeName: "test" });
  const drop = () => asAdmin(adminServerUrl, (admin) => admin.script(`drop database ${name} with (force)`));
  return Object.assign(asTestDatabase("postgres", db, drop), { url });
}

/** `npm run test:pg` runs the server's half alone: the other one has run before it. */
const serverOnly = process.env.MEMORY_INDUSTRY_TEST_ENGINES === "postgres";

const openers: readonly { readonly name: EngineName; readonly open: () => Promise<TestDatabase> }[] = [
  ...(serverOnly ? [] : [{ name: "pglite" as const, open: () => openTestDatabase() }]),
  ...(adminUrl === undefined || adminUrl === "" ? [] : [{ name: "postgres" as const, open: () => openTestServerDatabase(adminUrl) }]),
];

/** Longest time an engine may need to be ready in `beforeAll`, milliseconds: the first clone of a schema runs initdb. */
const OPEN_TIMEOUT_MS = 60_000;

/** Runs the same tests on every engine that is there, one database a call. Without a server its half shows as one skipped line. */
export function eachEngine(name: string, tests: (engine: TestEngine) => void): void {
  if (adminUrl === undefined || adminUrl === "") test.skip(`${name} (postgres): MEMORY_INDUSTRY_TEST_PG names no server`, () => {});
  for (const { name: engineName, open } of openers) {
    describe(`${name} (${engineName})`, () => {
      let db: TestDatabase | undefined;
      beforeAll(async () => {
        db = await open();
      }, OPEN_TIMEOUT_MS);
      afterAll(async () => {
        await db?.[Symbol.asyncDispose]();
      }, OPEN_TIMEOUT_MS);
      tests({
        name: engineName,
        get db() {
          if (db === undefined) throw new Error("the database is opened in beforeAll; use it inside a test");
          return db;
        },
      });
    });
  }
}
