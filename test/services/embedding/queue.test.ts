import { afterEach, beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { silentLogger } from "../../../src/kernel/logger.ts";
import { createEmbeddingQueue } from "../../../src/services/embedding/queue.ts";
import { createVectors } from "../../../src/services/embedding/vectors.ts";
import { letterVector, stateOf, testEmbedder } from "../../support/embedder.ts";
import { eachEngine } from "../../support/engines.ts";
import { graphOver as graphWith } from "../../support/graph.ts";
import { row, rows } from "../../support/statements.ts";

const DRAIN_MS = 30_000;

eachEngine("the embedding queue", (engine) => {
  beforeEach(() => engine.db.reset());
  const db = () => engine.db;
  /** A queue that pauses comes back by itself: each test ends those it made. */
  const made: { stop(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const queue of made.splice(0)) await queue.stop();
  });
  const graphOver: typeof graphWith = (...parts) => {
    const graph = graphWith(...parts);
    made.push(graph.queue);
    return graph;
  };
  const withModel = () => {
    const embedder = testEmbedder("ready");
    const graph = graphOver(engine.db, { embedder });
    const add = (content: string, more: Record<string, unknown> = {}) =>
      graph.caller()("cuba_cronica", { action: "add", entity_name: "Postgres", content, ...more });
    return { ...graph, embedder, add };
  };
  const missing = async () =>
    (
      await row(
        db(),
        sql`select ((select count(*) from brain_observations where embedding is null) + (select count(*) from brain_observation_chunks where embedding is null)
                    + (select count(*) from brain_episodes where embedding is null) + (select count(*) from brain_procedures where embedding is null))::int as n`,
      )
    ).n;

  test("answers a write before its model does, and has the vector when it is drained", async () => {
    const { add, embedder, queue } = withModel();
    const slow = Promise.withResolvers<void>();
    embedder.before = () => slow.promise;
    expect(await add("needs a restart after an upgrade")).toMatchObject({ embedding: "pending" });
    expect(await missing()).toBe(1);
    slow.resolve();
    expect(await queue.drain(DRAIN_MS)).toBe(0);
    const stored = await row(db(), sql`select embedding::text as vector, embedding_model as label, version from brain_observations`);
    expect([stored.label, stored.version]).toEqual(["letters/name-type-1", 1]);
    const vector = Float32Array.from(JSON.parse(String(stored.vector)));
    const expected = letterVector("Postgres (concept): needs a restart after an upgrade");
    expect(Math.max(...vector.map((value, at) => Math.abs(value - (expected[at] ?? 0))))).toBeLessThan(1e-6);
    expect(embedder.asked).toEqual(["Postgres (concept): needs a restart after an upgrade"]);
  });

  test("whoever reads its own write waits for the vector of it", async () => {
    const { add, embedder, queue } = withModel();
    await queue.caughtUp(DRAIN_MS);
    const slow = Promise.withResolvers<void>();
    embedder.before = () => slow.promise;
    await add("listens on port 9090");
    let isDone = false;
    const waiting = queue.caughtUp(DRAIN_MS).then(() => {
      isDone = true;
    });
    expect([await missing(), isDone]).toEqual([1, false]);
    slow.resolve();
    await waiting;
    expect(await missing()).toBe(0);
  });

  test("nobody waits longer than it wants, nor for a backlog", async () => {
    const { add, embedder, queue } = withModel();
    const slow = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    embedder.before = () => {
      asked.resolve();
      return slow.promise;
    };
    await add("the first of nine");
    await queue.caughtUp(1);
    expect(await missing()).toBe(1);
    for (let count = 0; count < 8; count++) await add(`another one with the number ${count}`);
    slow.resolve();
    const backlog = Promise.withResolvers<void>();
    embedder.before = () => backlog.promise;
    // The next round is full: what waits behind it is not known.
    await queue.caughtUp(DRAIN_MS);
    expect(await missing()).toBeGreaterThanOrEqual(8);
    backlog.resolve();
    expect(await queue.drain(DRAIN_MS)).toBe(0);
  });

  test("makes vectors of slices, episodes and procedures too, and a row is ready with all of its own", async () => {
    const { add, caller, queue, embedder } = withModel();
    const long = "One sentence of many about it. ".repeat(100);
    const { chunks } = await add(long);
    await caller()("cuba_cronica", { action: "episode_add", entity_name: "Postgres", content: "It was restarted" });
    await rows(db(), sql`insert into brain_procedures (name, trigger_context) values ('restart', 'after an upgrade')`);
    queue.poke();
    expect(await queue.drain(DRAIN_MS)).toBe(0);
    expect(await missing()).toBe(0);
    expect(embedder.asked).toHaveLength(1 + Number(chunks) + 1 + 1);
    expect(embedder.asked).toContain("restart. after an upgrade");
    expect(embedder.asked).toContain("Postgres (concept): It was restarted");
    expect(await add(long)).toMatchObject({ deduplicated: true, embedding: "ready" });
    await rows(db(), sql`update brain_observation_chunks set embedding = null, embedding_model = null where chunk_index = 1`);
    expect(await add(long)).toMatchObject({ deduplicated: true, embedding: "pending" });
  });

  test("gives a text that begins with a byte-order mark its vector, like any other", async () => {
    const { add, caller, embedder, queue } = withModel();
    await add("\ufeffThe first line of a file was pasted with its mark");
    await caller()("cuba_cronica", { action: "add", entity_name: "\ufeffMarked", content: "\ufeff\u0001 control and \u{1f9e0} astral" });
    expect(await queue.drain(DRAIN_MS)).toBe(0);
    expect(await missing()).toBe(0);
    expect(embedder.asked).toHaveLength(2);
  });

  test("without a model leaves rows alone, and fills them once one is there", async () => {
    const embedder = testEmbedder("missing");
    const { caller, queue } = graphOver(engine.db, { embedder });
    const add = (content: string) => caller()("cuba_cronica", { action: "add", entity_name: "E", content });
    await add("Stored before a model was there");
    expect(await queue.drain(DRAIN_MS)).toBe(0);
    expect([await missing(), embedder.asked.length]).toEqual([1, 0]);
    embedder.state = stateOf("failed");
    queue.poke();
    expect([await queue.drain(DRAIN_MS), await missing()]).toEqual([0, 1]);
    embedder.state = stateOf("idle");
    queue.poke();
    expect([await queue.drain(DRAIN_MS), await missing()]).toEqual([0, 0]);
  });

  test("a new process takes up what an old one left", async () => {
    const before = testEmbedder("missing");
    await graphOver(engine.db, { embedder: before }).caller()("cuba_cronica", {
      action: "add",
      entity_name: "E",
      content: "Left without a vector",
    });
    const { queue } = withModel();
    queue.poke();
    expect([await queue.drain(DRAIN_MS), await missing()]).toEqual([0, 0]);
  });

  test("stores no vector for a text, a name or a type that changed while it was embedded", async () => {
    const { add, embedder, queue, caller } = withModel();
    const changes = [
      sql`update brain_observations set content = 'says something else by now'`,
      sql`update brain_entities set name = 'Renamed'`,
      sql`update brain_entities set entity_type = 'person'`,
    ];
    embedder.before = async () => {
      const change = changes.shift();
      if (change !== undefined) await rows(db(), change);
    };
    await add("says this while it is embedded");
    expect(await queue.drain(DRAIN_MS)).toBe(0);
    expect(embedder.asked).toEqual([
      "Postgres (concept): says this while it is embedded",
      "Postgres (concept): says something else by now",
      "Renamed (concept): says something else by now",
      "Renamed (person): says something else by now",
    ]);
    const stored = await row(db(), sql`select embedding::text as vector from brain_observations`);
    expect(Float32Array.from(JSON.parse(String(stored.vector)))[0]).toBeCloseTo(letterVector(embedder.asked.at(-1) ?? "")[0] ?? -1, 6);
    await caller()("cuba_alma", { action: "update", name: "Renamed", new_name: "Again" });
    expect(await queue.drain(DRAIN_MS)).toBe(0);
    expect(embedder.asked.at(-1)).toBe("Again (person): says something else by now");
  });

  test("gives a text that fails three tries, then leaves it and says so, and the others get theirs", async () => {
    const { add, embedder, queue } = withModel();
    embedder.before = (text) => {
      if (text.includes("poison")) throw new Error("the model choked");
    };
    await add("A text with poison in it");
    await add("A text that is fine");
    expect(await queue.drain(DRAIN_MS)).toBe(1);
    expect(embedder.asked.filter((text) => text.includes("poison"))).toHaveLength(3);
    expect(await rows(db(), sql`select content from brain_observations where embedding is null`)).toEqual([
      { content: "A text with poison in it" },
    ]);
    await add("Another text that is fine");
    expect(await queue.drain(DRAIN_MS)).toBe(1);
    expect(embedder.asked.filter((text) => text.includes("poison"))).toHaveLength(3);
  });

  test("stores no vector of another length, and none under a label that changed on the way", async () => {
    // The writer has no model: a queue of its own, poked by the write, could still be failing when the second half begins.
    const { caller } = graphOver(db());
    await caller()("cuba_cronica", { action: "add", entity_name: "Postgres", content: "Three numbers are no vector of this table" });
    const embedder = testEmbedder("ready");
    embedder.dimensions = 3;
    const paused: number[] = [];
    const queue = createEmbeddingQueue({
      db: db(),
      embedder,
      vectors: createVectors({ db: db(), embedder, log: silentLogger }),
      log: silentLogger,
      later: (_work, ms) => paused.push(ms),
    });
    made.push(queue);
    queue.poke();
    expect(await queue.drain(DRAIN_MS)).toBe(1);
    expect(paused).toEqual([1_000]);
    embedder.dimensions = 384;
    embedder.before = () => {
      embedder.label = embedder.label === "letters/name-type-1" ? "other/name-type-1" : embedder.label;
    };
    expect(await queue.drain(DRAIN_MS)).toBe(0);
    expect(await rows(db(), sql`select embedding_model from brain_observations`)).toEqual([{ embedding_model: "other/name-type-1" }]);
  });

  test("stops in the middle when the model is gone, and says nothing is on its way", async () => {
    const { add, embedder, queue } = withModel();
    embedder.before = () => {
      embedder.state = stateOf("failed");
      throw new Error("the worker died");
    };
    await add("The first of two texts");
    await add("The second of two texts");
    expect(await queue.drain(DRAIN_MS)).toBe(0);
    expect(await missing()).toBe(2);
    expect(embedder.asked).toHaveLength(1);
  });

  test("a drain that runs out of time tells how many are left, and a stop gives up what runs", async () => {
    const { add, embedder, queue } = withModel();
    const never = Promise.withResolvers<void>();
    embedder.before = () => never.promise;
    await add("The first of two texts");
    await add("The second of two texts");
    expect(await queue.drain(50)).toBe(2);
    const stopped = queue.stop();
    never.reject(new Error("given up"));
    await stopped;
    expect(await missing()).toBe(2);
    queue.poke();
    expect(await queue.drain(50)).toBe(0);
  });

  test("asks the model for one text at a time, so that a question never waits for a batch", async () => {
    const { caller, embedder, queue } = withModel();
    let most = 0;
    let now = 0;
    embedder.before = async () => {
      now++;
      most = Math.max(most, now);
      await new Promise((resolve) => setImmediate(resolve));
      now--;
    };
    const observations = Array.from({ length: 20 }, (_, i) => ({
      entity_name: "E",
      content: `text ${"abcdefghijklmnopqrst".charAt(i).repeat(9)}`,
    }));
    await caller()("cuba_cronica", { action: "batch_add", observations });
    expect(await queue.drain(DRAIN_MS)).toBe(0);
    expect([most, embedder.asked.length, await missing()]).toEqual([1, 20, 0]);
  });

  test("backfills the most important first, at most as many as it may", async () => {
    const { caller, embedder } = withModel();
    embedder.state = stateOf("missing");
    for (const [content, type] of [
      ["A fact of little weight", "fact"],
      ["A decision of great weight", "decision"],
      ["A lesson of some weight", "lesson"],
    ])
      await caller()("cuba_cronica", { action: "add", entity_name: "E", content, observation_type: type });
    embedder.state = stateOf("ready");
    const { queue } = graphOver(engine.db, { embedder });
    const { signal } = new AbortController();
    expect(await queue.backfill(0, signal)).toBe(0);
    expect(await queue.backfill(2, signal)).toBe(2);
    expect(embedder.asked).toEqual(["E (concept): A decision of great weight", "E (concept): A lesson of some weight"]);
    expect(await missing()).toBe(1);
  });

  test("a backfill shares its limit among all kinds, and ends where it is told to stop; what was embedded is kept", async () => {
    const { caller, embedder } = withModel();
    embedder.state = stateOf("missing");
    for (const content of ["the first of three", "the second of them", "the third and last"])
      await caller()("cuba_cronica", { action: "add", entity_name: "E", content });
    await rows(
      db(),
      sql`insert into brain_episodes (entity_id, content) select e.id, 'it was deployed' from brain_entities as e returning id`,
    );
    embedder.state = stateOf("ready");
    const { queue } = graphOver(engine.db, { embedder });
    const stop = new AbortController();
    embedder.before = async () => stop.abort();
    expect([await queue.backfill(10, stop.signal), embedder.asked.length, await missing()]).toEqual([1, 1, 3]);
    expect([await queue.backfill(10, stop.signal), embedder.asked.length]).toEqual([0, 1]);
    embedder.before = async () => {};
    const { signal } = new AbortController();
    expect([await queue.backfill(2, signal), await missing()]).toEqual([2, 1]);
    expect([await queue.backfill(2, signal), await missing()]).toEqual([1, 0]);
  });

  test("leaves retired rows alone", async () => {
    const { caller, embedder } = withModel();
    embedder.state = stateOf("missing");
    await caller()("cuba_cronica", { action: "add", entity_name: "E", content: "Retired before it had a vector. ".repeat(100) });
    await rows(db(), sql`update brain_observations set observation_type = 'superseded'`);
    embedder.state = stateOf("ready");
    const { queue } = graphOver(engine.db, { embedder });
    expect([await queue.drain(DRAIN_MS), embedder.asked.length]).toEqual([0, 0]);
  });
});
