import { beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { vectorParam } from "../../../src/store/codecs.ts";
import { eachEngine } from "../../support/engines.ts";
import {
  callContext,
  embedderOf,
  faroOver,
  idsOf,
  LABEL,
  rowsOf,
  seedEpisode,
  seedError,
  seedMany,
  seedObservation,
  seedProject,
  vectorOf,
} from "../../support/search.ts";

const fillers = Array.from(
  { length: 200 },
  (_, at) => `Release note ${at}: the nightly build of component number ${at * 7} finished after ${at % 13} retries.`,
);

eachEngine("cuba_faro without a model", (engine) => {
  beforeEach(() => engine.db.reset());

  test("finds a Chinese, a Spanish and an English memory among 200 others, accents typed or not, and says what was not searched", async () => {
    const { db } = engine;
    await seedMany(db, fillers, "builds");
    const zh = await seedObservation(db, { entity: "部署", content: "生产数据库每晚两点自动备份到新加坡机房。" });
    const es = await seedObservation(db, {
      entity: "facturación",
      content: "La configuración de la facturación electrónica vence en septiembre.",
    });
    const en = await seedObservation(db, { entity: "auth", content: "Call renewToken in src/auth/session.ts before the token expires." });
    const { ask } = faroOver(db);
    for (const [query, id] of [
      ["数据库备份到哪里？", zh],
      ["¿cuándo vence la facturación electrónica?", es],
      ["cuando vence la facturacion electronica", es],
      ["where is the token renewed", en],
      ["renewToken", en],
      ["renew token", en],
      ["src/auth/session.ts", en],
      ["session.ts", en],
    ] as const) {
      const answer = await ask({ query });
      expect([query, idsOf(answer)[0]]).toEqual([query, id]);
      expect(answer.degraded).toBe(true);
      expect(answer.degraded_reason).toContain("memory-industry models embed");
    }
  }, 60_000);

  test("finds nothing by stop words alone, and that is no degradation of the words", async () => {
    await seedObservation(engine.db, { content: "the thing de la casa 的" });
    const answer = await faroOver(engine.db).ask({ query: "的 the de", scope: "errors" });
    expect(answer.results).toEqual([]);
    expect(answer).not.toHaveProperty("degraded");
    expect(idsOf(await faroOver(engine.db).ask({ query: "的 the de" }))).toEqual([]);
  });

  test("ranks a rare word above a frequent one, and of two rows with the same word the shorter one first", async () => {
    const { db } = engine;
    for (let at = 0; at < 20; at++) await seedObservation(db, { content: `deploy run ${at} went well` });
    const rare = await seedObservation(db, { content: "deploy of the zeppelin went well" });
    const long = await seedObservation(db, { content: "quagga herd seen far behind the old river bridge in the late evening light" });
    const short = await seedObservation(db, { content: "quagga herd seen" });
    const { ask } = faroOver(db);
    expect(idsOf(await ask({ query: "zeppelin deploy" }))[0]).toBe(rare);
    expect(idsOf(await ask({ query: "quagga" }))).toEqual([short, long]);
  });

  test("keeps two texts that differ in a number, drops a stored copy, keeps the same text under another entity", async () => {
    const { db } = engine;
    const ids = [
      await seedObservation(db, { entity: "api", content: "the gateway listens on port 8080" }),
      await seedObservation(db, { entity: "api", content: "the gateway listens on port 9090" }),
      await seedObservation(db, { entity: "cache", content: "the gateway listens on port 8080" }),
    ];
    const copy = await seedObservation(db, { entity: "api", content: "the gateway listens on port 8080" });
    const found = idsOf(await faroOver(db).ask({ query: "gateway port" }));
    expect(found.filter((id) => id === copy || id === ids[0])).toHaveLength(1);
    expect(found).toContain(ids[1]);
    expect(found).toContain(ids[2]);
  });

  test("serves no quarantined observation, episode or error, and serves them after promotion", async () => {
    const { db } = engine;
    await seedObservation(db, { content: "xylophone one", trust: "quarantined" });
    await seedEpisode(db, { content: "xylophone two", trust: "quarantined" });
    await seedError(db, { message: "xylophone three", trust: "quarantined" });
    const { ask } = faroOver(db);
    expect(idsOf(await ask({ query: "xylophone" }))).toEqual([]);
    await db.asOwner((connection) =>
      connection.script(
        "update brain_observations set trust='trusted'; update brain_episodes set trust='trusted'; update brain_errors set trust='trusted'",
      ),
    );
    expect(
      rowsOf(await ask({ query: "xylophone" }))
        .map((row) => row.t)
        .sort(),
    ).toEqual(["episode", "error", "observation"]);
  });

  test("shows only rows of the active project, with include_unscoped also those of none, never another's", async () => {
    const { db } = engine;
    const [a, b] = [await seedProject(db, "A"), await seedProject(db, "B")];
    const inA = await seedObservation(db, { content: "kumquat order of A", project: a });
    await seedObservation(db, { content: "kumquat order of B", project: b });
    const inNone = await seedObservation(db, { content: "kumquat order of nobody" });
    const { ask } = faroOver(db);
    const ctx = callContext({ scope: { kind: "project", id: a } });
    expect(idsOf(await ask({ query: "kumquat" }, ctx))).toEqual([inA]);
    expect(idsOf(await ask({ query: "kumquat", include_unscoped: true }, ctx)).sort()).toEqual([inA, inNone].sort());
    expect(idsOf(await ask({ query: "kumquat" }))).toHaveLength(3);
  });

  test("answers the same bytes ten times, and after a restart of the service", async () => {
    const { db } = engine;
    await seedMany(db, fillers.slice(0, 60), "builds");
    const answers = new Set<string>();
    for (let round = 0; round < 10; round++)
      answers.add(JSON.stringify(await faroOver(db).ask({ query: "nightly build component retries", limit: 20 })));
    expect(answers.size).toBe(1);
  });
});

eachEngine("cuba_faro with a model", (engine) => {
  beforeEach(() => engine.db.reset());

  test("a correction whose vector is on its way ranks as it will rank: the question waits for it, in a search and in a check", async () => {
    const { db } = engine;
    const query = "which port does the gateway use";
    await seedObservation(db, { entity: "database", content: "Postgres listens on port 5432", vector: vectorOf({ 0: 1, 1: 1 }) });
    const corrected = await seedObservation(db, { entity: "gateway", content: "The API gateway listens on port 9090" });
    let waited = 0;
    const fresh = {
      caughtUp: async () => {
        waited++;
        const vector = sql`update brain_observations set embedding = ${vectorParam(vectorOf({ 0: 1 }))}, embedding_model = ${LABEL}::text where id = ${corrected}::uuid`;
        await db.write(callContext(), (tx) => tx.run(vector));
      },
    };
    const { ask } = faroOver(db, { embedder: embedderOf({ [query]: vectorOf({ 0: 1 }) }), fresh });
    const answer = await ask({ query });
    expect([idsOf(answer)[0], answer.degraded, waited]).toEqual([corrected, undefined, 1]);
    await ask({ query, mode: "verify" });
    expect(waited).toBe(2);
  });

  test("finds by meaning what shares no word, a healthy answer carries no sign of degradation", async () => {
    const { db } = engine;
    const near = await seedObservation(db, { content: "the feline sleeps", vector: vectorOf({ 1: 1, 2: 0.2 }) });
    await seedObservation(db, { content: "quarterly figures", vector: vectorOf({ 5: 1 }) });
    const { ask } = faroOver(db, { embedder: embedderOf({ "where does my cat rest": vectorOf({ 1: 1 }) }) });
    const answer = await ask({ query: "where does my cat rest" });
    expect(idsOf(answer)[0]).toBe(near);
    for (const key of ["degraded", "degraded_reason", "bm25_degraded", "reranker_degraded", "ood_gate"])
      expect(answer).not.toHaveProperty(key);
  });

  test("says that memories have no vector yet, or another model's, until every one has the running model's", async () => {
    const { db } = engine;
    await seedObservation(db, { content: "the feline sleeps", vector: vectorOf({ 1: 1 }) });
    const waiting = await seedObservation(db, { content: "the dog waits" });
    const foreign = await seedObservation(db, { content: "the bird sings" });
    const vector = `[${vectorOf({ 3: 1 }).join(",")}]`;
    const give = (id: string, label: string) =>
      db.asOwner((owner) =>
        owner.query("update brain_observations set embedding = $2::vector, embedding_model = $3 where id = $1::uuid", [id, vector, label]),
      );
    await give(foreign, "another-model");
    const { ask } = faroOver(db, { embedder: embedderOf({}) });
    const reason = async () => (await ask({ query: "which animal" })).degraded_reason;
    expect(await reason()).toBe(
      "1 memory without a vector could be found by words only; the vectors are being made. If that lasts, run 'memory-industry reembed'. Memories with another model's vectors could be found by words only. Run 'memory-industry reembed'.",
    );
    await give(waiting, LABEL);
    expect(await reason()).toStartWith("Memories with another model's vectors");
    await give(foreign, LABEL);
    expect(await ask({ query: "which animal" })).not.toHaveProperty("degraded");
    await seedObservation(db, { content: "the fish swims" });
    expect(await reason()).toStartWith("1 memory without a vector");
  });

  test("shows the piece of a long observation that was found", async () => {
    const { db } = engine;
    const id = await seedObservation(db, {
      content: "a long text that begins with something else",
      vector: vectorOf({ 7: 1 }),
      chunks: [
        { content: "first piece", vector: vectorOf({ 8: 1 }) },
        { content: "the piece about whales", vector: vectorOf({ 3: 1 }) },
      ],
    });
    const { ask } = faroOver(db, { embedder: embedderOf({ "sea mammals": vectorOf({ 3: 1 }) }) });
    const [row] = rowsOf(await ask({ query: "sea mammals" }));
    expect(row).toMatchObject({ id, c: "the piece about whales" });
  });

  test("does not run the vector arm for errors and entities, and is not degraded without a model there", async () => {
    await seedError(engine.db, { message: "socket hang up" });
    for (const scope of ["errors", "entities"])
      expect(await faroOver(engine.db).ask({ query: "socket", scope })).not.toHaveProperty("degraded");
  });
});

describe("what cuba_faro refuses", () => {
  const ask = async (args: Record<string, unknown>) =>
    faroOver({} as never)
      .ask(args)
      .then(
        () => "answered",
        (error: Error) => error.message,
      );
  for (const [args, words] of [
    [{}, "query is required"],
    [{ query: "   " }, "query must be text that is not blank"],
    [{ query: "x", mode: "deep" }, "Invalid mode: deep. Use hybrid/verify"],
    [{ query: "x", scope: "everything" }, "Invalid scope: everything. Use all/entities/observations/errors"],
    [{ query: "x", format: "xml" }, "Invalid format: xml. Use compact/verbose"],
    [{ query: "x", after: "ayer" }, 'after must be an RFC 3339 instant with its zone, like 2026-03-29T10:00:00+02:00; got the text "ayer"'],
    [{ query: "x", before: "2026-13-45" }, "before must be an RFC 3339 instant"],
    [{ query: "x", after: "2026-02-01T00:00:00Z", before: "2026-01-01T00:00:00Z" }, "after must be an instant up to before"],
    [{ query: "x", limit: 7.5 }, "limit must be an integer"],
    [{ query: "x", limit: "7" }, "limit must be an integer"],
    [{ query: "x", max_tokens: 0 }, "max_tokens must be an integer"],
    [{ query: "x", ood_threshold: 0 }, "ood_threshold must be"],
    [{ query: "x", tags: "redis", scope: "errors" }, "tags narrows observations and scope 'errors' has none"],
  ] as const)
    test(`${JSON.stringify(args)}`, async () => {
      expect(await ask(args)).toStartWith(words);
    });
});
