/** A part of a search that fails: the others answer, and what was lost is said or at least logged. */
import { beforeEach, expect, test } from "bun:test";
import type { SQL } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import { unavailable } from "../../../src/kernel/errors.ts";
import { createLogger } from "../../../src/kernel/logger.ts";
import type { Database, Tx } from "../../../src/store/port.ts";
import { eachEngine } from "../../support/engines.ts";
import { callContext, embedderOf, faroOver, idsOf, seedObservation, vectorOf } from "../../support/search.ts";

const dialect = new PgDialect();

/** A database in which statements that mention `fragment` fail, as a broken index or a missing right would: all of them, or the first `most`. */
function breaking(db: Database, fragment: string, most = Number.POSITIVE_INFINITY): Database {
  let failures = 0;
  const check = (statement: SQL) => {
    if (dialect.sqlToQuery(statement).sql.includes(fragment) && failures++ < most)
      throw unavailable("The disk is full. Nothing was written.");
  };
  const guard = (tx: Tx): Tx => ({
    all: async (query) => {
      check(query.statement);
      return tx.all(query);
    },
    first: async (query) => {
      check(query.statement);
      return tx.first(query);
    },
    run: (statement) => tx.run(statement),
    savepoint: (work) => tx.savepoint((inner) => work(guard(inner))),
  });
  return {
    traits: db.traits,
    read: (ctx, work, limits) => db.read(ctx, (tx) => work(guard(tx)), limits),
    write: (ctx, work, limits) => db.write(ctx, work, limits),
    tryLock: (key) => db.tryLock(key),
    listen: (channel, onPayload) => db.listen(channel, onPayload),
    [Symbol.asyncDispose]: async () => {},
  };
}

eachEngine("a search of which a part fails", (engine) => {
  beforeEach(() => engine.db.reset());

  test("names the leg that failed, what was lost and the command, and keeps the others", async () => {
    const { db } = engine;
    const id = await seedObservation(db, { content: "walnut", vector: vectorOf({ 1: 1 }) });
    const embedder = embedderOf({ walnut: vectorOf({ 1: 1 }) });
    for (const [fragment, lost] of [
      ["brain_postings", "Words were not searched: The disk is full."],
      ["ts_rank(", "Full text did not score what was found: The disk is full."],
      ["<=>", "Meaning was not searched: The disk is full."],
    ] as const) {
      const answer = await faroOver(breaking(db, fragment), { embedder }).ask({ query: "walnut" });
      expect(idsOf(answer)).toContain(id);
      expect(answer.degraded).toBe(true);
      expect(answer.degraded_reason).toStartWith(lost);
      expect(answer.degraded_reason).toContain("memory-industry doctor");
      expect(answer.bm25_degraded).toBe(fragment === "brain_postings" ? true : undefined);
    }
  });

  test("where only the count of what has no vector fails, does not say that meaning was not searched", async () => {
    const id = await seedObservation(engine.db, { content: "walnut", vector: vectorOf({ 1: 1 }) });
    const embedder = embedderOf({ "a nut": vectorOf({ 1: 1 }) });
    const answer = await faroOver(breaking(engine.db, "embedding_model <>"), { embedder }).ask({ query: "a nut" });
    expect(idsOf(answer)).toEqual([id]);
    expect(answer.degraded_reason).toStartWith(
      "Meaning was searched, but whether memories without a fitting vector were left out is not known: The disk is full.",
    );
  });

  test("says once that it is not known what has no vector, although that is asked twice", async () => {
    const id = await seedObservation(engine.db, { content: "walnut", vector: vectorOf({ 1: 1 }) });
    const embedder = embedderOf({ walnut: vectorOf({ 1: 1 }) });
    const answer = await faroOver(breaking(engine.db, "from brain_observation_chunks as c where c."), { embedder }).ask({
      query: "walnut",
    });
    expect(idsOf(answer)).toEqual([id]);
    expect(answer.degraded_reason).toBe(
      "Meaning was searched, but whether memories without a fitting vector were left out is not known: The disk is full. Nothing was written. Run 'memory-industry doctor'.",
    );
  });

  test("leaves a trace of what failed once and not again, and is whole", async () => {
    const id = await seedObservation(engine.db, { content: "walnut", vector: vectorOf({ 1: 1 }) });
    const lines: string[] = [];
    const log = createLogger({ level: "debug", write: (line) => lines.push(line) });
    const embedder = embedderOf({ walnut: vectorOf({ 1: 1 }) });
    const answer = await faroOver(breaking(engine.db, "<=>", 1), { embedder }).ask({ query: "walnut" }, callContext({ log }));
    expect(idsOf(answer)).toEqual([id]);
    expect(answer).not.toHaveProperty("degraded");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: "debug", cause: "The disk is full. Nothing was written." }]);
    expect(lines.join()).not.toContain("walnut");
  });
});
