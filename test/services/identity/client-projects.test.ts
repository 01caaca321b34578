/** What of a client's choice of project a restart of the daemon keeps. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { sql } from "drizzle-orm";
import type { CallerInfo } from "../../../src/services/identity/identity.ts";
import { eachEngine, inProject, testScope } from "../../support/engines.ts";
import { repository } from "../../support/repositories.ts";
import { processOver } from "../../support/services.ts";
import { rows } from "../../support/statements.ts";

const DAY_MS = 24 * 3_600_000;

eachEngine("the project a client chose", (engine) => {
  let root = "";
  const at = (...parts: string[]) => path.join(root, ...parts);
  beforeAll(async () => {
    root = await realpath(await mkdtemp(path.join(os.tmpdir(), "memory-industry-chosen-")));
  });
  afterAll(() => rm(root, { recursive: true, force: true }));
  beforeEach(() => engine.db.reset());

  type Process = ReturnType<typeof processOver>;
  const window = (of: Process, given: Partial<CallerInfo> = {}) => {
    const { caller, context } = of.client(given);
    return {
      caller,
      switchTo: async (name: string) => of.projects.switchTo(await context(), name),
      start: async (project?: string) => of.sessions.start(await context(), { name: "s", goals: [], project }),
      end: async () => of.sessions.end(await context(), { outcome: "success", summary: "done", sessionId: undefined }),
      current: async () => {
        const ctx = await context();
        const active = await of.projects.current(ctx);
        // What the tools say is what they use.
        expect(ctx.scope).toEqual(active === undefined ? { kind: "none" } : { kind: "project", id: active.id });
        return active === undefined ? undefined : `${active.source} ${active.name}`;
      },
    };
  };
  const http = { transport: "http", protocolSession: undefined } as const;
  const everything = testScope({ scope: { kind: "everything" } });
  const kept = async () =>
    (
      await rows(
        engine.db,
        sql`select c.client_key || ' ' || c.source || ' ' || p.name as kept
            from brain_client_projects as c join brain_projects as p on p.id = c.project_id order by 1`,
        everything,
      )
    ).map((row) => row.kept);
  const age = (hours: number) =>
    engine.db.write(everything, (tx) =>
      tx.run(sql`update brain_client_projects set last_seen_at = now() - make_interval(hours => ${hours}::int)`),
    );

  test("survives the daemon: two windows of one label, a client over HTTP, and each of its chats", async () => {
    const clients: Partial<CallerInfo>[] = [
      { protocolSession: "w1" },
      { protocolSession: "w2" },
      http,
      { transport: "http", protocolSession: "chat" },
      { ...http, machine: "desk" },
    ];
    const before = processOver(engine.db);
    for (const [n, client] of clients.entries()) await window(before, client).switchTo(`p${n}`);
    const after = processOver(engine.db);
    expect(await Promise.all(clients.map((client) => window(after, client).current()))).toEqual(clients.map((_, n) => `switch p${n}`));
    expect(await window(after, { protocolSession: "w3" }).current()).toBeUndefined();
    // The last choice is the one that counts, also after the next restart.
    await window(after, http).switchTo("later");
    expect(await window(processOver(engine.db), http).current()).toBe("switch later");
  });

  test("is of one machine, and never of a process that serves one client alone", async () => {
    const laptop = processOver(engine.db);
    await window(laptop, http).switchTo("a");
    expect(await window(processOver(engine.db, { nodeName: "desk" }), http).current()).toBeUndefined();
    expect(await window(processOver(engine.db, { nodeName: "laptop/cursor" }), { ...http, label: "x" }).current()).toBeUndefined();
    for (const transport of ["stdio", "cli"] as const) {
      await window(laptop, { transport, label: "alone", protocolSession: undefined }).switchTo("b");
      expect(await window(processOver(engine.db), { transport, label: "alone", protocolSession: undefined }).current()).toBeUndefined();
    }
    expect(await kept()).toEqual(["laptop/cursor switch a"]);
  });

  test("stands in the same order as before: session, switch, then the connection's own", async () => {
    const here = await repository(at("order", "web"), undefined);
    const both = async (given: Partial<CallerInfo>, work: (of: ReturnType<typeof window>) => Promise<unknown>) => {
      const of = window(processOver(engine.db), given);
      await work(of);
      const told = await of.current();
      expect(await window(processOver(engine.db), given).current()).toBe(told);
      return told;
    };
    const env = { project: "payments", directory: here, protocolSession: "env" };
    expect(await both(env, async () => {})).toBe("env payments");
    expect(await both(env, (of) => of.switchTo("b"))).toBe("switch b");
    expect(await both(env, (of) => of.start("c"))).toBe("session c");
    expect(await both(env, (of) => of.switchTo("d"))).toBe("session d");
    // A switch inside a session is the session's, the one before comes back with its end.
    expect(await both(env, (of) => of.end())).toBe("switch b");
    const directory = { directory: here, protocolSession: "dir" };
    expect(await both(directory, async () => {})).toBe("directory web");
    expect(await both(directory, (of) => of.start())).toBe("session web");
    expect(await both({ directory: here, protocolSession: "s" }, (of) => of.switchTo("e"))).toBe("switch e");
  });

  test("a root that came over HTTP is kept, below a switch; a bridge is asked for its own again", async () => {
    const [one, two] = [await repository(at("one"), undefined), await repository(at("two"), undefined)];
    const post = (of: Process, given: Partial<CallerInfo>, directory: string) =>
      of.client(given).caller.adoptRoots({ roots: [{ uri: `file://${directory}` }] });
    const before = processOver(engine.db);
    await post(before, http, one);
    await post(before, { protocolSession: "bridge" }, one);
    expect(await kept()).toEqual(["laptop/cursor root one"]);
    const second = processOver(engine.db);
    expect(await window(second, http).current()).toBe("root one");
    await window(second, http).switchTo("chosen");
    const third = processOver(engine.db);
    expect(await window(third, http).current()).toBe("switch chosen");
    // A session begins where the connection works, as before.
    await post(third, { ...http, label: "other" }, one);
    await post(processOver(engine.db), { ...http, label: "other" }, two);
    const fourth = processOver(engine.db);
    expect(await window(fourth, { ...http, label: "other" }).current()).toBe("root two");
    // One posted before the first call of a process is not overruled by an older one.
    const fifth = processOver(engine.db);
    await post(fifth, { ...http, label: "other" }, one);
    expect(await window(fifth, { ...http, label: "other" }).current()).toBe("root one");
    const nobody = { ...http, label: undefined };
    await post(fifth, nobody, one);
    expect((await kept()).length).toBe(3);
  });

  test("goes with a client that leaves, and stays for one that is cut off", async () => {
    const of = processOver(engine.db);
    const [leaving, lost, untouched] = ["a", "b", "c"].map((protocolSession) => window(of, { protocolSession }));
    await leaving?.switchTo("p");
    await lost?.switchTo("q");
    leaving?.caller.leave("left");
    lost?.caller.leave();
    untouched?.caller.leave("left");
    await of.settled();
    expect(await kept()).toEqual(["laptop/cursor::b switch q"]);
    // One that says goodbye to a daemon it never called.
    const after = processOver(engine.db);
    const again = window(after, { protocolSession: "b" });
    expect(await window(after, { protocolSession: "b" }).current()).toBe("switch q");
    again.caller.leave("left");
    await after.settled();
    expect(await kept()).toEqual([]);
    expect(await window(processOver(engine.db), { protocolSession: "b" }).current()).toBeUndefined();
  });

  test("follows a project that is renamed or merged into another", async () => {
    const of = processOver(engine.db);
    await window(of, http).switchTo("a");
    const context = await of.client({ protocolSession: "other" }).context();
    await of.projects.rename(context, "a", "b");
    expect(await window(processOver(engine.db), http).current()).toBe("switch b");
    await of.projects.merge(context, "b", "c", true);
    expect(await window(of, http).current()).toBe("switch c");
    expect(await window(processOver(engine.db), http).current()).toBe("switch c");
    await engine.db.write(everything, (tx) => tx.run(sql`delete from brain_projects where name = 'c'`));
    expect(await kept()).toEqual([]);
  });

  test("is kept only where the switch is, and found by the next call where the database was away", async () => {
    let isAway = false;
    const { db } = engine;
    const away = () => Promise.reject(new Error("the server is away"));
    const shaky: typeof db = {
      ...db,
      traits: db.traits,
      read: (ctx, work, limits) => (isAway ? away() : db.read(ctx, work, limits)),
      write: async (ctx, work, limits) =>
        db.write(
          ctx,
          async (tx) => {
            const result = await work(tx);
            return isAway ? await away() : result;
          },
          limits,
        ),
    };
    await window(processOver(db), http).switchTo("a");
    const of = processOver(shaky);
    isAway = true;
    await expect(of.client(http).context()).rejects.toThrow("away");
    isAway = false;
    expect(await window(of, http).current()).toBe("switch a");
    isAway = true;
    await expect(window(of, http).switchTo("b")).rejects.toThrow("away");
    isAway = false;
    expect([await window(of, http).current(), await kept()]).toEqual(["switch a", ["laptop/cursor switch a"]]);
  });

  test("two first calls of a client do not undo what one of them changes", async () => {
    const before = window(processOver(engine.db), http);
    await before.switchTo("old");
    await before.start("worked");
    const { db } = engine;
    const slow = Promise.withResolvers<void>();
    let reads = 0;
    const of = processOver({
      ...db,
      traits: db.traits,
      async read(ctx, work, limits) {
        const isFirst = reads++ === 0;
        const result = await db.read(ctx, work, limits);
        if (isFirst) await slow.promise;
        return result;
      },
    });
    const late = window(of, http).current();
    await window(of, http).end();
    await window(of, http).switchTo("new");
    slow.resolve();
    expect(await late).toBe("switch new");
    expect(await window(of, http).current()).toBe("switch new");
  });

  test("is forgotten after a day without a sight of the client, and not before", async () => {
    await window(processOver(engine.db), http).switchTo("a");
    await age(23);
    const of = processOver(engine.db);
    expect(await window(of, http).current()).toBe("switch a");
    await of.settled();
    // Taken up again it is young again.
    expect(
      await rows(
        engine.db,
        sql`select count(*)::int as n from brain_client_projects where last_seen_at > now() - interval '1 minute'`,
        everything,
      ),
    ).toEqual([{ n: 1 }]);
    await age(25);
    expect(await window(processOver(engine.db), http).current()).toBeUndefined();
    await window(processOver(engine.db), { protocolSession: "w" }).switchTo("b");
    expect(await kept()).toEqual(["laptop/cursor::w switch b"]);
  });

  test("the sweep keeps what is in use and what is open, and drops the rest", async () => {
    let now = 0;
    const of = processOver(engine.db, { now: () => now });
    const idle = window(of, { ...http, label: "idle" });
    const busy = window(of, { ...http, label: "busy" });
    const open = window(of, { label: "idle", protocolSession: "open", directory: await repository(at("swept"), undefined) });
    const plain = window(of, { protocolSession: "plain", directory: at("swept") });
    const alone = window(of, { transport: "stdio", label: "alone", protocolSession: undefined });
    await alone.switchTo("alone");
    for (const [name, each] of Object.entries({ idle, busy, open })) await each.switchTo(name);
    await plain.current();
    await processOver(engine.db, { nodeName: "desk" }).client(http).context();
    await window(processOver(engine.db, { nodeName: "desk" }), http).switchTo("desk");
    await age(25);
    now = DAY_MS - 1;
    await busy.current();
    now = DAY_MS;
    await of.clientProjects.sweep();
    expect(await kept()).toEqual(["laptop/busy switch busy", "laptop/idle::open switch open"]);
    expect([...of.registry.keys()].sort()).toEqual(["alone", "busy", "cursor::plain", "idle::open"]);
    expect(await alone.current()).toBe("switch alone");
    expect([await open.current(), await plain.current(), await idle.current()]).toEqual(["switch open", "directory swept", undefined]);
    expect(await window(processOver(engine.db), { ...http, label: "busy" }).current()).toBe("switch busy");
  });

  test("what a caller with invented names leaves is bounded, and a window it pushes out of memory works on where it did", async () => {
    const of = processOver(engine.db);
    const open = window(of, { protocolSession: "open", directory: await repository(at("pushed"), undefined) });
    expect(await open.current()).toBe("directory pushed");
    await engine.db.write(everything, (tx) =>
      tx.run(sql`
        with p as (insert into brain_projects (name) values ('many') returning id)
        insert into brain_client_projects (client_key, source, project_id, last_seen_at)
        select m || '/c' || n, 'switch', p.id, now() - n * interval '1 second' from p, generate_series(1, 1010) as n, unnest(array['laptop', 'laptop2']) as m`),
    );
    await open.switchTo("mine");
    const count = async (machine: string) =>
      (
        await rows(
          engine.db,
          sql`select count(*)::int as n from brain_client_projects where client_key like ${`${machine}/%`}::text`,
          everything,
        )
      )[0]?.n;
    expect([await count("laptop"), await count("laptop2")]).toEqual([1000, 1010]);
    for (let n = 0; n < 1_001; n++) of.registry.of(`invented${n}`);
    expect(of.registry.find("cursor::open")).toBeUndefined();
    expect(await open.current()).toBe("switch mine");
    const second = window(of, { protocolSession: "second", directory: at("pushed") });
    expect(await second.current()).toBe("directory pushed");
    for (let n = 0; n < 1_001; n++) of.registry.of(`invented${n}`);
    expect(await second.current()).toBe("directory pushed");
  });

  test("is read in the scope of its project alone", async () => {
    await window(processOver(engine.db), { protocolSession: "one" }).switchTo("a");
    await window(processOver(engine.db), { protocolSession: "two" }).switchTo("b");
    const { id } = (await rows(engine.db, sql`select id from brain_projects where name = 'a'`, everything))[0] ?? {};
    const seen = await rows(engine.db, sql`select client_key as key from brain_client_projects`, inProject(String(id)));
    expect(seen).toEqual([{ key: "laptop/cursor::one" }]);
  });
});
