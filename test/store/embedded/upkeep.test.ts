import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { sql } from "drizzle-orm";
import type { Connection } from "../../../src/store/connection.ts";
import { createUpkeep } from "../../../src/store/embedded/upkeep.ts";
import { openEmbedded } from "../../../src/store/pglite.ts";
import { cloneDirectory, testAssets } from "../../support/engines.ts";
import { entity, rows } from "../../support/statements.ts";

const MB = 1024 * 1024;

/** An upkeep over a connection that answers with the given tables. */
function upkeepOf(tables: { stale?: string; dead?: string }, volume: number) {
  const ran: string[] = [];
  const log = {
    volume,
    forgetVolume: () => {
      log.volume = 0;
    },
  };
  const connection: Connection = {
    query: async (text) => {
      const name = text.includes("n_dead_tup") ? tables.dead : tables.stale;
      return { rows: name === undefined ? [] : [{ name }], command: "SELECT", count: 1 };
    },
    script: async (text) => void ran.push(text),
  };
  return { upkeep: createUpkeep({ connection, take: (work) => work(), log }), ran, log };
}

test("nothing is done while calls come in, but for a log that has grown too far", async () => {
  const busy = upkeepOf({ stale: "a", dead: "b" }, 40 * MB);
  expect(await busy.upkeep.step(100)).toEqual([]);
  busy.log.volume = 128 * MB;
  expect(await busy.upkeep.step(100)).toEqual(["checkpoint"]);
  expect(busy.log.volume).toBe(0);
});

test("a pause is used for the checkpoint first, then for one table at a time", async () => {
  const { upkeep, ran } = upkeepOf({ stale: "brain_entities", dead: "brain_observations" }, 32 * MB);
  await upkeep.step(2_000);
  await upkeep.step(2_000);
  expect(ran).toEqual(["checkpoint", "analyze brain_entities"]);
});

test("a VACUUM waits for a long pause", async () => {
  const { upkeep } = upkeepOf({ dead: "brain_observations" }, 0);
  expect(await upkeep.step(29_000)).toEqual([]);
  expect(await upkeep.step(30_000)).toEqual(["vacuum (analyze) brain_observations"]);
});

test("nothing runs once it is stopped", async () => {
  const { upkeep } = upkeepOf({ stale: "a" }, 500 * MB);
  upkeep.stop();
  expect(await upkeep.step(60_000)).toEqual([]);
});

test("the engine's own counters lead to the tables that need it, until nothing is due", async () => {
  const directory = await cloneDirectory();
  const db = await openEmbedded({ directory, assets: await testAssets(), nodeName: "test" });
  /** All that is due after `quietMs`. The engine adds its counters up at most once a second; a test asks for them now. */
  const tidied = async (quietMs: number) => {
    const done: string[] = [];
    for (;;) {
      await db.asOwner((owner) => owner.query("select pg_stat_force_next_flush()"));
      const next = await db.tidy(quietMs);
      if (next.length === 0) return done;
      expect(done).not.toContain(next[0] ?? "");
      done.push(...next);
    }
  };
  try {
    await tidied(60_000); // what the migrations left
    const id = await entity(db);
    await rows(
      db,
      sql`insert into brain_observations (entity_id, content) select ${id}::uuid, 'row ' || n from generate_series(1, 200) as n`,
    );
    expect(await tidied(2_000)).toContain("analyze brain_observations");
    await rows(db, sql`update brain_observations set importance = 0.4`);
    expect(await tidied(60_000)).toContain("vacuum (analyze) brain_observations");
    expect(await tidied(60_000)).toEqual([]);
  } finally {
    await db[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  }
}, 60_000);

test("a closed database says so, to those who come late", async () => {
  const directory = await cloneDirectory();
  const db = await openEmbedded({ directory, assets: await testAssets(), nodeName: "test" });
  const early = entity(db);
  const closing = db[Symbol.asyncDispose]();
  await expect(entity(db)).rejects.toThrow("The database is closed");
  await closing;
  expect(typeof (await early)).toBe("string");
  await expect(entity(db)).rejects.toThrow("The database is closed");
  rmSync(directory, { recursive: true, force: true });
}, 60_000);
