import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { newId } from "../../src/kernel/ids.ts";
import { eachEngine } from "../support/engines.ts";
import { graphOver, type Reply } from "../support/graph.ts";
import { entity, project, row, rows } from "../support/statements.ts";

const NAME = "cuba_calibrar";

eachEngine("cuba_calibrar", (engine) => {
  beforeEach(() => engine.db.reset());
  const call = (args: Reply, projectId?: string) =>
    graphOver(engine.db).caller(projectId === undefined ? { kind: "none" } : { kind: "project", id: projectId })(NAME, args);
  const refusal = (args: Reply, projectId?: string) => graphOver(engine.db).refusal(call(args, projectId));

  async function predict(
    level: string,
    confidence: number,
    more: { outcome?: string; evidence?: readonly string[]; project?: string } = {},
  ): Promise<string> {
    const id = newId();
    const { outcome = "pending", evidence = [], project: of = null } = more;
    await rows(
      engine.db,
      sql`insert into brain_verify_log (id, claim, confidence, grounding_level, outcome, resolved_at, evidence_ids, project_id)
          values (${id}::uuid, ${`claim ${id}`}::text, ${confidence}::float8, ${level}::text, ${outcome}::text,
            case when ${outcome}::text = 'pending' then null else now() end, ${`{${evidence.join(",")}}`}::uuid[], ${of}::uuid)`,
    );
    return id;
  }
  async function observe(source: string): Promise<string> {
    const entityId = await entity(engine.db);
    const made = await row(
      engine.db,
      sql`insert into brain_observations (entity_id, content, source) values (${entityId}::uuid, ${`text of ${source} ${newId()}`}::text, ${source}::text) returning id`,
    );
    return String(made.id);
  }

  test("with nothing resolved says so: no levels, metrics null with a note, every source at one half", async () => {
    await predict("verified", 0.9);
    expect(await call({ action: "stats" })).toMatchObject({
      levels: [],
      overall: { total_predictions: 1, correct: 0, incorrect: 0, pending: 1 },
    });
    expect(await call({ action: "metrics" })).toMatchObject({
      brier: null,
      ece: null,
      n: 0,
      abstained: 0,
      note: expect.stringContaining("verify_id"),
    });
    const { sources } = await call({ action: "trust" });
    expect(sources).toHaveLength(5);
    expect(sources).toContainEqual(
      expect.objectContaining({
        source: "agent",
        alpha: 1,
        beta: 1,
        p_correct: 0.5,
        credible_interval_width: 0.5774,
        interval_95: [0.025, 0.975],
        total_resolved: 0,
      }),
    );
  });

  test("8 right and 1 wrong of a level are 0.8182", async () => {
    for (let at = 0; at < 8; at++) await predict("verified", 0.9, { outcome: "correct" });
    await predict("verified", 0.9, { outcome: "incorrect" });
    await predict("weak", 0.4, { outcome: "incorrect" });
    await predict("partial", 0.6);
    expect(await call({ action: "stats" })).toMatchObject({
      levels: [
        { grounding_level: "verified", alpha: 9, beta: 2, p_correct: 0.8182, total_resolved: 9 },
        { grounding_level: "weak", alpha: 1, beta: 2, p_correct: 0.3333, total_resolved: 1 },
      ],
      overall: { total_predictions: 11, correct: 8, incorrect: 2, pending: 1 },
    });
  });

  test("resolving credits the sources of the deciding evidence, once each; a second time is an error and moves nothing", async () => {
    const evidence = [await observe("user"), await observe("user"), await observe("inference")];
    const id = await predict("verified", 0.9, { evidence });
    expect(await call({ action: "resolve", verify_id: id.toUpperCase(), outcome: "correct" })).toEqual({
      action: "resolve",
      verify_id: id,
      outcome: "correct",
      entity_name: null,
      sources_credibility_updated: 2,
      warnings: [],
    });
    const trust = async () =>
      Object.fromEntries(((await call({ action: "trust" })).sources as Reply[]).map(({ source, alpha, beta }) => [source, [alpha, beta]]));
    expect(await trust()).toMatchObject({ user: [2, 1], inference: [2, 1], agent: [1, 1] });
    const error = await refusal({ action: "resolve", verify_id: id, outcome: "incorrect" });
    expect(error.code).toBe("not_found");
    expect(error.message).toContain("already resolved");
    expect(await trust()).toMatchObject({ user: [2, 1] });
  });

  test("the first outcome of a source that is not on record counts", async () => {
    const evidence = [await observe("user")];
    await engine.db.asOwner((connection) => connection.script("delete from brain_source_trust where source = 'user'"));
    await call({ action: "resolve", verify_id: await predict("verified", 0.9, { evidence }), outcome: "incorrect" });
    expect(await row(engine.db, sql`select alpha, beta from brain_source_trust where source = 'user'`)).toEqual({ alpha: 1, beta: 2 });
  });

  test("outcomes are right or wrong, nothing else, and a prediction without evidence credits nobody", async () => {
    const id = await predict("unknown", 0);
    expect((await refusal({ action: "resolve", verify_id: id, outcome: "unknown" })).code).toBe("invalid");
    expect((await refusal({ action: "resolve", verify_id: "7", outcome: "correct" })).field).toBe("verify_id");
    expect(await call({ action: "resolve", verify_id: id, outcome: "correct" })).toMatchObject({ sources_credibility_updated: 0 });
  });

  test("metrics: Brier 0.175 and ECE 0.35 on the worked example; a right rejection is a hit; unknown is no prediction", async () => {
    for (const [confidence, outcome] of [
      [0.9, "correct"],
      [0.8, "correct"],
      [0.7, "incorrect"],
      [0.4, "incorrect"],
    ] as const)
      await predict("partial", confidence, { outcome });
    expect(await call({ action: "metrics" })).toMatchObject({ brier: 0.175, ece: 0.35, n: 4, abstained: 0 });
    await engine.db.reset();
    await predict("contradicted", 0.05, { outcome: "correct" });
    await predict("unknown", 0, { outcome: "correct" });
    expect(await call({ action: "metrics" })).toMatchObject({
      brier: 0.0025,
      n: 1,
      abstained: 1,
      reliability_diagram: [{ bin_lo: 0.9, bin_hi: 1, n: 1, accuracy: 1, confidence: 0.95, gap: 0.05 }],
    });
  });

  test("history is newest first, in pages, and of this project alone", async () => {
    const [mine, other] = [await project(engine.db), await project(engine.db)];
    const ids = [];
    for (let at = 0; at < 3; at++) ids.push(await predict("weak", 0.4, { project: mine }));
    await rows(engine.db, sql`update brain_verify_log set created_at = now() - interval '1 hour' where id = ${ids[1] ?? ""}::uuid`);
    const foreign = await predict("verified", 0.9, { project: other, outcome: "correct" });
    const page = await call({ action: "history", limit: 2 }, mine);
    expect(page).toMatchObject({ count: 2, truncated: true, total: 3, next: { offset: 2 } });
    expect((await call({ action: "history", offset: 2 }, mine)).entries).toMatchObject([
      { id: ids[1], outcome: "pending", grounding_level: "weak" },
    ]);
    expect(await call({ action: "stats" }, mine)).toMatchObject({ levels: [], overall: { total_predictions: 3 } });
    expect(await call({ action: "metrics" }, mine)).toMatchObject({ n: 0 });
    expect((await refusal({ action: "resolve", verify_id: foreign, outcome: "correct" }, mine)).code).toBe("not_found");
  });
});
