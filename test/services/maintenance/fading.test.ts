/** `cuba_zafra decay` and `decay_episodes`: what time takes, and that it does not matter how often it runs. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import type { CallContext } from "../../../src/kernel/context.ts";
import { deadlineIn } from "../../../src/kernel/deadline.ts";
import { agedRows } from "../../support/aged.ts";
import { eachEngine } from "../../support/engines.ts";
import { agedEpisodes, fadedImportance } from "../../support/faded.ts";
import { graphOver, type Reply } from "../../support/graph.ts";
import { entity, project, row, rows } from "../../support/statements.ts";

eachEngine("fading by cuba_zafra", (engine) => {
  beforeEach(() => engine.db.reset());
  const caller = (id?: string, more: Partial<CallContext> = {}) =>
    graphOver(engine.db).caller(id === undefined ? { kind: "none" } : { kind: "project", id }, more);
  const zafra = (args: Reply, id?: string) => caller(id)("cuba_zafra", args);
  const { aged, all, importanceOf, backdate, reset } = agedRows(engine);
  beforeEach(reset);

  test.each([...fadedImportance, [0.8, "fact", 23 / 24, 0, 0.8] as const])(
    "decay: %d of a %s idle for %d days after %d uses → %d",
    async (importance, type, idle, uses, left) => {
      const id = await aged({ importance, type, idle, uses });
      const before = await row(engine.db, sql`select version, updated_at::text as at from brain_observations`);
      expect(await zafra({ action: "decay" })).toMatchObject({
        action: "decay",
        project_scoped: false,
        testing_effect: "Karpicke & Roediger 2008",
      });
      expect(await importanceOf(id)).toBeCloseTo(left, 4);
      expect(await row(engine.db, sql`select version, updated_at::text as at from brain_observations`)).toEqual(before);
    },
  );

  test("decay: running again at once changes nothing, and one run after eight days is eight runs a day apart", async () => {
    const often = await aged({ importance: 0.8, idle: 2 });
    await zafra({ action: "decay" });
    const once = await all();
    expect(await zafra({ action: "decay" })).toMatchObject({ decayed: 0 });
    expect(await all()).toEqual(once);
    for (let day = 0; day < 8; day++) {
      await backdate(1);
      await zafra({ action: "decay" });
    }
    const rarely = await aged({ importance: 0.8, idle: 10 });
    await zafra({ action: "decay" });
    expect(await importanceOf(often)).toBeCloseTo(await importanceOf(rarely), 4);
    expect(await importanceOf(often)).toBeCloseTo(0.635, 3);
  });

  test("decay: another half-life is for this call, other projects and what waits for review are left alone", async () => {
    const mine = await project(engine.db);
    const own = await aged({ importance: 0.8, idle: 10, project: mine });
    const theirs = await aged({ importance: 0.8, idle: 10, project: await project(engine.db) });
    const unread = await aged({ importance: 0.8, idle: 10, project: mine, trust: "quarantined" });
    expect(await zafra({ action: "decay", halflife_days: 10 }, mine)).toMatchObject({
      decayed: 1,
      project_scoped: true,
      halflife_days: 10,
    });
    expect(await importanceOf(own)).toBeCloseTo(0.4, 4);
    expect([await importanceOf(theirs), await importanceOf(unread)]).toEqual([0.8, 0.8]);
  });

  test("decay: a year in which nothing faded counts as a month, and an anchor in the future is mended", async () => {
    const [used, ahead] = [await aged({ importance: 0.8, idle: 2 }), await aged({ importance: 0.8, idle: 2 })];
    await zafra({ action: "decay" });
    await rows(engine.db, sql`update brain_calibration set value = value - 365 * 86400::float8 where key = 'decay_ran_at'`);
    await backdate(365);
    await rows(engine.db, sql`update brain_observations set last_decayed_at = now() + interval '300 days' where id = ${ahead}::uuid`);
    const before = await importanceOf(used);
    await zafra({ action: "decay" });
    expect(await importanceOf(used)).toBeCloseTo(before / 2, 2);
    expect(await importanceOf(ahead)).toBeCloseTo(before, 4);
    expect(await row(engine.db, sql`select count(*)::int as n from brain_observations where last_decayed_at > now()`)).toEqual({ n: 0 });
  });

  test("decay: a call whose time is over says so, and the next one goes on", async () => {
    const id = await aged({ importance: 0.8, idle: 30 });
    const late = deadlineIn(0);
    expect(await caller(undefined, { deadline: late })("cuba_zafra", { action: "decay" })).toMatchObject({ decayed: 0, complete: false });
    expect(await zafra({ action: "decay" })).toMatchObject({ decayed: 1 });
    expect(await importanceOf(id)).toBeCloseTo(0.4, 4);
  });

  test.each([...agedEpisodes, [0.8, 1 / 48, 0.8] as const])(
    "decay_episodes: %d after %d days is %d, however often it runs",
    async (initial, days, left) => {
      const owner = await entity(engine.db);
      await rows(
        engine.db,
        sql`insert into brain_episodes (entity_id, content, importance, initial_importance, created_at)
          values (${owner}::uuid, 'a rollback', ${initial}::float8, ${initial}::float8, now() - ${days}::float8 * interval '1 day')`,
      );
      const changed = left === initial ? 0 : 1;
      expect(await zafra({ action: "decay_episodes" })).toMatchObject({ action: "decay_episodes", decayed: changed, c: 0.1, beta: 0.5 });
      expect(await zafra({ action: "decay_episodes" })).toMatchObject({ decayed: 0 });
      expect(Number((await row(engine.db, sql`select importance from brain_episodes`)).importance)).toBeCloseTo(left, 4);
    },
  );
});
