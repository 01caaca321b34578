import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { z } from "zod";
import { query } from "../../src/store/codecs.ts";
import { eachEngine, testScope } from "../support/engines.ts";
import { processOver } from "../support/services.ts";

eachEngine("working sessions", (engine) => {
  beforeEach(() => engine.db.reset());
  const rows = (statement: ReturnType<typeof sql>) =>
    engine.db.read(testScope({ scope: { kind: "everything" } }), (tx) =>
      tx.all(query(z.record(z.string(), z.unknown()), () => statement)({})),
    );
  const run = (statement: ReturnType<typeof sql>) =>
    engine.db.write(testScope({ scope: { kind: "everything" } }), (tx) => tx.run(statement));

  const plain = { name: "work", goals: ["ship it"], project: undefined };

  test("a second start closes the first as abandoned and leaves exactly one open row", async () => {
    const of = processOver(engine.db);
    const window = of.client();
    await of.sessions.start(await window.context(), plain);
    const second = await of.sessions.start(await window.context(), { ...plain, name: "again" });
    expect(second).toMatchObject({ kind: "started", name: "again", replacedPrevious: true });
    expect(
      await rows(sql`select session_name, outcome, ended_at is null as open from brain_sessions order by started_at, session_name desc`),
    ).toEqual([
      { session_name: "work", outcome: "abandoned", open: false },
      { session_name: "again", outcome: null, open: true },
    ]);
  });

  test("the next session is handed the last summary of its project, not the row its own start has abandoned", async () => {
    const of = processOver(engine.db);
    const window = of.client({ project: "api" });
    await of.sessions.start(await window.context(), plain);
    await of.sessions.end(await window.context(), { outcome: "partial", summary: "left off at the parser", sessionId: undefined });
    await of.sessions.start(await window.context(), { ...plain, name: "short" });
    const third = await of.sessions.start(await window.context(), plain);
    expect(third).toMatchObject({ previous: { name: "work", summary: "left off at the parser", outcome: "partial" } });
    const elsewhere = of.client({ project: "web", protocolSession: "two" });
    expect(await of.sessions.start(await elsewhere.context(), plain)).toMatchObject({ previous: undefined });
  });

  test("end counts what the session wrote by type, and says nothing to end without one", async () => {
    const of = processOver(engine.db);
    const window = of.client();
    expect(await of.sessions.end(await window.context(), { outcome: "success", summary: "", sessionId: undefined })).toEqual({
      kind: "none",
    });
    const started = await of.sessions.start(await window.context(), plain);
    const id = started.kind === "started" ? started.id : "";
    await run(sql`
      with e as (insert into brain_entities (name) values ('E') returning id)
      insert into brain_observations (entity_id, content, observation_type, session_id)
      select e.id, c, t, ${id}::uuid from e, (values ('a', 'fact'), ('b', 'fact'), ('c', 'decision')) as v(c, t)`);
    expect(await of.sessions.end(await window.context(), { outcome: "failed", summary: "s", sessionId: undefined })).toEqual({
      kind: "ended",
      outcome: "failed",
      diff: { decision: 1, fact: 2 },
    });
    expect(await of.sessions.current(await window.context())).toBeUndefined();
  });

  for (const [own, named] of [
    ["web", "web"],
    [undefined, null],
  ] as const)
    test(`end tells that the client is in ${named ?? "no project"} again, and nothing where its project stays`, async () => {
      const of = processOver(engine.db);
      const window = of.client(own === undefined ? {} : { project: own });
      const end = async () => of.sessions.end(await window.context(), { outcome: "success", summary: "", sessionId: undefined });
      await of.sessions.start(await window.context(), { ...plain, project: "api" });
      expect(await end()).toEqual({ kind: "ended", outcome: "success", diff: {}, movesTo: { name: named } });
      await of.sessions.start(await window.context(), plain);
      expect(await end()).toEqual({ kind: "ended", outcome: "success", diff: {} });
    });

  for (const [age, observations, hint] of [
    ["1 hour 59 minutes", 99, false],
    ["1 hour", 100, true],
    ["2 hours 1 second", 0, true],
  ] as const)
    test(`a session of ${age} with ${observations} observations ${hint ? "is" : "is not"} worth a snapshot`, async () => {
      const of = processOver(engine.db);
      const window = of.client();
      const started = await of.sessions.start(await window.context(), plain);
      const id = started.kind === "started" ? started.id : "";
      await run(sql`update brain_sessions set started_at = now() - ${age}::interval where id = ${id}::uuid`);
      await run(sql`
        with e as (insert into brain_entities (name) values ('E') returning id)
        insert into brain_observations (entity_id, content, session_id)
        select e.id, 'text ' || n, ${id}::uuid from e, generate_series(1, ${observations}::int) as n`);
      expect((await of.sessions.current(await window.context()))?.compactionHint).toBe(hint);
    });

  test("a start in another project than the active one works under row security", async () => {
    const of = processOver(engine.db);
    const window = of.client({ project: "p" });
    await of.sessions.start(await window.context(), plain);
    const other = await of.sessions.start(await window.context(), { ...plain, project: "q" });
    expect(other).toMatchObject({ project: { name: "q" } });
    expect((await window.context()).scope).toMatchObject({ kind: "project" });
  });

  test("a note to a client reaches it once, under the label, whatever project is active", async () => {
    const of = processOver(engine.db);
    await run(
      sql`insert into brain_triggers (entity_pattern, condition_type, message, from_agent) values ('cursor', 'on_session_start', 'look at the parser', 'claude')`,
    );
    const starts = await Promise.all(
      ["w1", "w2", "w3"].map(async (protocolSession) => {
        const window = of.client({ protocolSession, project: "p" });
        return await of.sessions.start(await window.context(), plain);
      }),
    );
    const delivered = starts.flatMap((one) => (one.kind === "started" ? one.reminders : []));
    expect(delivered).toMatchObject([{ message: "look at the parser", fromAgent: "claude", fireCount: 1, deactivated: true }]);
  });

  test("the list shows only sessions of the active project, newest first", async () => {
    const of = processOver(engine.db);
    for (const project of ["p", "q"]) {
      const window = of.client({ project, protocolSession: project });
      await of.sessions.start(await window.context(), { ...plain, name: `in ${project}` });
    }
    const window = of.client({ project: "p", protocolSession: "third" });
    expect(await of.sessions.list(await window.context(), { limit: 20, offset: 0 })).toMatchObject({
      total: 1,
      rows: [{ name: "in p", projectName: "p" }],
    });
  });

  test("a session left open for more than a day is not taken up again, and is closed by the next start", async () => {
    const of = processOver(engine.db);
    await of.sessions.start(await of.client().context(), plain);
    await run(sql`update brain_sessions set started_at = now() - interval '25 hours'`);
    const successor = processOver(engine.db);
    expect(await successor.sessions.current(await successor.client().context())).toBeUndefined();
    await successor.sessions.start(await successor.client({ protocolSession: "other" }).context(), plain);
    expect(await rows(sql`select outcome from brain_sessions order by started_at`)).toEqual([{ outcome: "abandoned" }, { outcome: null }]);
  });

  test("a session that began in the future, since the clock was set back, is ended, replaced and closed like any other", async () => {
    const of = processOver(engine.db);
    const window = of.client();
    const ahead = () => run(sql`update brain_sessions set started_at = now() + interval '1 year' where ended_at is null`);
    const open = async () => (await of.sessions.start(await window.context(), plain)).kind;
    expect(await open()).toBe("started");
    await ahead();
    expect(await open()).toBe("started");
    await ahead();
    expect(await of.sessions.end(await window.context(), { outcome: "success", summary: "done", sessionId: undefined })).toMatchObject({
      kind: "ended",
    });
    expect(await rows(sql`select outcome, ended_at >= started_at as fits from brain_sessions order by outcome`)).toEqual([
      { outcome: "abandoned", fits: true },
      { outcome: "success", fits: true },
    ]);
  });
});
