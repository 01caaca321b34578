import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { sql } from "drizzle-orm";
import { z } from "zod";
import { int8, query } from "../../src/store/codecs.ts";
import { migrate, migrationStatus } from "../../src/store/migrate.ts";
import { grants, migrations, readMigrations } from "../../src/store/migrations.ts";
import frozen from "../golden/migration-digests.json" with { type: "json" };
import { eachEngine, testScope } from "../support/engines.ts";

test("the embedded list is the drizzle directory", async () => {
  expect(await readMigrations(path.join(import.meta.dir, "../../drizzle"))).toEqual([...migrations]);
});

test("the numbers are unique and rise, and line 1 says what changes for the data", () => {
  const numbers = migrations.map((migration) => Number(migration.name.slice(0, 4)));
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  for (const migration of migrations) expect(migration.sql.split("\n", 1)[0]).toMatch(/^-- (New|Changes): .+\./);
});

test("a file that was released is as it was; a new one is frozen by `npm run gen`", async () => {
  const directory = path.join(import.meta.dir, "../../drizzle");
  const files = (await readdir(directory)).filter((file) => /^\d{4}_.+\.sql$/.test(file)).sort();
  const now = files.map((file) => {
    const text = readFileSync(path.join(directory, file), "utf8").replaceAll("\r\n", "\n");
    return [path.basename(file, ".sql"), createHash("sha256").update(text).digest("hex")];
  });
  expect(Object.fromEntries(now)).toEqual(frozen);
});

eachEngine("a migrated database", (engine) => {
  test("holds the 56 tables and the ledger", async () => {
    const tables = query(z.object({ n: int8 }), () => sql`select count(*) as n from pg_tables where schemaname = 'public'`);
    expect(await engine.db.read(testScope(), (tx) => tx.first(tables()))).toEqual({ n: 57 });
  });

  test("has every file applied and takes a second run as nothing to do", async () => {
    const report = await engine.db.asOwner((connection) => migrate(connection, migrations, grants));
    expect(report.applied).toEqual([]);
    const status = await engine.db.asOwner((connection) => migrationStatus(connection, migrations));
    expect(status.map((entry) => entry.state)).toEqual(migrations.map(() => "applied"));
  });
});
