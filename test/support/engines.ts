/**
 * Databases for tests, as `cuba_app`: an owner proves nothing about isolation.
 * PGlite: a clone of a directory that is initialised and migrated once per schema and machine. PostgreSQL: a database per test file, cloned
 * from a template, where `MEMORY_INDUSTRY_TEST_PG` holds an admin URL.
 */
import { afterAll, beforeAll, describe } from "bun:test";
import { constants, existsSync } from "node:fs";
import { cp, mkdtemp, rename, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import type { CallScope } from "../../src/kernel/context.ts";
import type { OwnerAccess } from "../../src/store/connection.ts";
import { type EngineAssets, installedAssets } from "../../src/store/embedded/assets.ts";
import { digestOf, migrate } from "../../src/store/migrate.ts";
import { grants, migrations } from "../../src/store/migrations.ts";
import { openEmbedded } from "../../src/store/pglite.ts";
import type { Database } from "../../src/store/port.ts";

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

const schemaDigest = new Bun.CryptoHasher("sha256")
  .update([...migrations.map(digestOf), grants, import.meta.resolve("@electric-sql/pglite")].join("\n"))
  .digest("hex")
  .slice(0, 16);

let assets: Promise<EngineAssets> | undefined;
/** Compiled once a process. */
export const testAssets = (): Promise<EngineAssets> => (assets ??= installedAssets());

const tempPrefix = path.join(os.tmpdir(), "memory-industry-test-");

/** The migrated directory of this schema; made by whoever comes first, in a place of its own, then renamed. */
export async function migratedDirectory(): Promise<string> {
  const ready = `${tempPrefix}${schemaDigest}-${os.userInfo().uid}`;
  if (existsSync(ready)) return ready;
  const making = await mkdtemp(tempPrefix);
  const db = await openEmbedded({ directory: making, assets: await installedAssets({ initdb: true }), nodeName: "test", create: true });
  await db.asOwner((connection) => migrate(connection, migrations, grants));
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
  await cp(await migratedDirectory(), directory, { recursive: true, mode: constants.COPYFILE_FICLONE });
  return directory;
}

/** What a reset empties: everything of ours but the ledger. The caller is a superuser, hence the audit override. */
const resetScript = `
  begin;
  select set_config('app.audit_override', 'on', true);
  do $$ begin
    execute (select 'truncate ' || string_agg(format('%I', relname), ', ') || ' restart identity cascade'
             from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'brain_migrations');
  end $$;
  insert into brain_source_trust (source) values ('agent'), ('error_detection'), ('user'), ('consolidation'), ('inference');
  insert into brain_node_identity (label) values ('test');
  commit;`;

const asTestDatabase = (engine: EngineName, db: Database & OwnerAccess, dispose: () => Promise<void>): TestDatabase => ({
  engine,
  traits: db.traits,
  read: (ctx, work) => db.read(ctx, work),
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
export async function openTestDatabase(options: { readonly exactLimit?: number } = {}): Promise<TestDatabase> {
  const directory = await cloneDirectory();
  const db = await openEmbedded({ directory, assets: await testAssets(), nodeName: "test", ...options });
  return asTestDatabase("pglite", db, () => rm(directory, { recursive: true, force: true }));
}

const openers: readonly { readonly name: EngineName; readonly open: (() => Promise<TestDatabase>) | undefined }[] = [
  { name: "pglite", open: () => openTestDatabase() },
];

/** Longest time an engine may need to be ready in `beforeAll`, milliseconds: the first clone of a schema runs initdb. */
const OPEN_TIMEOUT_MS = 60_000;

/** Runs the same tests on every engine that is there, one database a call. */
export function eachEngine(name: string, tests: (engine: TestEngine) => void): void {
  for (const { name: engineName, open } of openers) {
    if (open === undefined) continue;
    describe(`${name} (${engineName})`, () => {
      let db: TestDatabase | undefined;
      beforeAll(async () => {
        db = await open();
      }, OPEN_TIMEOUT_MS);
      afterAll(async () => {
        await db?.[Symbol.asyncDispose]();
      });
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
