/** Who speaks of an entity is looked for in slices before the transaction that erases: what is written in between is found all the same. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { createForgetting } from "../../src/services/forgetting.ts";
import type { Database, Tx } from "../../src/store/port.ts";
import { eachEngine } from "../support/engines.ts";
import { callContext } from "../support/search.ts";
import { entity, observation, rows, rowsIn } from "../support/statements.ts";

const NAME = "Zyxomira Quandt";

eachEngine("cuba_forget beside others", (engine) => {
  beforeEach(() => engine.db.reset());
  const count = async (table: string) => (await rows(engine.db, sql`select 1 from ${sql.raw(table)}`)).length;

  /** Runs `work` when everything was looked through and nothing done yet. @returns how often others could go first. */
  const forgetWhile = async (work: () => Promise<unknown>) => {
    let [turns, last] = [0, Number.POSITIVE_INFINITY];
    const forgetting = createForgetting({
      db: engine.db,
      audit: { record: async () => ({ id: 1, hash: "" }) },
      onErased: () => {},
      paceOf: () => ({
        now: () => 0,
        turn: async () => {
          if (++turns === last) await work();
        },
      }),
    });
    await forgetting.plan(callContext(), NAME);
    [turns, last] = [0, turns];
    const erasure = await forgetting.forget(callContext(), NAME, undefined);
    return { erasure, turns };
  };

  test("texts are looked through in slices, and what is written or rewritten in between is found all the same", async () => {
    const [home, other] = [await entity(engine.db, null, NAME), await entity(engine.db, null, "the office")];
    await rows(engine.db, sql`insert into brain_errors (error_type, error_message) values ('T', 'of somebody else'), ('T', 'rewritten')`);
    const kept = await observation(engine.db, other, { content: "it has a corner" });
    const { erasure, turns } = await forgetWhile(async () => {
      await observation(engine.db, home, { content: "a text of hers" });
      await rows(engine.db, sql`insert into brain_sessions (session_name, goals) values (${`with ${NAME}`}::text, '[]')`);
      await rows(engine.db, sql`update brain_errors set error_message = ${`of ${NAME}`}::text where error_message = 'rewritten'`);
      for (const content of [`${NAME} sits there`, `it is of ${NAME}`])
        await rows(engine.db, sql`update brain_observations set content = ${content}::text where id = ${kept}::uuid returning id`);
    });
    // Entities, errors, observations, and once more before the erasure.
    expect(turns).toBeGreaterThanOrEqual(4);
    expect(erasure).toMatchObject({
      counts: { brain_entities: 1, brain_observations: 1, brain_errors: 1, brain_sessions: 1, previous_versions: 1 },
      remaining: [kept],
    });
    expect(await rows(engine.db, sql`select error_message as text from brain_errors`)).toEqual([{ text: "of somebody else" }]);
    const histories = await rows(
      engine.db,
      sql`select content, jsonb_path_query_array(previous_versions, '$[*].content') as old from brain_observations`,
    );
    expect(histories).toEqual([{ content: `it is of ${NAME}`, old: ["it has a corner"] }]);
    expect(await count("brain_sessions")).toBe(0);
  });

  test("what comes into a history between the look at it and the erasure stays there", async () => {
    await entity(engine.db, null, NAME);
    const kept = await observation(engine.db, await entity(engine.db, null, "the office"), { content: `${NAME} sits there` });
    const rewrite = (content: string) =>
      sql`update brain_observations set content = ${content}::text where id = ${kept}::uuid returning id`;
    await rows(engine.db, rewrite("it has a corner"));
    let rewritten = false;
    /** The first statement that changes something comes behind somebody else's. */
    const behindAnother = (tx: Tx): Tx => ({
      all: (query) => tx.all(query),
      first: (query) => tx.first(query),
      savepoint: (work) => tx.savepoint(work),
      run: async (statement) => {
        if (!rewritten) await rowsIn(tx, rewrite("it is round"));
        rewritten = true;
        return await tx.run(statement);
      },
    });
    const { traits, read, tryLock, listen } = engine.db;
    const db: Database = {
      traits,
      read,
      write: (ctx, work, limits) => engine.db.write(ctx, (tx) => work(behindAnother(tx)), limits),
      tryLock,
      listen,
      [Symbol.asyncDispose]: async () => {},
    };
    const forgetting = createForgetting({
      db,
      audit: { record: async () => ({ id: 1, hash: "" }) },
      onErased: () => {},
      paceOf: () => ({ now: () => 0, turn: async () => {} }),
    });
    expect((await forgetting.forget(callContext(), NAME, undefined)).counts).toEqual({ brain_entities: 1, previous_versions: 1 });
    expect(await rows(engine.db, sql`select content, previous_versions -> 0 ->> 'content' as old from brain_observations`)).toEqual([
      { content: "it is round", old: "it has a corner" },
    ]);
  });

  test("a name that it gets in between is looked for as well", async () => {
    const home = await entity(engine.db, null, NAME);
    await rows(engine.db, sql`insert into brain_errors (error_type, error_message) values ('T', 'by zyx the lead')`);
    const { erasure } = await forgetWhile(() =>
      rows(engine.db, sql`insert into brain_entity_aliases (entity_id, alias_text) values (${home}::uuid, 'Zyx the Lead')`),
    );
    expect(erasure.counts).toEqual({ brain_entities: 1, brain_entity_aliases: 1, brain_errors: 1 });
    expect(await count("brain_errors")).toBe(0);
  });
});
