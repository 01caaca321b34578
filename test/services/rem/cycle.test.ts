/** The cycle itself: one at a time, every phase on its own, a record whatever happens, and no harm from an end at any moment. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import type { Phase } from "../../../src/services/rem/phase.ts";
import { phases } from "../../../src/services/rem/registry.ts";
import type { Database } from "../../../src/store/port.ts";
import { brokenInvariants } from "../../../src/store/queries/invariants.ts";
import { colliding } from "../../support/colliding.ts";
import { eachEngine, type TestDatabase, testScope } from "../../support/engines.ts";
import { only, ran, remOver } from "../../support/rem.ts";
import { entity, observation, row, rows } from "../../support/statements.ts";

/** Other work under the name of a phase, recorded in the columns of that phase. */
const phase = (name: string, run: Phase["run"]): Phase => ({ ...phases.find((each) => each.name === name), name, run });
const counts = (name: string, count: number) => phase(name, async () => ({ count }));
const fails = (name: string) =>
  phase(name, async () => {
    throw new Error("out of cheese");
  });

/** Something for every phase to do. */
async function fill(db: TestDatabase): Promise<void> {
  const [a, b, c] = [
    await entity(db, null, "billing service"),
    await entity(db, null, "Billing Service!"),
    await entity(db, null, "cache"),
  ];
  const id = async (statement: ReturnType<typeof sql>) => String((await row(db, statement)).id);
  const sessions = [];
  for (let at = 0; at < 3; at++)
    sessions.push(await id(sql`insert into brain_sessions (session_name, ended_at) values ('s', now()) returning id`));
  for (const [at, entities] of [[a, c], [a, c], [b]].entries())
    for (const about of entities)
      await rows(
        db,
        sql`insert into brain_observations (entity_id, content, session_id, importance, last_accessed, last_decayed_at)
            values (${about}::uuid, ${`worked in ${at}`}::text, ${sessions[at] ?? null}::uuid, 0.8, now() - interval '30 days', now() - interval '30 days') returning id`,
      );
  await observation(db, a, { content: "a long story ".repeat(300) });
  await rows(
    db,
    sql`insert into brain_episodes (entity_id, content, created_at) values (${a}::uuid, 'it happened', now() - interval '10 days') returning id`,
  );
  await rows(
    db,
    sql`insert into brain_wm (client_key, content, ttl_seconds, created_at, expires_at)
        values ('c', 'over', 1, now() - interval '2 seconds', now() - interval '1 second') returning id`,
  );
}

/** What the cycle leaves behind, without ids and times. */
const state = async (db: TestDatabase) => ({
  observations: await rows(
    db,
    sql`select content, round(importance::numeric, 6)::text as importance, lexical, embedding is not null as embedded, version
        from brain_observations order by content`,
  ),
  chunks: await rows(db, sql`select chunk_index, content from brain_observation_chunks order by chunk_index`),
  episodes: await rows(db, sql`select content, round(importance::numeric, 6)::text as importance, lexical from brain_episodes`),
  relations: await rows(
    db,
    sql`select least(a.name, b.name) as one, greatest(a.name, b.name) as two, r.provenance from brain_relations as r
        join brain_entities as a on a.id = r.from_entity join brain_entities as b on b.id = r.to_entity order by one, two`,
  ),
  notes: await rows(db, sql`select content from brain_wm`),
});

/** A database whose process ends at the nth transaction: nothing it is asked afterwards happens. */
function endingAt(db: Database, transactions: number): Database {
  let left = transactions;
  const alive = () => {
    if (left-- <= 0) throw new Error("the process is gone");
  };
  return {
    traits: db.traits,
    read: (ctx, work) => {
      alive();
      return db.read(ctx, work);
    },
    write: (ctx, work, limits) => {
      alive();
      return db.write(ctx, work, limits);
    },
    tryLock: (key) => db.tryLock(key),
    listen: (channel, onPayload) => db.listen(channel, onPayload),
    [Symbol.asyncDispose]: async () => {},
  };
}

eachEngine("the consolidation cycle", (engine) => {
  beforeEach(() => engine.db.reset());
  const records = () => rows(engine.db, sql`select error, phases from brain_rem_cycles order by started_at`);

  test("leaves one row with what each phase did and how long it took", async () => {
    const record = await ran(remOver(engine.db, { phases: [counts("decay", 3), counts("other", 1)] }));
    expect(record.decayedCount).toBe(3);
    expect(record.phases["other"]).toEqual({ count: 1, ms: expect.any(Number) });
    expect(record.error).toBeNull();
    expect((await records()).length).toBe(1);
  });

  test("a phase that fails takes no other with it; the row says which and why", async () => {
    const record = await ran(remOver(engine.db, { phases: [counts("decay", 3), fails("autolink"), counts("duplicates", 7)] }));
    expect([record.decayedCount, record.autolinkEdges, record.duplicateCandidates]).toEqual([3, 0, 7]);
    expect(record.phases["autolink"]?.error).toBeString();
    expect(record.error).toStartWith("autolink: ");
    expect(record.error).not.toContain("cheese");
  });

  test("while one runs another does nothing and writes nothing, whoever asks", async () => {
    const inside = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const waits = phase("decay", async () => {
      inside.resolve();
      await goOn.promise;
      return { count: 1 };
    });
    const first = remOver(engine.db, { phases: [waits] });
    const running = ran(first);
    await inside.promise;
    const signal = new AbortController().signal;
    expect(await first.run({ signal })).toEqual({ kind: "busy" });
    expect(await remOver(engine.db).run({ signal })).toEqual({ kind: "busy" });
    goOn.resolve();
    await running;
    await first.settled();
    expect((await records()).length).toBe(1);
    expect((await remOver(engine.db, { phases: [] }).run({ signal })).kind).toBe("ran");
  });

  test("a timer leaves out what was done lately; a person does not", async () => {
    const signal = new AbortController().signal;
    const rem = remOver(engine.db, { phases: [] });
    await rem.run({ signal });
    expect((await rem.run({ signal, unlessWithinSecs: 60 })).kind).toBe("recent");
    expect((await rem.run({ signal })).kind).toBe("ran");
    await rows(
      engine.db,
      sql`update brain_rem_cycles set started_at = now() - interval '2 minutes', finished_at = now() - interval '2 minutes' returning id`,
    );
    expect((await rem.run({ signal, unlessWithinSecs: 60 })).kind).toBe("ran");
    // The clock was set back.
    await rows(
      engine.db,
      sql`update brain_rem_cycles set started_at = now() + interval '1 year', finished_at = now() + interval '1 year' returning id`,
    );
    expect((await rem.run({ signal, unlessWithinSecs: 60 })).kind).toBe("ran");
    expect((await rem.run({ signal, unlessWithinSecs: 60 })).kind).toBe("recent");
  });

  test("a cycle that went through all its phases was done, whatever failed in it; one that was stopped, or killed, was not", async () => {
    const signal = new AbortController().signal;
    const stop = new AbortController();
    const stops = phase("autolink", async (ctx) => {
      stop.abort();
      await ctx.pace.turn(ctx.signal);
      return { count: 1 };
    });
    await ran(remOver(engine.db, { phases: [fails("decay"), stops, counts("words", 1)] }), stop.signal);
    await rows(
      engine.db,
      sql`insert into brain_rem_cycles (started_at, finished_at, duration_ms, error, phases)
          values (now(), now(), 0, 'unfinished: in phase words when this was written', '{"decay": {"count": 1, "ms": 1}}') returning id`,
    );
    for (const failing of ["decay", "words"]) {
      const made = ["decay", "words"].map((name) => (name === failing ? fails(name) : counts(name, 1)));
      const rem = remOver(engine.db, { phases: made });
      expect((await rem.run({ signal, unlessWithinSecs: 60 })).kind).toBe("ran");
      expect((await rem.run({ signal, unlessWithinSecs: 60 })).kind).toBe("recent");
      await rows(engine.db, sql`delete from brain_rem_cycles where phases ? 'words' returning id`);
    }
  });

  test("told to stop, it ends between two slices and says so; the lock is free again", async () => {
    const stop = new AbortController();
    const stops = phase("decay", async ({ pace, signal }) => {
      stop.abort();
      await pace.turn(signal);
      return { count: 1 };
    });
    const record = await ran(remOver(engine.db, { phases: [counts("duplicates", 2), stops, counts("autolink", 5)] }), stop.signal);
    expect(record.error).toBe("interrupted in phase decay: the program was told to stop");
    expect([record.duplicateCandidates, record.autolinkEdges]).toEqual([2, 0]);
    expect((await ran(remOver(engine.db, { phases: [] }))).error).toBeNull();
  });

  test("while it runs the record says so, and a cycle that was killed there stays readable as one", async () => {
    const seen: unknown[] = [];
    const looks = phase("autolink", async () => {
      seen.push(await records());
      return { count: 0 };
    });
    await ran(remOver(engine.db, { phases: [counts("decay", 3), looks] }));
    expect(seen).toEqual([
      [{ error: expect.stringContaining("unfinished: in phase autolink"), phases: { decay: { count: 3, ms: expect.any(Number) } } }],
    ]);
  });

  test("a transaction that collides and runs again is counted once", async () => {
    await fill(engine.db);
    await rows(engine.db, sql`update brain_observations set lexical = null returning id`);
    const counting = only("decay", "episodes", "chunks", "words", "duplicates");
    const record = await ran(remOver(colliding(engine.db), { phases: counting }));
    expect(record.error).toBeNull();
    expect(Object.fromEntries(Object.entries(record.phases).map(([name, { count }]) => [name, count]))).toEqual({
      decay: 5,
      episodes: 1,
      chunks: 1,
      words: 10,
      duplicates: 1,
    });
  });

  test("every cycle but the newest 500 goes", async () => {
    await engine.db.asOwner((owner) =>
      owner.script(`insert into brain_rem_cycles (started_at, finished_at, duration_ms)
        select now() - i * interval '1 hour', now() - i * interval '1 hour', 0 from generate_series(1, 500) as i`),
    );
    await ran(remOver(engine.db, { phases: [] }));
    expect((await row(engine.db, sql`select count(*)::int as n from brain_rem_cycles`)).n).toBe(500);
    expect((await remOver(engine.db).recent(testScope(), 20)).length).toBe(20);
  });

  for (const { name } of phases)
    test(`an end in the middle of ${name} does no harm: the next cycle leaves what an undisturbed one leaves`, async () => {
      const { db } = engine;
      await fill(db);
      await ran(remOver(db));
      const undisturbed = await state(db);
      // One transaction records the cycle's start; from there every further one of the phase is an end.
      for (let transactions = 1; ; transactions++) {
        await db.reset();
        await fill(db);
        const dying = endingAt(db, transactions);
        const ended = await remOver(dying, { phases: only(name) })
          .run({ signal: new AbortController().signal })
          .then(
            () => false,
            () => true,
          );
        await ran(remOver(db));
        expect(await state(db)).toEqual(undisturbed);
        expect(await db.asOwner(brokenInvariants)).toEqual([]);
        if (!ended) break;
      }
    }, 120_000);
});
