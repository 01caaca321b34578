/**
 * How many rows the statements of a transaction visit, triggers and row security included: the engine's own counters, not time and not a plan made for
 * the occasion. What a plan costs that is kept for years shows only in the statement that keeps it.
 */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { int8, query } from "../../src/store/codecs.ts";
import type { Database, Tx } from "../../src/store/port.ts";

const counters = query(
  z.object({ table: z.string(), rows: int8 }),
  () => sql`
  select t.relname as "table", coalesce(t.seq_tup_read, 0) + coalesce(t.idx_tup_fetch, 0) as rows
  from pg_stat_xact_user_tables as t where t.schemaname = 'public' order by t.relname`,
);

export type Visits = Readonly<Record<string, number>>;

/** `db` with the visits of its latest write, by table; tables that were not visited are absent. */
export function counting(db: Database): { readonly db: Database; readonly latest: () => Visits } {
  let latest: Visits = {};
  const read = async (tx: Tx) => new Map((await tx.all(counters(undefined))).map(({ table, rows }) => [table, rows]));
  const counted: Database = {
    traits: db.traits,
    read: (ctx, work, limits) => db.read(ctx, work, limits),
    // The counters may hold what earlier transactions left: the difference counts.
    write: (ctx, work, limits) =>
      db.write(
        ctx,
        async (tx) => {
          const before = await read(tx);
          const result = await work(tx);
          const after = [...(await read(tx))].map(([table, rows]) => [table, rows - (before.get(table) ?? 0)] as const);
          latest = Object.fromEntries(after.filter(([, rows]) => rows > 0));
          return result;
        },
        limits,
      ),
    tryLock: (key) => db.tryLock(key),
    listen: (channel, onPayload) => db.listen(channel, onPayload),
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  };
  return { db: counted, latest: () => latest };
}
