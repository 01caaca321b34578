import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { sql } from "drizzle-orm";
import { z } from "zod";
import { freeBytesOf, requireRoom } from "../../../src/store/embedded/room.ts";
import { type EmbeddedDatabase, openEmbedded } from "../../../src/store/pglite.ts";
import { cloneDirectory, testAssets, testScope } from "../../support/engines.ts";
import { entity } from "../../support/statements.ts";

const MB = 1024 * 1024;
let directory = "";
let db: EmbeddedDatabase;
let free: () => number | undefined = () => undefined;
beforeAll(async () => {
  directory = await cloneDirectory();
  db = await openEmbedded({ directory, assets: await testAssets(), nodeName: "test", freeBytes: () => free() });
}, 60_000);
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
}, 60_000);

const names = () =>
  db.read(testScope(), (tx) =>
    tx.all({ schema: z.object({ name: z.string() }), statement: sql`select name from brain_entities order by name` }),
  );

test("below 16 MB no write begins, reading goes on, and with room again writing does too", async () => {
  free = () => 100 * MB;
  await entity(db, null, "before");
  free = () => 15.96 * MB;
  await expect(entity(db, null, "refused")).rejects.toThrow(
    "The disk of the data directory is full: 16.0 MiB are free, and no write begins below 16.0 MiB. Nothing was written; reading still works.",
  );
  free = () => 0;
  await expect(entity(db, null, "refused")).rejects.toThrow("0.0 MiB are free");
  expect(await names()).toEqual([{ name: "before" }]);
  expect(await db.tidy(60_000)).toEqual([]);
  free = () => 16 * MB;
  await entity(db, null, "later");
  expect(await names()).toEqual([{ name: "before" }, { name: "later" }]);
});

test("log that a checkpoint gives back counts as room", async () => {
  let asked = 0;
  free = () => 100 * MB;
  await db.asOwner((owner) => owner.script("create table filler (x text); alter table filler alter column x set storage external"));
  await db.asOwner((owner) => owner.script("insert into filler select repeat('0123456789', 60000) from generate_series(1, 10)"));
  // Little before the checkpoint, enough after it.
  free = () => (++asked === 1 ? 10 * MB : 100 * MB);
  await entity(db, null, "after the checkpoint");
  expect(asked).toBe(2);
});

test("a file system that does not say how much is free is written to", () => {
  expect(() => requireRoom(undefined)).not.toThrow();
  expect(freeBytesOf("/nowhere/at/all")()).toBeUndefined();
  expect(freeBytesOf(directory)()).toBeGreaterThan(0);
});
