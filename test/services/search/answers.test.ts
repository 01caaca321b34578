import { beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { fuse } from "../../../src/domain/retrieval/fusion.ts";
import { unavailable } from "../../../src/kernel/errors.ts";
import { newId } from "../../../src/kernel/ids.ts";
import type { Database } from "../../../src/store/port.ts";
import { eachEngine, testScope } from "../../support/engines.ts";
import {
  callContext,
  embedderOf,
  faroOver,
  idsOf,
  noEmbedder,
  rowsOf,
  seedEntity,
  seedEpisode,
  seedError,
  seedMany,
  seedObservation,
  vectorOf,
} from "../../support/search.ts";

const access = async (db: Database) =>
  db.read(testScope(), (tx) =>
    tx.all({ schema: accessRow, statement: sql`select id, access_count from brain_observations where access_count > 0 order by id` }),
  );

import { z } from "zod";

const accessRow = z.object({ id: z.string(), access_count: z.int() });

eachEngine("an answer of cuba_faro", (engine) => {
  beforeEach(() => engine.db.reset());

  test("clamps limit: −5 and 0 → 1, 7 → 7, 999 → 50, absent → 10", async () => {
    await seedMany(
      engine.db,
      Array.from({ length: 60 }, (_, at) => `walnut number ${at}`),
    );
    const { ask } = faroOver(engine.db);
    for (const [limit, rows] of [
      [-5, 1],
      [0, 1],
      [7, 7],
      [999, 50],
      [undefined, 10],
    ] as const)
      expect([
        limit,
        rowsOf(await ask({ query: "walnut", ...(limit === undefined ? {} : { limit }), max_tokens: 100_000 })).length,
      ]).toEqual([limit, rows]);
  });

  test("has compact rows of exactly six keys, errors readable among them, and verbose ones with the score of each arm", async () => {
    const { db } = engine;
    await seedObservation(db, { entity: "Redis", content: "walnut timeout is thirty seconds" });
    await seedEpisode(db, { entity: "Redis", content: "walnut was flushed by hand" });
    await seedError(db, { type: "TimeoutError", message: "walnut did not answer", solution: "restart walnut" });
    await seedEntity(db, { name: "walnut" });
    const compact = rowsOf(await faroOver(db).ask({ query: "walnut" }));
    expect(compact.map((row) => row.t).sort()).toEqual(["entity", "episode", "error", "observation"]);
    for (const row of compact)
      expect(
        Object.keys(row)
          .filter((key) => key !== "resolved")
          .sort(),
      ).toEqual(["c", "e", "i", "id", "s", "t"]);
    expect(compact.find((row) => row.t === "error")).toMatchObject({
      e: "TimeoutError",
      c: "walnut did not answer → restart walnut",
      resolved: true,
    });
    expect(compact.find((row) => row.t === "observation")).toMatchObject({ e: "Redis", c: "walnut timeout is thirty seconds", i: 0.5 });
    const verbose = rowsOf(await faroOver(db).ask({ query: "walnut", format: "verbose" }));
    for (const row of verbose) {
      for (const key of ["text_score", "vector_score", "bm25_score", "fused_score"]) expect(row[key]).toBeNumber();
      const shares = ["text_score", "vector_score", "bm25_score", "entity_score"].reduce((sum, key) => sum + Number(row[key] ?? 0), 0);
      expect(shares).toBeCloseTo(Number(row.fused_score), 6);
    }
    expect(verbose.find((row) => row.type === "error")).toMatchObject({
      error_type: "TimeoutError",
      error_message: "walnut did not answer",
      resolved: true,
    });
  });

  test("cuts 1300 letters at 1200 and says so", async () => {
    await seedObservation(engine.db, { entity: "walnut", content: "ñ".repeat(1_300) });
    const [row] = rowsOf(await faroOver(engine.db).ask({ query: "walnut", scope: "observations" }));
    expect([String(row?.c).length, row?.truncated]).toEqual([1_200, true]);
  });

  test("keeps to its token budget, marks what it cut, and says how to read on", async () => {
    await seedMany(
      engine.db,
      Array.from({ length: 10 }, (_, at) => `walnut ${at} ${`word${at} `.repeat(80)}`),
    );
    const answer = await faroOver(engine.db).ask({ query: "walnut", max_tokens: 600 });
    expect(answer).toMatchObject({ truncated: true, total: 10 });
    expect(rowsOf(answer).length).toBeLessThan(10);
    expect(rowsOf(answer).at(-1)?.truncated).toBe(true);
  });

  test("counts as used only what was returned, by one, and nothing with track_access false", async () => {
    const ids = await seedMany(
      engine.db,
      Array.from({ length: 5 }, (_, at) => `walnut ${at}`),
    );
    const { ask, service } = faroOver(engine.db);
    await ask({ query: "walnut", track_access: false });
    await service.settled();
    expect(await access(engine.db)).toEqual([]);
    const answer = await ask({ query: "walnut", limit: 2 });
    await service.settled();
    expect(await access(engine.db)).toEqual(
      idsOf(answer)
        .map((id) => ({ id: String(id), access_count: 1 }))
        .sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
    expect(ids).toHaveLength(5);
  });

  test("finds a misspelt word's memory, without calling it a match of the words", async () => {
    const id = await seedObservation(engine.db, { entity: "db", content: "the kubernetes cluster restarts on Sundays" });
    await seedMany(engine.db, ["kitchen table", "kubrick film night", "nothing at all"]);
    const [row] = rowsOf(await faroOver(engine.db).ask({ query: "kuberentes", format: "verbose" }));
    expect(row).toMatchObject({ id, bm25_score: 0 });
    expect(row?.text_score).toBeGreaterThan(0);
  });

  test("marks what was written since the caller's session began, by its place", async () => {
    const { db } = engine;
    await seedObservation(db, { content: "walnut one", createdAt: "2025-01-01T00:00:00Z" });
    await seedObservation(db, { content: "walnut two and more", createdAt: "2025-03-01T00:00:00Z" });
    const session = { id: newId(), startedAt: "2025-02-01T00:00:00.000000+00:00" };
    const answer = await faroOver(db).ask({ query: "walnut" }, callContext({ session }));
    const at = rowsOf(answer).findIndex((row) => row.c === "walnut two and more");
    expect(answer.new_since_you_started).toEqual([at]);
    expect(answer.new_since_you_started_note).toContain("indices into results");
    expect(await faroOver(db).ask({ query: "walnut" })).not.toHaveProperty("new_since_you_started");
  });

  test("lifts what the session is about: a row of the named entity passes one that the words prefer", async () => {
    const { db } = engine;
    const plain = await seedObservation(db, { entity: "Backups", content: "walnut schedule" });
    const about = await seedObservation(db, { entity: "PostgreSQL", content: "walnut schedule tonight" });
    const sessionId = newId();
    await db.write(testScope({ scope: { kind: "everything" } }), async (tx) => {
      await tx.run(sql`insert into brain_sessions (id, session_name, goals) values (${sessionId}::uuid, 's', '["move PostgreSQL to 17"]')`);
    });
    const { ask } = faroOver(db);
    expect(idsOf(await ask({ query: "walnut schedule" }))[0]).toBe(plain);
    const session = { id: sessionId, startedAt: "2999-01-01T00:00:00.000000+00:00" };
    const [first] = rowsOf(await ask({ query: "walnut schedule", format: "verbose" }, callContext({ session })));
    expect(first).toMatchObject({ id: about, session_boosted: true });
    expect(first?.score).toBeCloseTo(Number(first?.fused_score) * 1.3, 6);
  });

  test("shows evidence above asserted, and known peers with what is wrong with them", async () => {
    const { db } = engine;
    const id = await seedObservation(db, { content: "walnut is verified" });
    await db.asOwner((connection) =>
      connection.script(`
        update brain_observations set evidence = 'verified', verification = 'bun test', verified_at = '2025-05-01T00:00:00Z' where id = '${id}';
        insert into brain_sync_peers (name, url, last_synced_at, last_error) values
          ('desk', 'http://desk', now() - interval '10 seconds', null), ('lab', 'http://lab', null, null),
          ('old', 'http://old', now() - interval '3 days', null), ('bad', 'http://bad', now(), 'refused')`),
    );
    const answer = await faroOver(db).ask({ query: "walnut" });
    expect(rowsOf(answer)[0]).toMatchObject({ evidence: "verified", verified_at: "2025-05-01T00:00:00.000000+00:00" });
    const peers = answer.sync_peers as { name: string; warning?: string; age_seconds?: number }[];
    expect(peers.map(({ name, warning }) => [name, warning?.split(";")[0]])).toEqual([
      ["bad", "the last exchange failed"],
      ["desk", undefined],
      ["lab", "never exchanged"],
      ["old", "last exchanged more than a day ago"],
    ]);
  });

  test("asks a question of a thousand words by its rarest ones, and says so", async () => {
    const { db } = engine;
    const common = Array.from({ length: 60 }, (_, at) => `common${at}`);
    await seedMany(
      db,
      common.map((word, at) => `${word} ${common[(at + 1) % 60]} ${common[(at + 7) % 60]}`),
    );
    const wanted = await seedObservation(db, { content: "quokka zebrawood marmalade xylophone tundra" });
    const unknown = Array.from({ length: 40 }, (_, at) => `stranger${at}`);
    const query = [...common, ...unknown, "quokka marmalade tundra", ...common, "zebrawood xylophone"].join(" ");
    const answer = await faroOver(db).ask({ query });
    expect(idsOf(answer)[0]).toBe(wanted);
    expect(answer.degraded_reason).toMatch(/its 48 rarest words were searched, \d+ others were left out/);
    const short = await faroOver(db).ask({ query: [...common.slice(0, 20), "quokka"].join(" ") });
    expect(String(short.degraded_reason)).not.toContain("rarest");
  });

  test("says that a reranker was asked for and is not there, and leaves the order as it was", async () => {
    await seedMany(
      engine.db,
      Array.from({ length: 8 }, (_, at) => `walnut ${"x ".repeat(at)}`),
    );
    const { ask } = faroOver(engine.db);
    const plain = await ask({ query: "walnut" });
    const asked = await ask({ query: "walnut", rerank: true });
    expect(asked).toMatchObject({ reranker_degraded: true, reranker_degraded_code: "no_model" });
    expect(asked.reranker_degraded_reason).toContain("memory-industry models rerank");
    expect(asked.results).toEqual(plain.results);
    expect(plain).not.toHaveProperty("reranker_degraded");
  });

  test("reports the abstention gate only where it was asked for: unavailable without a vector, uncalibrated with one", async () => {
    await seedObservation(engine.db, { content: "walnut" });
    expect(await faroOver(engine.db).ask({ query: "walnut", abstain_ood: true })).toMatchObject({ ood_gate: "unavailable" });
    const withModel = faroOver(engine.db, { embedder: embedderOf({}) });
    expect(await withModel.ask({ query: "walnut", abstain_ood: true })).toMatchObject({ ood_gate: "uncalibrated", count: 1 });
  });

  test("with an embedder that fails says so and still searches the words", async () => {
    const id = await seedObservation(engine.db, { content: "walnut" });
    const failing = {
      ...noEmbedder,
      status: () => ({ state: "ready", model: "m" }) as const,
      embed: async () => {
        throw unavailable("the graph gave NaN.");
      },
    };
    const answer = await faroOver(engine.db, { embedder: failing }).ask({ query: "walnut" });
    expect(idsOf(answer)).toEqual([id]);
    expect(answer.degraded_reason).toBe("Meaning was not searched, only words: the graph gave NaN. Run 'memory-industry doctor'.");
  });

  test("compares only vectors of the running model", async () => {
    const id = await seedObservation(engine.db, { content: "something", vector: vectorOf({ 1: 1 }) });
    await engine.db.asOwner((connection) => connection.script("update brain_observations set embedding_model = 'another/name-type-1'"));
    const answer = await faroOver(engine.db, { embedder: embedderOf({ question: vectorOf({ 1: 1 }) }) }).ask({ query: "question" });
    expect(idsOf(answer)).not.toContain(id);
  });

  test("adds what the graph connects to a question about connections, without evicting what was found", async () => {
    const { db } = engine;
    for (const name of ["API", "Gateway", "Certificate"]) await seedEntity(db, { name });
    const far = await seedObservation(db, { entity: "Certificate", content: "renewed each March", importance: 0.9 });
    const near = await seedObservation(db, { entity: "API", content: "API goes through it" });
    await db.asOwner((connection) =>
      connection.script(`insert into brain_relations (from_entity, to_entity, relation_type, strength)
        select f.id, t.id, 'depends_on', 1 from brain_entities f, brain_entities t
        where (f.name, t.name) in (('API', 'Gateway'), ('Gateway', 'Certificate'))`),
    );
    const answer = await faroOver(db).ask({ query: "de qué depende la API", format: "verbose" });
    expect(answer.query_class).toBe("multi_hop");
    expect(idsOf(answer)).toContain(near);
    expect(rowsOf(answer).find((row) => row.id === far)).toMatchObject({ ppr_expanded: true, text_score: 0 });
    expect(answer.graph_paths).toContainEqual({ n: ["API", "Gateway", "Certificate"], r: ["depends_on", "depends_on"], s: 0.333 });
    expect(answer.ppr_entities).toContain("Certificate");
    expect(answer.graph_hop_ball_tokens).toBeGreaterThan(0);
    const one = await faroOver(db).ask({ query: "de qué depende la API", limit: 1 });
    expect(idsOf(one)).not.toContain(far);
  });

  test("spreads over the graph on request alone, with small scores and a mark", async () => {
    const { db } = engine;
    for (const name of ["walnut", "hazel"]) await seedEntity(db, { name });
    const id = await seedObservation(db, { entity: "hazel", content: "something else", importance: 1 });
    await db.asOwner((connection) =>
      connection.script(
        "insert into brain_relations (from_entity, to_entity, relation_type) select f.id, t.id, 'uses' from brain_entities f, brain_entities t where f.name = 'walnut' and t.name = 'hazel'",
      ),
    );
    const { ask } = faroOver(db);
    expect(idsOf(await ask({ query: "walnut" }))).not.toContain(id);
    const row = rowsOf(await ask({ query: "walnut", associative: true, format: "verbose" })).find((each) => each.id === id);
    expect(row).toMatchObject({ associative: true, fused_score: 0.017 });
  });

  test("diversifies on request: of three near copies and another row the other one comes second", async () => {
    const { db } = engine;
    await seedMany(db, [
      "walnut harvest began early this year",
      "walnut harvest began early this season",
      "walnut harvest began early this autumn",
    ]);
    const other = await seedObservation(db, { content: "walnut oil price fell sharply after the holidays" });
    const { ask } = faroOver(db);
    const plain = idsOf(await ask({ query: "walnut harvest began early", limit: 3 }));
    const diverse = idsOf(await ask({ query: "walnut harvest began early", limit: 3, diversify: true, mmr_lambda: 0.3 }));
    expect(plain).not.toContain(other);
    expect(diverse[0]).toBe(plain[0] ?? "");
    expect(diverse[1]).toBe(other);
  });
});

eachEngine("mode=verify without a judge", (engine) => {
  beforeEach(() => engine.db.reset());

  test("gathers what is on topic and leaves it unknown, also where the texts differ in a negation", async () => {
    const { db } = engine;
    const id = await seedObservation(db, { entity: "flags", content: "the new parser is enabled by default" });
    await seedObservation(db, { entity: "flags", content: "the new parser is enabled by default", trust: "quarantined" });
    await seedMany(db, ["lunch is at noon"]);
    const answer = await faroOver(db).ask({ mode: "verify", query: "the new parser is not enabled by default" });
    expect(answer).toMatchObject({
      mode: "verify",
      grounding: "unknown",
      confidence: 0,
      evidence_count: 1,
      judged_by: "none",
      verdicts_reached: 0,
      calibrated_accuracy: null,
      calibrated_n: 0,
    });
    expect(answer.evidence).toMatchObject([{ id, entity: "flags", type: "fact" }]);
    expect(answer.interpretation).toContain("no judge is installed");
    expect(answer.degraded_reason).toContain("memory-industry models embed");
    const { rows } = await db.asOwner((connection) =>
      connection.query("select id, outcome, grounding_level, entity_name, evidence_ids from brain_verify_log"),
    );
    expect(rows).toEqual([
      { id: String(answer.verify_id), outcome: "pending", grounding_level: "unknown", entity_name: "flags", evidence_ids: [] },
    ]);
  });

  test("says that nothing relates where nothing does, and how often such answers were right once some were resolved", async () => {
    const { db } = engine;
    await db.asOwner((connection) =>
      connection.script(`insert into brain_verify_log (claim, confidence, grounding_level, outcome, resolved_at)
        values ('a', 0, 'unknown', 'correct', now()), ('b', 0, 'unknown', 'incorrect', now()), ('c', 0, 'unknown', 'correct', now())`),
    );
    const answer = await faroOver(db).ask({ mode: "verify", query: "the moon is made of basalt", limit: 3 });
    expect(answer).toMatchObject({ evidence: [], grounding: "unknown", calibrated_accuracy: 0.6, calibrated_n: 3 });
    expect(answer.interpretation).toContain("treat it as unverified");
  });
});

describe("fusion as the pipeline uses it", () => {
  test("ties go to the lower id, the same in five runs", () => {
    const arms = [
      {
        name: "bm25",
        hits: [
          { id: "b", score: 1 },
          { id: "a", score: 1 },
        ],
      },
    ] as const;
    for (let run = 0; run < 5; run++)
      expect(fuse("scores", arms, { text: 0.5, vector: 0.5, bm25: 0.5 }).map(({ id }) => id)).toEqual(["a", "b"]);
  });
});
