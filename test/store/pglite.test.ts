import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { sql } from "drizzle-orm";
import { newId } from "../../src/kernel/ids.ts";
import { type EmbeddedDatabase, openEmbedded } from "../../src/store/pglite.ts";
import { cloneDirectory, testAssets, testScope } from "../support/engines.ts";
import { entity, row, rows } from "../support/statements.ts";

let directory = "";
let db: EmbeddedDatabase;
const open = async () => openEmbedded({ directory, assets: await testAssets(), nodeName: "test" });
beforeAll(async () => {
  directory = await cloneDirectory();
  db = await open();
}, 60_000);
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
}, 60_000);

test("the engine syncs, in UTC, on PostgreSQL 18, and says what it can do", async () => {
  expect(
    await row(
      db,
      sql`select current_setting('fsync') as fsync, current_setting('full_page_writes') as pages, current_setting('timezone') as zone`,
    ),
  ).toEqual({ fsync: "on", pages: "on", zone: "UTC" });
  expect(db.traits).toMatchObject({ concurrent: false, crossProcessNotify: false });
  expect(Math.floor(db.traits.serverVersion / 10_000)).toBe(18);
});

test("the database starts without a vector index", async () => {
  expect(await rows(db, sql`select indexname from pg_indexes where indexdef like '%hnsw%'`)).toEqual([]);
});

test("statements stay right when more of them are prepared than are kept", async () => {
  for (let index = 0; index < 300; index++) {
    expect(await row(db, sql`select ${sql.raw(String(index))} + ${1}::int as n`)).toEqual({ n: index + 1 });
  }
  expect(await row(db, sql`select ${sql.raw("0")} + ${1}::int as n`)).toEqual({ n: 1 });
});

test("a prepared statement outlives a change of the table under it", async () => {
  const count = () => row(db, sql`select count(*) as n from brain_wm where content <> ${newId()}::text`);
  await count();
  await db.asOwner((owner) => owner.script("alter table brain_wm add column extra int; alter table brain_wm drop column extra"));
  expect(await count()).toEqual({ n: "0" });
});

test("owner work that fails leaves no open transaction", async () => {
  await expect(db.asOwner((owner) => owner.script("begin; select 1/0"))).rejects.toThrow("does not fit its type");
  expect(await row(db, sql`select current_user::text as role`)).toEqual({ role: "cuba_app" });
});

test("writes at once are all kept, in the order of their arrival", async () => {
  const seen: number[] = [];
  await Promise.all(Array.from({ length: 50 }, (_, index) => db.write(testScope(), async () => void seen.push(index))));
  expect(seen).toEqual(Array.from({ length: 50 }, (_, index) => index));
});

test("what was written is there after a clean close, and a checkpoint frees the log", async () => {
  const id = await entity(db, null, "kept across a restart");
  await db.checkpoint();
  await db[Symbol.asyncDispose]();
  db = await open();
  expect(await rows(db, sql`select id from brain_entities where name = 'kept across a restart'`)).toEqual([{ id }]);
  const segments = () => readdirSync(path.join(directory, "pg_wal")).filter((name) => /^[0-9A-F]{24}$/.test(name)).length;
  for (let round = 0; round < 6; round++) {
    for (let segment = 0; segment < 4; segment++) {
      await entity(db);
      await db.asOwner((owner) => owner.query("select pg_switch_wal()"));
    }
    await db.checkpoint();
  }
  expect(segments()).toBeLessThan(12); // 24 segments were begun
}, 60_000);

test("an empty directory is not turned into a database by chance", async () => {
  const empty = await mkdtemp(path.join(os.tmpdir(), "memory-industry-test-"));
  await expect(openEmbedded({ directory: empty, assets: await testAssets(), nodeName: "x" })).rejects.toThrow("holds no database");
  expect(readdirSync(empty)).toEqual([]);
  rmSync(empty, { recursive: true });
});
