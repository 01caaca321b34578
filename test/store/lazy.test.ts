import { expect, test } from "bun:test";
import { lazyDatabase } from "../../src/store/lazy.ts";
import type { Database } from "../../src/store/port.ts";
import { testScope } from "../support/engines.ts";

const traits = { concurrent: true, crossProcessNotify: true, serverVersion: 150_000 };

test("whoever reaches for the database gets the one that the calls use, and it is closed once", async () => {
  let opened = 0;
  let closed = 0;
  const open = async () => {
    opened++;
    await Promise.resolve();
    return {
      traits,
      read: () => Promise.resolve("read"),
      name: `database ${opened}`,
      [Symbol.asyncDispose]: async () => {
        closed++;
      },
    } as unknown as Database & { readonly name: string };
  };
  const lazy = lazyDatabase(open, traits);
  const [read, reached] = await Promise.all([lazy.read(testScope(), () => Promise.resolve("")), lazy.reach()]);
  expect([read, reached.name, (await lazy.reach()).name]).toEqual(["read", "database 1", "database 1"]);
  await lazy[Symbol.asyncDispose]();
  expect([opened, closed]).toEqual([1, 1]);
});
