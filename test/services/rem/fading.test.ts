/** What fades in a cycle, what does not, and that it does not matter how often the cycle runs. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { eachEngine, type TestDatabase } from "../../support/engines.ts";
import { only, ran, remOver } from "../../support/rem.ts";
import { entity, observation, row, rows } from "../../support/statements.ts";

interface Aged {
  readonly importance: number;
  readonly type: string;
  readonly idleDays: number;
  readonly accesses?: number;
}

/** An observation that was last used, and last faded, so many days ago. */
async function aged(db: TestDatabase, entityId: string, { importance, type, idleDays, accesses = 0 }: Aged): Promise<string> {
  const id = await observation(db, entityId, { type });
  await rows(
    db,
    sql`update brain_observations set importance = ${importance}::float8, access_count = ${accesses}::int,
          last_accessed = now() - ${idleDays}::float8 * interval '1 day', last_decayed_at = now() - ${idleDays}::float8 * interval '1 day'
        where id = ${id}::uuid returning id`,
  );
  return id;
}
const importanceOf = async (db: TestDatabase, id: string) =>
  Number((await row(db, sql`select importance from brain_observations where id = ${id}::uuid`)).importance);
/** The clock of every observation moved back, which is a day that passes. */
const daysPass = (db: TestDatabase, days: number) =>
  rows(
    db,
    sql`update brain_observations set last_accessed = last_accessed - ${days}::float8 * interval '1 day',
          last_decayed_at = last_decayed_at - ${days}::float8 * interval '1 day' returning id`,
  );

eachEngine("fading in a cycle", (engine) => {
  beforeEach(() => engine.db.reset());
  const cycle = () => ran(remOver(engine.db, { phases: only("decay", "episodes") }));

  test("importance, type, idle days and accesses give what the table says", async () => {
    const { db } = engine;
    const about = await entity(db);
    const cases: [Aged, number][] = [
      [{ importance: 0.8, type: "fact", idleDays: 30 }, 0.4],
      [{ importance: 0.8, type: "fact", idleDays: 30, accesses: 9 }, 0.6485],
      [{ importance: 0.5, type: "context", idleDays: 7 }, 0.25],
      [{ importance: 0.7, type: "error", idleDays: 14, accesses: 3 }, 0.5235],
      [{ importance: 0.02, type: "fact", idleDays: 365 }, 0.01],
      [{ importance: 0.75, type: "lesson", idleDays: 365 }, 0.75],
      [{ importance: 0.8, type: "decision", idleDays: 365 }, 0.8],
      [{ importance: 0.8, type: "fact", idleDays: 23 / 24 }, 0.8],
    ];
    const ids = await Promise.all(cases.map(([given]) => aged(db, about, given)));
    const record = await cycle();
    for (const [at, [, wanted]] of cases.entries()) expect(await importanceOf(db, ids[at] ?? "")).toBeCloseTo(wanted, 4);
    expect(record.decayedCount).toBe(5);
    expect(record.error).toBeNull();
  });

  test("a hundred cycles in a row are one", async () => {
    const { db } = engine;
    const id = await aged(db, await entity(db), { importance: 0.8, type: "fact", idleDays: 30 });
    await cycle();
    const once = await importanceOf(db, id);
    let further = 0;
    for (let run = 0; run < 99; run++) further += (await cycle()).decayedCount;
    expect(further).toBe(0);
    expect(await importanceOf(db, id)).toBe(once);
  }, 60_000);

  test("eight cycles a day apart are one after eight days", async () => {
    const { db } = engine;
    const about = await entity(db);
    const daily = await aged(db, about, { importance: 0.8, type: "fact", idleDays: 1, accesses: 9 });
    await cycle();
    for (let day = 2; day <= 8; day++) {
      await daysPass(db, 1);
      await cycle();
    }
    const atOnce = await aged(db, about, { importance: 0.8, type: "fact", idleDays: 8, accesses: 9 });
    await cycle();
    expect(await importanceOf(db, daily)).toBeCloseTo(await importanceOf(db, atOnce), 4);
  });

  test("a clock that jumps back changes nothing, and one that jumps a year ahead floors nothing below 0.01", async () => {
    const { db } = engine;
    const about = await entity(db);
    const future = await aged(db, about, { importance: 0.8, type: "fact", idleDays: -1 });
    const past = await aged(db, about, { importance: 0.8, type: "context", idleDays: 366 });
    await cycle();
    expect(await importanceOf(db, future)).toBe(0.8);
    expect(await importanceOf(db, past)).toBe(0.01);
  });

  test("fading is no change: version, update time and embedding stay", async () => {
    const { db } = engine;
    const id = await aged(db, await entity(db), { importance: 0.8, type: "fact", idleDays: 30 });
    const before = await row(db, sql`select version, updated_at from brain_observations where id = ${id}::uuid`);
    await cycle();
    expect(await row(db, sql`select version, updated_at from brain_observations where id = ${id}::uuid`)).toEqual(before);
  });

  test("while a session is open, an entity that was touched two hours ago is spared; without one it fades", async () => {
    const { db } = engine;
    const about = await entity(db);
    const other = await entity(db);
    const [old, elsewhere] = [
      await aged(db, about, { importance: 0.8, type: "fact", idleDays: 30 }),
      await aged(db, other, { importance: 0.8, type: "fact", idleDays: 30 }),
    ];
    const fresh = await observation(db, about);
    await rows(db, sql`update brain_observations set created_at = now() - interval '2 hours' where id = ${fresh}::uuid returning id`);
    await rows(db, sql`update brain_observations set created_at = now() - interval '30 days' where id <> ${fresh}::uuid returning id`);
    await rows(db, sql`insert into brain_sessions (session_name) values ('at work') returning id`);
    await cycle();
    expect(await importanceOf(db, old)).toBe(0.8);
    expect(await importanceOf(db, elsewhere)).toBeCloseTo(0.4, 4);
    await rows(db, sql`update brain_sessions set ended_at = now() returning id`);
    await cycle();
    expect(await importanceOf(db, old)).toBeCloseTo(0.4, 4);
  });

  test("more rows than one transaction rewrites all fade", async () => {
    const { db } = engine;
    const about = await entity(db);
    await db.asOwner((owner) =>
      owner.script(`insert into brain_observations (entity_id, content, importance, last_accessed, last_decayed_at)
        select '${about}', 'note ' || i, 0.8, now() - interval '30 days', now() - interval '30 days' from generate_series(1, 230) as i`),
    );
    expect((await cycle()).decayedCount).toBe(230);
    expect((await row(db, sql`select count(*)::int as n from brain_observations where importance between 0.39 and 0.41`)).n).toBe(230);
  });

  test("episodes fade from what they began with, by their age alone", async () => {
    const { db } = engine;
    const about = await entity(db);
    const wanted: [number, number, number][] = [
      [0.5, 10, 0.3536],
      [0.5, 30, 0.25],
      [0.5, 90, 0.1581],
      [0.5, 365, 0.0816],
      [0.8, 10, 0.5657],
      [0.5, 0.5 / 24, 0.5],
    ];
    for (const [initial, days] of wanted)
      await rows(
        db,
        sql`insert into brain_episodes (entity_id, content, importance, initial_importance, created_at)
            values (${about}::uuid, ${`${initial} after ${days}`}::text, ${initial}::float8, ${initial}::float8, now() - ${days}::float8 * interval '1 day') returning id`,
      );
    await cycle();
    for (const [initial, days, left] of wanted) {
      const found = await row(db, sql`select importance from brain_episodes where content = ${`${initial} after ${days}`}::text`);
      expect(Number(found.importance)).toBeCloseTo(left, 4);
    }
    expect((await cycle()).phases["episodes"]?.count).toBe(0);
  });
});
