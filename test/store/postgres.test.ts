import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { z } from "zod";
import { MemoryError } from "../../src/kernel/errors.ts";
import { newId } from "../../src/kernel/ids.ts";
import { query } from "../../src/store/codecs.ts";
import { lazyDatabase } from "../../src/store/lazy.ts";
import { grants, migrations } from "../../src/store/migrations.ts";
import { openPostgres } from "../../src/store/postgres.ts";
import { withCredentials } from "../../src/store/server/scram.ts";
import { startServer } from "../../src/store/start.ts";
import { vectorColumns } from "../../src/store/vectors.ts";
import { openTestServerDatabase, type ServerTestDatabase, testAppPassword, testScope } from "../support/engines.ts";
import { row, rows, type rowsIn } from "../support/statements.ts";

const server = process.env.MEMORY_INDUSTRY_TEST_PG ?? "";

/** A port of this machine on which nobody listens: taken, then given back. */
function deadPort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}

const errorOf = async (work: Promise<unknown>): Promise<MemoryError> => {
  const outcome = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof MemoryError) return outcome;
  throw new Error(`expected one of our errors, got ${String(outcome)}`);
};

test("an unreachable server fails each call with its reason, and nothing before", async () => {
  await using db = openPostgres({ url: `postgres://u:p@127.0.0.1:${deadPort()}/x`, nodeName: "test" });
  const error = await errorOf(rows(db, sql`select 1`));
  expect(error.code).toBe("unavailable");
  expect(error.message).toContain("cannot be reached");
  expect(error.message).not.toContain("127.0.0.1");
});

describe.skipIf(server === "")("on a server", () => {
  let db: ServerTestDatabase;
  beforeAll(async () => {
    db = await openTestServerDatabase(server);
  }, 60_000);
  afterAll(() => db?.[Symbol.asyncDispose]());

  /** Ends the server process of every other connection to this database that runs `what`. */
  const killBackends = (what: string) =>
    db.asOwner((owner) =>
      owner.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and query like $1::text",
        [what],
      ),
    );

  test("each connection has its settings", async () => {
    const seen = await row(
      db,
      sql`select current_setting('timezone') as zone,
                 current_setting('random_page_cost') as cost, current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
                 current_setting('idle_in_transaction_session_timeout') as idle, current_setting('effective_io_concurrency') as io, current_setting('jit') as jit`,
    );
    expect(seen).toEqual({
      zone: "UTC",
      cost: "1.1",
      statement: "1min",
      lock: "10s",
      idle: "1min",
      io: "200",
      jit: "off",
    });
  });

  test("a running statement is cancelled by its signal, and its connection serves the next call", async () => {
    const controller = new AbortController();
    const started = performance.now();
    const sleeping = rows(db, sql`select pg_sleep(30)`, testScope({ signal: controller.signal }));
    setTimeout(() => controller.abort(), 100);
    expect((await errorOf(sleeping)).code).toBe("cancelled");
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(await rows(db, sql`select 1 as one`)).toEqual([{ one: 1 }]);
    const { rows: running } = await db.asOwner((owner) =>
      owner.query(
        "select count(*)::int as n from pg_stat_activity where query like '%pg_sleep(30)%' and state = 'active' and pid <> pg_backend_pid()",
      ),
    );
    expect(running).toEqual([{ n: 0 }]);
  });

  test("a statement beyond its limit ends by itself", async () => {
    const error = await errorOf(db.write(testScope(), (tx) => tx.run(sql`select pg_sleep(30)`), { statementTimeoutMs: 50 }));
    expect(error.code).toBe("timeout");
  });

  test("a lock that somebody holds is waited for no longer than asked", async () => {
    const taken = Promise.withResolvers<void>();
    const done = Promise.withResolvers<void>();
    const holder = db.write(testScope(), async (tx) => {
      await tx.run(sql`select pg_advisory_xact_lock(77)`);
      taken.resolve();
      await done.promise;
    });
    await taken.promise;
    const error = await errorOf(db.write(testScope(), (tx) => tx.run(sql`select pg_advisory_xact_lock(77)`), { lockTimeoutMs: 50 }));
    done.resolve();
    await holder;
    expect(error.code).toBe("busy");
  });

  test("a transaction whose connection dies fails as a whole; the next call gets a new one", async () => {
    const name = newId();
    const error = await errorOf(
      db.write(testScope(), async (tx) => {
        await tx.run(sql`insert into brain_entities (name) values (${name}::text)`);
        await tx.run(sql`select 'doomed'`);
        await killBackends("select 'doomed'%");
        // The client may not know yet: either way nothing of this may run outside of the transaction.
        await tx.run(sql`insert into brain_entities (name) values (${`${name} later`}::text)`);
      }),
    );
    expect(error.code).toBe("unavailable");
    expect(await rows(db, sql`select 1 from brain_entities where name like ${`${name}%`}::text`)).toEqual([]);
  });

  test("idle connections that the server closed are replaced, and nobody is told", async () => {
    await Promise.all([1, 2, 3].map(() => rows(db, sql`select 1 as one`)));
    await killBackends("%");
    for (let tries = 0; tries < 5; tries++) expect(await rows(db, sql`select 1 as one`)).toEqual([{ one: 1 }]);
  });

  test("a transaction that has changed nothing when its connection breaks runs once more, any other never", async () => {
    const name = newId();
    const own = new URL(db.url);
    const at = { hostname: own.hostname, port: Number(own.port) };
    /** Breaks the connection of a client that sends this word, as often as said; nothing of it reaches the server. */
    let cut = { word: "", times: 0 };
    const relay = Bun.listen<{ there: Awaited<ReturnType<typeof Bun.connect>> | undefined; held: Buffer[] }>({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        async open(here) {
          here.data = { there: undefined, held: [] };
          here.data.there = await Bun.connect({
            ...at,
            socket: { data: (_, bytes) => void here.write(bytes), close: () => void here.end() },
          });
          for (const bytes of here.data.held.splice(0)) here.data.there.write(bytes);
        },
        data(here, bytes) {
          const { data } = here;
          if (cut.times > 0 && bytes.includes(cut.word)) {
            cut = { ...cut, times: cut.times - 1 };
            data.there?.end();
            here.terminate();
          } else if (data.there === undefined) data.held.push(Buffer.from(bytes));
          else data.there.write(bytes);
        },
        close: ({ data }) => void data.there?.end(),
      },
    });
    own.hostname = "127.0.0.1";
    own.port = String(relay.port);
    await using far = openPostgres({ url: own.href, role: "cuba_app", nodeName: "test" });
    let ran = 0;
    const add = (word: string, times = 1) => {
      cut = { word, times };
      ran = 0;
      return far.write(testScope(), async (tx) => {
        ran++;
        await tx.run(sql`insert into brain_entities (name) values (${name}::text)`);
      });
    };
    const held = async () => (await rows(db, sql`select 1 from brain_entities where name = ${name}::text`)).length;
    await rows(far, sql`select 1 as one`);

    cut = { word: "as two", times: 1 };
    const two = query(z.object({ two: z.number() }), () => sql`select 2 as two`);
    expect(await far.read(testScope(), (tx) => tx.all(two({})))).toEqual([{ two: 2 }]);
    expect((await errorOf(add("begin", 2))).message).toEndWith("Nothing was written.");
    expect([ran, await held()]).toEqual([0, 0]);
    expect((await errorOf(add("insert into"))).message).toEndWith("Nothing was written.");
    expect([ran, await held()]).toEqual([1, 0]);
    expect((await errorOf(add("commit"))).message).toEndWith("read before you write it again.");
    expect([ran, await held()]).toEqual([1, 0]);
    await add("begin");
    expect([ran, await held()]).toEqual([1, 1]);
    relay.stop(true);
  });

  test("two transactions that collide are both carried out", async () => {
    const id = String((await row(db, sql`insert into brain_entities (name) values (${newId()}::text) returning id`)).id);
    const other = String((await row(db, sql`insert into brain_entities (name) values (${newId()}::text) returning id`)).id);
    const bump = (tx: Parameters<typeof rowsIn>[0], of: string) =>
      tx.run(sql`update brain_entities set access_count = access_count + 1 where id = ${of}::uuid`);
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const swap = (first: string, second: string, mine: 0 | 1) =>
      db.write(testScope(), async (tx) => {
        await bump(tx, first);
        gates[mine].resolve();
        await gates[mine === 0 ? 1 : 0].promise;
        await bump(tx, second); // one of the two is the victim of the deadlock and runs again
      });
    await Promise.all([swap(id, other, 0), swap(other, id, 1)]);
    const counts = await rows(db, sql`select access_count from brain_entities where id in (${id}::uuid, ${other}::uuid)`);
    expect(counts).toEqual([{ access_count: 2 }, { access_count: 2 }]);
  });

  test("a listener comes back after its connection died", async () => {
    const heard: string[] = [];
    let arrived = Promise.withResolvers<void>();
    await using _listening = await db.listen("brain_events", (payload) => {
      heard.push(payload);
      arrived.resolve();
    });
    const say = (text: string) => rows(db, sql`select pg_notify('brain_events', ${text}::text)`);
    await say("one");
    await arrived.promise;
    await killBackends("listen %");
    arrived = Promise.withResolvers<void>();
    const repeating = setInterval(() => void say("two").catch(() => undefined), 200);
    await arrived.promise;
    clearInterval(repeating);
    expect(heard.slice(0, 2)).toEqual(["one", "two"]);
  }, 20_000);

  test("a dead host is passed over", async () => {
    const { host } = new URL(db.url);
    const url = db.url.replace(host, `127.0.0.1:${deadPort()},${host}`);
    await using several = openPostgres({ url, role: "cuba_app", nodeName: "test" });
    expect(await rows(several, sql`select 1 as one`)).toEqual([{ one: 1 }]);
  });

  test("the pool reports that it is exhausted instead of waiting for ever", async () => {
    // Long enough for the first connection of a busy machine, short enough to wait for.
    await using small = openPostgres({ url: db.url, nodeName: "test", maxConnections: 1, acquireTimeoutMs: 3_000 });
    const held = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const holder = small.write(testScope(), async () => {
      held.resolve();
      await gate.promise;
    });
    await held.promise;
    const error = await errorOf(rows(small, sql`select 1`));
    gate.resolve();
    await holder;
    expect(error.code).toBe("busy");
  });

  test("brain_analyze moves the statistics that cuba_app itself cannot", async () => {
    const analyzed = async () =>
      (await db.asOwner((owner) => owner.query("select last_analyze from pg_stat_user_tables where relname = 'brain_entities'"))).rows[0]
        ?.last_analyze;
    expect(await analyzed()).toBeNull();
    await db.write(testScope(), (tx) => tx.run(sql`select brain_analyze()`));
    // Statistics are reported when a session is idle again; a fresh connection sees them.
    for (let tries = 0; tries < 50 && (await analyzed()) === null; tries++) await Bun.sleep(20);
    expect(await analyzed()).not.toBeNull();
  });

  test("the start sequence migrates, drops the vector indexes that no search uses, and steps down to a login that row security binds", async () => {
    const schema = { migrations, grants };
    const password = testAppPassword;
    // As a database is that an earlier program made.
    await db.asOwner((owner) =>
      owner.script(
        "create index idx_obs_embedding_hnsw on brain_observations using hnsw (embedding vector_cosine_ops); delete from brain_migrations where name = '0016_no_vector_indexes'",
      ),
    );
    const { db: app, report } = await startServer({ url: db.url, nodeName: "test", schema, stepDown: true, appPassword: password });
    try {
      expect(report).toMatchObject({ runtime: "login", applied: ["0016_no_vector_indexes"] });
      expect(await app.ping()).toEqual({ role: "cuba_app", bypassesRowSecurity: false });
      expect(await row(app, sql`select session_user::text as login`)).toEqual({ login: "cuba_app" });
      const { rows: indexes } = await app.asOwner((owner) =>
        owner.query("select count(*)::int as n from pg_indexes where indexdef like '%hnsw%'"),
      );
      expect(indexes).toEqual([{ n: 0 }]);
      expect((await app.asOwner(vectorColumns)).map((column) => column.dimensions)).toEqual([384, 384, 384, 384, 384, 384]);
    } finally {
      await app[Symbol.asyncDispose]();
    }
    // Who gives cuba_app itself as DATABASE_URL cannot migrate, and need not.
    const direct = await startServer({
      url: withCredentials(db.url, "cuba_app", password),
      nodeName: "test",
      schema,
      stepDown: true,
      appPassword: undefined,
    });
    expect(direct.report.runtime).toBe("login");
    await direct.db[Symbol.asyncDispose]();
  });

  test("without a password the role is taken in each transaction; switched off, the admin stays", async () => {
    const schema = { migrations, grants };
    const byRole = await startServer({ url: db.url, nodeName: "test", schema, stepDown: true, appPassword: undefined });
    expect(byRole.report.runtime).toBe("role");
    expect(await row(byRole.db, sql`select current_user::text as role`)).toEqual({ role: "cuba_app" });
    await byRole.db[Symbol.asyncDispose]();
    const admin = await startServer({ url: db.url, nodeName: "test", schema, stepDown: false, appPassword: undefined });
    expect(admin.report.runtime).toBe("admin");
    await admin.db[Symbol.asyncDispose]();
  });

  test("a database that is not there yet is tried again by the next call", async () => {
    let attempts = 0;
    await using lazy = lazyDatabase(async () => {
      attempts++;
      if (attempts === 1) throw new MemoryError("unavailable", "not yet");
      return openPostgres({ url: db.url, nodeName: "test" });
    }, db.traits);
    await expect(rows(lazy, sql`select 1`)).rejects.toThrow("not yet");
    expect(lazy.isOpen).toBe(false);
    expect(await Promise.all([rows(lazy, sql`select 1 as one`), rows(lazy, sql`select 2 as two`)])).toEqual([[{ one: 1 }], [{ two: 2 }]]);
    expect(attempts).toBe(2);
    expect(lazy.isOpen).toBe(true);
  });
});
