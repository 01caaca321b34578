import { beforeEach, expect, test } from "bun:test";
import { type Migration, migrate, migrationStatus, verifyMigrations } from "../../src/store/migrate.ts";
import { eachEngine, openTestServerDatabase } from "../support/engines.ts";

const NO_GRANTS = "select 1";
const one: Migration = { name: "0001_one", sql: "-- New: one.\ncreate table trial_one (n int);" };
const two: Migration = { name: "0002_two", sql: "-- New: two.\ncreate table trial_two (n int);\ninsert into trial_two values (1);" };
const three: Migration = { name: "0003_three", sql: "-- New: three.\ncreate table trial_three (n int);" };

eachEngine("the migration runner", (engine) => {
  beforeEach(() =>
    engine.db.asOwner((owner) =>
      owner.script("drop table if exists brain_migrations, trial_one, trial_two, trial_three, trial_broken cascade"),
    ),
  );
  const run = (list: readonly Migration[], grants = NO_GRANTS) => engine.db.asOwner((owner) => migrate(owner, list, grants));
  const status = async (list: readonly Migration[]) =>
    (await engine.db.asOwner((owner) => migrationStatus(owner, list))).map(({ name, state }) => `${name} ${state}`);
  const ledger = (script: string) => engine.db.asOwner((owner) => owner.script(script));
  const exists = async (table: string) =>
    (await engine.db.asOwner((owner) => owner.query("select to_regclass($1::text) is not null as found", [table]))).rows[0]?.found;

  test("applies what is missing, in order, once", async () => {
    expect(await status([one, two])).toEqual(["0001_one pending", "0002_two pending"]);
    expect((await run([one])).applied).toEqual(["0001_one"]);
    expect((await run([one, two])).applied).toEqual(["0002_two"]);
    expect((await run([one, two])).applied).toEqual([]);
    expect(await status([one, two])).toEqual(["0001_one applied", "0002_two applied"]);
  });

  test("applies a file that was merged late, whatever its number", async () => {
    await run([one, three]);
    expect((await run([one, two, three])).applied).toEqual(["0002_two"]);
  });

  test("refuses an edited file and takes the same file with CRLF line ends", async () => {
    await run([one]);
    expect((await run([{ ...one, sql: one.sql.replaceAll("\n", "\r\n") }])).applied).toEqual([]);
    const edited = { ...one, sql: `${one.sql} -- later` };
    await expect(run([edited, two])).rejects.toThrow("0001_one was applied in another form");
    expect(await exists("trial_two")).toBe(false);
    expect(await status([edited])).toEqual(["0001_one edited"]);
  });

  test("refuses a database that is newer than the program, naming both", async () => {
    await run([one, two]);
    await expect(run([one])).rejects.toThrow("it has 0002_two, this build ends at 0001_one");
    expect(await status([one])).toEqual(["0001_one applied", "0002_two unknown"]);
  });

  test("stops at a row without success", async () => {
    await run([one]);
    await ledger("update brain_migrations set success = false");
    await expect(run([one, two])).rejects.toThrow("0001_one is recorded without success");
    expect(await exists("trial_two")).toBe(false);
  });

  test("rolls a failing file back with its ledger row, keeps those before it, and goes on where it stopped", async () => {
    const broken: Migration = {
      name: "0002_broken",
      sql: "create table trial_broken (n int); insert into trial_broken values ('secret words');",
    };
    const failure = await run([one, broken]).catch((error: unknown) => error);
    expect(String(failure)).toContain("The migration 0002_broken failed (SQLSTATE 22P02). It was rolled back");
    expect(String(failure)).not.toContain("secret");
    expect(await exists("trial_broken")).toBe(false);
    expect(await exists("trial_one")).toBe(true);
    expect((await run([one, { ...broken, sql: "create table trial_broken (n int);" }])).applied).toEqual(["0002_broken"]);
  });

  test("runs the grants each time, after the files", async () => {
    const grants = "insert into trial_two values (2)";
    await run([one, two], grants);
    await run([one, two], grants);
    const { rows } = await engine.db.asOwner((owner) => owner.query("select count(*)::int as n from trial_two"));
    expect(rows).toEqual([{ n: 3 }]);
  });

  test("frees its lock after success and failure", async () => {
    await run([one]);
    await run([{ ...one, sql: "edited" }]).catch(() => undefined);
    const { rows } = await engine.db.asOwner((owner) =>
      owner.query("select count(*)::int as n from pg_locks where locktype = 'advisory' and objid = 1896218640"),
    );
    expect(rows).toEqual([{ n: 0 }]);
  });

  test("verifies instead of migrating: none recorded, behind, newer, edited, right", async () => {
    const verify = (list: readonly Migration[]) => engine.db.asOwner((owner) => verifyMigrations(owner, list));
    await expect(verify([one])).rejects.toThrow("No migration is recorded in this database; this build needs 0001_one");
    await run([one]);
    await verify([one]);
    await expect(verify([one, two])).rejects.toThrow("it ends at 0001_one, this build needs 0002_two");
    await expect(verify([{ ...one, sql: "edited" }])).rejects.toThrow("in another form");
    await run([one, two]);
    await expect(verify([one])).rejects.toThrow("The database is newer than this program");
    expect(await exists("trial_three")).toBe(false);
  });
});

const server = process.env.MEMORY_INDUSTRY_TEST_PG;

test.skipIf(!server)("two programs that start at once migrate once (PostgreSQL)", async () => {
  await using db = await openTestServerDatabase(server ?? "");
  await db.asOwner((owner) => owner.script("drop table brain_migrations cascade"));
  const slow: Migration = { ...one, sql: `${one.sql} select pg_sleep(0.2);` };
  const reports = await Promise.all([0, 1].map(() => db.asOwner((owner) => migrate(owner, [slow, two], NO_GRANTS))));
  expect(reports.map((report) => report.applied.length).sort()).toEqual([0, 2]);
});
