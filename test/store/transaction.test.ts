import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { MemoryError } from "../../src/kernel/errors.ts";
import { newId } from "../../src/kernel/ids.ts";
import type { Tx } from "../../src/store/port.ts";
import { eachEngine, inProject, testScope } from "../support/engines.ts";
import { entity, project, row, rows, rowsIn, stateOf } from "../support/statements.ts";

const codeOf = async (work: Promise<unknown>) => {
  try {
    await work;
    return "none";
  } catch (error) {
    return error instanceof MemoryError ? error.code : String(error);
  }
};

eachEngine("a transaction", (engine) => {
  const add = (tx: Tx, name: string) => tx.run(sql`insert into brain_entities (name) values (${name}::text)`);
  const count = async (name: string) =>
    Number((await row(engine.db, sql`select count(*) as n from brain_entities where name = ${name}::text`)).n);

  test("runs as cuba_app with project, principal and machine stamped", async () => {
    const id = await project(engine.db);
    const stamps = sql`
      select current_user::text as role, current_setting('app.current_project') as project, current_setting('app.current_principal') as principal,
             current_setting('cuba.node_name') as node`;
    expect(await row(engine.db, stamps, inProject(id, { principal: { kind: "user", id: "anna" } }))).toEqual({
      role: "cuba_app",
      project: id,
      principal: "anna",
      node: "test",
    });
    expect(await row(engine.db, stamps)).toEqual({ role: "cuba_app", project: "", principal: "*", node: "test" });
    expect(await row(engine.db, stamps, testScope({ scope: { kind: "everything" } }))).toMatchObject({ project: "*" });
  });

  test("leaves nothing of that behind", async () => {
    await row(engine.db, sql`select 1 as one`, inProject(newId()));
    await engine.db.asOwner(async (owner) => {
      const { rows: left } = await owner.query(
        "select current_user::text <> 'cuba_app' as owner, coalesce(current_setting('app.current_project', true), '') as project",
      );
      expect(left).toEqual([{ owner: true, project: "" }]);
    });
  });

  test("is undone as a whole by a failure", async () => {
    const name = newId();
    expect(
      await stateOf(
        engine.db.write(testScope(), async (tx) => {
          await add(tx, name);
          await add(tx, name);
        }),
      ),
    ).toBe("23505");
    expect(await count(name)).toBe(0);
  });

  test("gives the caller's own error back and undoes its work", async () => {
    const name = newId();
    const failure = new Error("mine");
    await expect(
      engine.db.write(testScope(), async (tx) => {
        await add(tx, name);
        throw failure;
      }),
    ).rejects.toBe(failure);
    expect(await count(name)).toBe(0);
  });

  test("with a savepoint loses only what the savepoint did", async () => {
    const [kept, lost, after] = [newId(), newId(), newId()];
    await engine.db.write(testScope(), async (tx) => {
      await add(tx, kept);
      const inner = tx.savepoint(async (nested) => {
        await add(nested, lost);
        await nested.savepoint((deeper) => add(deeper, `${lost} deeper`));
        await add(nested, kept);
      });
      expect(await stateOf(inner)).toBe("23505");
      await add(tx, after);
    });
    expect([await count(kept), await count(lost), await count(`${lost} deeper`), await count(after)]).toEqual([1, 0, 0, 1]);
  });

  test("says so when a failed statement was swallowed, instead of a success that wrote nothing", async () => {
    const name = newId();
    const swallowed = engine.db.write(testScope(), async (tx) => {
      await add(tx, name);
      await add(tx, name).catch(() => undefined);
      return "done";
    });
    await expect(swallowed).rejects.toThrow("Nothing was written");
    expect(await count(name)).toBe(0);
  });

  test("that fails lets nothing through that was asked for together with what failed", async () => {
    const [first, name] = [newId(), newId()];
    let late: Promise<unknown> = Promise.resolve();
    const failed = engine.db.write(testScope(), async (tx) => {
      await add(tx, first);
      const bad = add(tx, first);
      // Goes on when the transaction is over: were it still open for statements, this one would run outside of it.
      late = bad.catch(() => Bun.sleep(0)).then(() => add(tx, name));
      await Promise.all([bad, late]);
    });
    expect(await stateOf(failed)).toBe("23505");
    await expect(late).rejects.toThrow("after its transaction had ended");
    expect([await count(first), await count(name)]).toEqual([0, 0]);
  });

  test("cannot be used after its end", async () => {
    let leaked: Tx | undefined;
    await engine.db.write(testScope(), async (tx) => {
      leaked = tx;
    });
    await expect(leaked?.run(sql`select 1`)).rejects.toThrow("after its transaction had ended");
  });

  test("that reads cannot write", async () => {
    expect(await stateOf(engine.db.read(testScope(), (tx) => add(tx, newId())))).toBe("25006");
  });

  test("answers how many rows a statement touched", async () => {
    const names = [newId(), newId()];
    const touched = await engine.db.write(testScope(), async (tx) => {
      for (const name of names) await add(tx, name);
      return await tx.run(sql`update brain_entities set importance = 1 where name in (${names[0]}::text, ${names[1]}::text)`);
    });
    expect(touched).toBe(2);
  });

  test("gives each of several statements sent at once its own answer, and each error to its own caller", async () => {
    const answers = await engine.db.write(testScope(), (tx) =>
      Promise.all([1, 2, 3, 4, 5].map((n) => rowsIn(tx, sql`select ${n}::int as n, repeat('x', ${n}::int) as text`))),
    );
    expect(answers).toEqual([1, 2, 3, 4, 5].map((n) => [{ n, text: "x".repeat(n) }]));
    const states = await engine.db
      .write(testScope(), async (tx) => {
        const outcomes = [sql`select 1 as one`, sql`select ${"x"}::int as n`, sql`select 2 as two`].map((statement) =>
          stateOf(rowsIn(tx, statement)),
        );
        throw new Error(JSON.stringify(await Promise.all(outcomes)));
      })
      .catch((error: unknown) => String(error));
    expect(states).toBe('Error: ["none","22P02","25P02"]');
  });

  test("does not start for a caller that has given up", async () => {
    const controller = new AbortController();
    controller.abort();
    expect(await codeOf(rows(engine.db, sql`select 1`, testScope({ signal: controller.signal })))).toBe("cancelled");
    expect(
      await codeOf(rows(engine.db, sql`select 1`, testScope({ signal: AbortSignal.abort(new DOMException("late", "TimeoutError")) }))),
    ).toBe("timeout");
  });

  test("that is given up in the middle writes nothing", async () => {
    const name = newId();
    const controller = new AbortController();
    const given = engine.db.write(testScope({ signal: controller.signal }), async (tx) => {
      await add(tx, name);
      controller.abort();
    });
    expect(await codeOf(given)).toBe("cancelled");
    expect(await count(name)).toBe(0);
  });

  test("leaves the queue when its caller gives up while others work", async () => {
    const gate = Promise.withResolvers<void>();
    const holders = Array.from({ length: 4 }, () => engine.db.write(testScope(), () => gate.promise));
    const controller = new AbortController();
    const waiting = rows(engine.db, sql`select 1`, testScope({ signal: controller.signal }));
    controller.abort();
    expect(await codeOf(waiting)).toBe("cancelled");
    gate.resolve();
    await Promise.all(holders);
    expect(await rows(engine.db, sql`select 1 as one`)).toEqual([{ one: 1 }]);
  });

  test("never mixes with another one", async () => {
    const id = await entity(engine.db);
    const bump = () =>
      engine.db.write(testScope(), async (tx) => {
        const [before] = await rowsIn(tx, sql`select access_count from brain_entities where id = ${id}::uuid for update`);
        await rowsIn(tx, sql`select pg_sleep(0)`);
        await tx.run(sql`update brain_entities set access_count = ${Number(before?.access_count) + 1}::int where id = ${id}::uuid`);
      });
    await Promise.all(Array.from({ length: 20 }, bump));
    expect((await row(engine.db, sql`select access_count from brain_entities where id = ${id}::uuid`)).access_count).toBe(20);
  });

  test("shows its limits to the server", async () => {
    const shown = await engine.db.write(
      testScope(),
      (tx) => rowsIn(tx, sql`select current_setting('statement_timeout') as s, current_setting('lock_timeout') as l`),
      {
        statementTimeoutMs: 300_000,
        lockTimeoutMs: 10_000,
      },
    );
    expect(shown).toEqual([{ s: "5min", l: "10s" }]);
  });

  test("holds a lock by name until it is given back", async () => {
    const key = 917222295528144948n;
    const held = await engine.db.tryLock(key);
    expect(held).toBeDefined();
    expect(await engine.db.tryLock(key)).toBeUndefined();
    expect(await engine.db.tryLock(key + 1n)).toBeDefined();
    await held?.[Symbol.asyncDispose]();
    const again = await engine.db.tryLock(key);
    expect(again).toBeDefined();
    await again?.[Symbol.asyncDispose]();
  });
});
