import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, stat, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { sql } from "drizzle-orm";
import fc from "fast-check";
import { packTar, readTar } from "../../../src/store/embedded/tar.ts";
import { packTemplate, unpackTemplate } from "../../../src/store/embedded/template.ts";
import { grants, migrations } from "../../../src/store/migrations.ts";
import { brokenInvariants } from "../../../src/store/queries/invariants.ts";
import { startEmbedded } from "../../../src/store/start.ts";
import { cloneDirectory, testAssets } from "../../support/engines.ts";
import { entity, row } from "../../support/statements.ts";

let root = "";
let archive: Uint8Array = new Uint8Array();
beforeAll(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), "memory-industry-test-"));
  const clone = await cloneDirectory();
  archive = await packTemplate(clone, 1);
  rmSync(clone, { recursive: true, force: true });
}, 60_000);
afterAll(() => rmSync(root, { recursive: true, force: true }), 60_000);

const start = (directory: string) =>
  testAssets().then((assets) =>
    startEmbedded({ directory, assets, nodeName: "here", schema: { migrations, grants }, template: () => Promise.resolve(archive) }),
  );

test("an archive gives back the files it was made of", () => {
  const name = fc.array(fc.stringMatching(/^[a-z0-9_]{1,12}$/), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.uint8Array({ maxLength: 1_500 }))), (files) => {
      const entries = files.map(([file, bytes]) => ({ name: file, bytes }));
      expect([...readTar(packTar(entries))].map((entry) => ({ name: entry.name, bytes: new Uint8Array(entry.bytes) }))).toEqual(entries);
    }),
  );
});

test("a damaged archive and a name that leaves the directory are refused", () => {
  const good = packTar([{ name: "a", bytes: Uint8Array.of(1) }]);
  const damaged = new Uint8Array(good);
  damaged[3] = 66;
  expect(() => [...readTar(damaged)]).toThrow("damaged");
  expect(() => [...readTar(packTar([{ name: "../a", bytes: new Uint8Array() }]))]).toThrow("outside");
  expect(() => [...readTar(packTar([{ name: "/etc/x", bytes: new Uint8Array() }]))]).toThrow("outside");
  expect(() => [...readTar(good.subarray(0, 512))]).toThrow("ends early");
  expect(() => packTar([{ name: "x".repeat(101), bytes: new Uint8Array() }])).toThrow("too long");
});

test("a missing directory is made from the template, private, with an identity of its own, and then left alone", async () => {
  const [one, two] = [path.join(root, "one", "db"), path.join(root, "two", "db")];
  const first = await start(one);
  expect(first).toMatchObject({ created: true, report: { applied: [] } });
  expect((await stat(one)).mode & 0o777).toBe(0o700);
  expect((await stat(path.join(one, "PG_VERSION"))).mode & 0o777).toBe(0o600);
  expect(await first.db.asOwner(brokenInvariants)).toEqual([]);
  const name = String((await row(first.db, sql`select name from brain_entities where id = ${await entity(first.db)}::uuid`)).name);
  const identity = sql`select node_id, label from brain_node_identity`;
  const mine = await row(first.db, identity);
  await first.db[Symbol.asyncDispose]();

  const again = await start(one);
  expect(again.created).toBe(false);
  expect(await row(again.db, identity)).toEqual(mine);
  expect(await row(again.db, sql`select name from brain_entities`)).toEqual({ name });
  await again.db[Symbol.asyncDispose]();

  expect(await unpackTemplate(() => Promise.resolve(archive), two)).toBe(true);
  expect(await readdir(path.dirname(two))).toEqual(["db"]);
}, 60_000);

test("a directory that holds something else is left as it is", async () => {
  const directory = path.join(root, "other");
  await mkdir(directory);
  await writeFile(path.join(directory, "notes.txt"), "mine");
  await expect(unpackTemplate(() => Promise.resolve(archive), directory)).rejects.toThrow("not empty and holds no database");
  expect(await readdir(directory)).toEqual(["notes.txt"]);
});

test("a failure leaves nothing behind", async () => {
  const directory = path.join(root, "half", "db");
  await expect(unpackTemplate(() => Promise.resolve(archive.subarray(0, archive.length / 2)), directory)).rejects.toThrow(
    "could not be set up",
  );
  expect(await readdir(path.dirname(directory))).toEqual([]);
});

test("a directory that cannot be opened is said to be so, and stays", async () => {
  const directory = path.join(root, "broken", "db");
  await unpackTemplate(() => Promise.resolve(archive), directory);
  await writeFile(path.join(directory, "global", "pg_control"), "not a control file");
  await expect(start(directory)).rejects.toThrow("could not be opened");
  expect(existsSync(path.join(directory, "PG_VERSION"))).toBe(true);
}, 60_000);

test.skipIf(process.getuid?.() === 0)("a place that cannot be written is a clear error", async () => {
  const parent = path.join(root, "sealed");
  await mkdir(parent, { mode: 0o500 });
  await expect(unpackTemplate(() => Promise.resolve(archive), path.join(parent, "db"))).rejects.toThrow(
    "Check the free space and the rights",
  );
  await chmod(parent, 0o700);
});
