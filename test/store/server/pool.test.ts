import { expect, test } from "bun:test";
import type { Client } from "../../../src/store/server/client.ts";
import { createPool, type PoolOptions } from "../../../src/store/server/pool.ts";

interface FakeClient extends Client {
  alive: boolean;
  closed: boolean;
  bornAt: number;
}

function fakes(given: Partial<PoolOptions> = {}, fail: () => Error | undefined = () => undefined) {
  const made: FakeClient[] = [];
  const pool = createPool({
    connect: async () => {
      const failure = fail();
      if (failure !== undefined) throw failure;
      const client: FakeClient = {
        alive: true,
        closed: false,
        bornAt: performance.now(),
        backendPid: made.length + 1,
        serverVersion: 150_000,
        query: () => Promise.reject(new Error("not asked")),
        script: () => Promise.reject(new Error("not asked")),
        async close() {
          client.alive = false;
          client.closed = true;
        },
      };
      made.push(client);
      return client;
    },
    max: 2,
    acquireTimeoutMs: 60_000,
    idleMs: 60_000,
    lifetimeMs: 60_000,
    ...given,
  });
  return { pool, made };
}

const nth = (made: readonly FakeClient[], index: number): FakeClient => {
  const client = made[index];
  if (client === undefined) throw new Error(`no connection ${index} was made`);
  return client;
};

test("nothing is opened before somebody asks, and a free connection is used again", async () => {
  const { pool, made } = fakes();
  expect(made).toHaveLength(0);
  const first = await pool.acquire();
  pool.release(first);
  expect(await pool.acquire()).toBe(first);
  expect(made).toHaveLength(1);
});

test("no more connections than allowed; who waits is served in the order of arrival", async () => {
  const { pool, made } = fakes();
  const [one, two] = [await pool.acquire(), await pool.acquire()];
  const order: string[] = [];
  const third = pool.acquire().finally(() => order.push("third"));
  const fourth = pool.acquire().finally(() => order.push("fourth"));
  pool.release(two);
  pool.release(one);
  expect(await Promise.all([third, fourth])).toEqual([two, one]);
  expect(order).toEqual(["third", "fourth"]);
  expect(made).toHaveLength(2);
});

test("a wait ends with a reason when nothing becomes free", async () => {
  const { pool } = fakes({ max: 1, acquireTimeoutMs: 5 });
  await pool.acquire();
  await expect(pool.acquire()).rejects.toMatchObject({ code: "ACQUIRE_TIMEOUT" });
});

test("an aborted wait leaves its place to the next", async () => {
  const { pool } = fakes({ max: 1 });
  const only = await pool.acquire();
  const controller = new AbortController();
  const given = pool.acquire(controller.signal);
  const next = pool.acquire();
  controller.abort();
  await expect(given).rejects.toMatchObject({ code: "cancelled" });
  pool.release(only);
  expect(await next).toBe(only);
});

test("a dead or worn connection is replaced", async () => {
  const { pool, made } = fakes({ max: 1, lifetimeMs: 1_000 });
  const first = await pool.acquire();
  nth(made, 0).alive = false;
  pool.release(first);
  await pool.acquire();
  const second = nth(made, 1);
  second.bornAt -= 2_000;
  pool.release(second);
  expect(second.closed).toBe(true);
  await pool.acquire();
  expect(made).toHaveLength(3);
});

test("a dead connection that comes back lets a waiter have a new one", async () => {
  const { pool, made } = fakes({ max: 1 });
  const first = await pool.acquire();
  const waiting = pool.acquire();
  nth(made, 0).alive = false;
  pool.release(first);
  expect(await waiting).toBe(nth(made, 1));
});

test("a failure to connect is told to who waits, and the next one tries again", async () => {
  let broken = true;
  const { pool } = fakes({}, () => (broken ? Object.assign(new Error("x"), { code: "ECONNREFUSED" }) : undefined));
  await expect(pool.acquire()).rejects.toMatchObject({ code: "ECONNREFUSED" });
  broken = false;
  expect((await pool.acquire()).alive).toBe(true);
});

test("close waits for what is lent, refuses who comes later, and closes all", async () => {
  const { pool, made } = fakes();
  const [lent, free] = [await pool.acquire(), await pool.acquire()];
  pool.release(free);
  const closing = pool.close();
  await expect(pool.acquire()).rejects.toMatchObject({ code: "CONNECTION_ENDED" });
  pool.release(lent);
  await closing;
  expect(made.every((client) => client.closed)).toBe(true);
});
