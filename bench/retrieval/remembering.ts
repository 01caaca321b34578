/** A database that remembers what it answered: variants of one search over rows that do not change ask it most statements again. */
import { z } from "zod";
import type { Database, Query, Tx } from "../../src/store/port.ts";
import { compile } from "../../src/store/transaction.ts";

export interface Remembering {
  readonly db: Database;
  /** Memory is finite: what one set asked is not asked by the next. */
  forget(): void;
}

/** Reads of `db`, each statement answered once; the transactions are real, and so is everything that is not a read. Its times mean nothing. */
export function remembering(db: Database): Remembering {
  const answers = new Map<string, readonly unknown[]>();
  const rowsOf = async <T>(tx: Tx, scope: string, query: Query<T>): Promise<T[]> => {
    const { text, params } = compile(query.statement);
    const key = new Bun.CryptoHasher("sha256").update(JSON.stringify([scope, text, params], bigintAsText)).digest("base64");
    const rows = answers.get(key) ?? (await tx.all({ schema: z.unknown(), statement: query.statement }));
    answers.set(key, rows);
    return rows.map((row) => query.schema.parse(row));
  };
  const wrapped = (tx: Tx, scope: string): Tx => ({
    all: (query) => rowsOf(tx, scope, query),
    first: async (query) => (await rowsOf(tx, scope, query))[0],
    run: (statement) => tx.run(statement),
    savepoint: (work) => tx.savepoint((inner) => work(wrapped(inner, scope))),
  });
  return {
    db: { ...db, read: (ctx, work) => db.read(ctx, (tx) => work(wrapped(tx, JSON.stringify(ctx.scope)))) },
    forget: () => answers.clear(),
  };
}

const bigintAsText = (_key: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);
