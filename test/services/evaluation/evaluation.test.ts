import { beforeEach, describe, expect, test } from "bun:test";
import { newId } from "../../../src/kernel/ids.ts";
import { compareReports, comparisonText, readReport } from "../../../src/services/evaluation/compare.ts";
import { readDataset } from "../../../src/services/evaluation/dataset.ts";
import { createEvaluation, DEFAULT_SETTINGS } from "../../../src/services/evaluation/evaluation.ts";
import { type EvaluationSettings, type Report, reportJson, reportText } from "../../../src/services/evaluation/report.ts";
import { faroAsAsked } from "../../../src/tools/search.ts";
import { eachEngine } from "../../support/engines.ts";
import { callContext, faroOver, noEmbedder, seedObservation } from "../../support/search.ts";

const facts = { version: "0.0.0", commit: undefined, fusion: "scores" as const, models: {} };
const clock = () => {
  let now = 0;
  return () => (now += 2);
};
const answering =
  (ids: readonly string[], extra: Record<string, unknown> = {}) =>
  async () => ({
    results: ids.map((id) => ({ id, content: `text of ${id}` })),
    ...extra,
  });
const dataset = (...rows: Record<string, unknown>[]) => readDataset(rows.map((row) => JSON.stringify(row)).join("\n"));

describe("a dataset", () => {
  test("names the line that is no JSON, skips blank ones, counts rows that nothing can be measured on", () => {
    expect(() => readDataset('{"query":"a","relevant_ids":["x"]}\n\n{oops')).toThrow("line 3: not JSON. Nothing was measured.");
    expect(() => readDataset('{"relevant_ids":[]}')).toThrow("line 1: query");
    const { questions, dropped } = readDataset(
      '\ufeff{"query":"a","relevant":["m"],"question_type":"factoid"}\n\n{"query":"b"}\n{"query":"c","abstain":true}',
    );
    expect(questions.map(({ query }) => query)).toEqual(["a", "c"]);
    expect(questions[0]).toMatchObject({ markers: ["m"], ability: "factoid", questionClass: "factoid" });
    expect(dropped).toBe(1);
  });
});

eachEngine("an evaluation", (engine) => {
  beforeEach(() => engine.db.reset());

  test("scores by what still exists: one of two gold rows deleted and the other first is 1.0, with one id missing", async () => {
    const id = await seedObservation(engine.db, { content: "gold" });
    const evaluation = createEvaluation({ db: engine.db, ask: answering([id]), facts, clock: clock() });
    const { metrics } = await evaluation.run(
      callContext(),
      dataset(
        { query: "q", relevant_ids: [id, newId()], expected_answer: `Text of ${id}` },
        { query: "gone", relevant_ids: [newId(), "no uuid"] },
      ),
      DEFAULT_SETTINGS,
    );
    expect(metrics).toMatchObject({
      sampleCount: 1,
      ndcg: 1,
      mrr: 1,
      recall: 1,
      exactMatch: 1,
      missingIds: 3,
      questionsWithMissingIds: 2,
      unmeasurable: 1,
    });
    expect(metrics.precision).toBeCloseTo(0.1, 12);
  });

  test("counts right and false abstention, and scores older rows by markers", async () => {
    const evaluation = createEvaluation({ db: engine.db, ask: answering([]), facts, clock: clock() });
    const { metrics } = await evaluation.run(
      callContext(),
      dataset({ query: "a", abstain: true }, { query: "b", relevant: ["x"] }),
      DEFAULT_SETTINGS,
    );
    expect(metrics).toMatchObject({ abstentionAccuracy: 1, falseAbstentionRate: 1, ndcg: 0, scoredById: false });
    const found = createEvaluation({ db: engine.db, ask: answering(["7"]), facts, clock: clock() });
    expect((await found.run(callContext(), dataset({ query: "b", relevant: ["TEXT of"] }), DEFAULT_SETTINGS)).metrics.ndcg).toBe(1);
  });

  test("fails on a degraded answer, unless a run on words alone is meant", async () => {
    const ask = answering([], { degraded: true, degraded_reason: "no model." });
    const evaluation = createEvaluation({ db: engine.db, ask, facts, clock: clock() });
    const questions = dataset({ query: "a", relevant_ids: [await seedObservation(engine.db, { content: "gold" })] });
    expect(evaluation.run(callContext(), questions, DEFAULT_SETTINGS)).rejects.toThrow(
      "Search was degraded, so this would not measure what it claims: no model.",
    );
    expect((await evaluation.run(callContext(), questions, { ...DEFAULT_SETTINGS, lexicalOnly: true })).metrics.ndcg).toBe(0);
  });

  test("runs the real search, read-only, and notes what it was run with", async () => {
    const id = await seedObservation(engine.db, { content: "the zeppelin lands at noon" });
    const { service } = faroOver(engine.db);
    const ask = faroAsAsked({ search: service, presentation: { compactChars: 1_200 } });
    const evaluation = createEvaluation({
      db: engine.db,
      ask,
      facts: { ...facts, models: { embedder: noEmbedder.label } },
      clock: clock(),
    });
    const report = await evaluation.run(callContext(), dataset({ query: "zeppelin", relevant_ids: [id] }), {
      ...DEFAULT_SETTINGS,
      lexicalOnly: true,
    });
    await service.settled();
    expect(report.metrics.ndcg).toBe(1);
    expect(report.facts).toMatchObject({ corpus: { observation: 1, entity: 1 }, fusion: "scores" });
    const { rows } = await engine.db.asOwner((connection) => connection.query("select access_count from brain_observations"));
    expect(rows).toEqual([{ access_count: 0 }]);
  });

  test("switches off one thing at a time: the entity leg, the fusion, and a session's goal that is only supposed", async () => {
    const id = await seedObservation(engine.db, { entity: "Redis", content: "Redis holds the sessions of the users" });
    await seedObservation(engine.db, { entity: "mailer", content: "the mailer keeps a list of sessions" });
    const { service } = faroOver(engine.db);
    const answers: Record<string, unknown>[] = [];
    const asked = faroAsAsked({ search: service, presentation: { compactChars: 1_200 } });
    const evaluation = createEvaluation({
      db: engine.db,
      ask: async (...call) => {
        const answer = await asked(...call);
        answers.push(answer);
        return answer;
      },
      facts,
      clock: clock(),
    });
    const rowsWith = async (settings: Partial<EvaluationSettings>) => {
      const questions = dataset({ query: "where does Redis hold sessions", relevant_ids: [id] });
      const report = await evaluation.run(callContext(), questions, { ...DEFAULT_SETTINGS, lexicalOnly: true, ...settings });
      const rows = answers.at(-1)?.results;
      return { rows: Array.isArray(rows) ? rows : [], written: reportJson(report).settings };
    };
    const usual = await rowsWith({});
    expect(usual.rows[0]).toMatchObject({ id, entity_factoid: true, session_boosted: false });
    const legless = await rowsWith({ entityLeg: false });
    expect(legless.rows[0]).not.toHaveProperty("entity_factoid");
    expect(legless.written).toMatchObject({ entity_leg: false });
    const ranked = await rowsWith({ fusion: "rrf" });
    expect(ranked.rows[0].fused_score).toBeLessThan(0.1);
    expect(ranked.written).toMatchObject({ fusion: "rrf" });
    const aimed = await rowsWith({ goal: "repair the mailer" });
    expect(aimed.rows.filter((row: Record<string, unknown>) => row.session_boosted === true)).toMatchObject([{ entity_name: "mailer" }]);
    expect(aimed.written).toMatchObject({ goal: "repair the mailer" });
  });

  test("tells how many of the entities that a dataset names exist", async () => {
    await seedObservation(engine.db, { entity: "Redis", content: "x" });
    const evaluation = createEvaluation({ db: engine.db, ask: answering([]), facts, clock: clock() });
    expect(await evaluation.presence(callContext(), dataset({ query: "a", gold_entities: ["Redis", "Kafka", "Nats"] }))).toEqual({
      samples: 1,
      goldEntities: 3,
      present: 1,
      presentPercent: 33.3,
    });
  });
});

test("an empty list of questions is a report of zeros without a look at anything", async () => {
  const evaluation = createEvaluation({ db: {} as never, ask: answering([]), facts, clock: clock() });
  const report = await evaluation.run(callContext(), { questions: [], dropped: 0 }, DEFAULT_SETTINGS);
  expect(report.metrics).toMatchObject({ sampleCount: 0, ndcg: 0, mrr: 0, recall: 0, meanTokens: 0, latencyP95Ms: 0 });
  expect(reportText(report)).toBe("no question could be measured");
  expect(JSON.stringify(reportJson(report))).not.toContain("NaN");
});

const stored = (scores: readonly number[], more: Record<string, unknown> = {}) =>
  readReport(JSON.stringify({ metrics: { per_query_ndcg: scores, ...more } }), "x.json");

describe("two reports", () => {
  test("ten questions each +0.03: the paired interval lies above zero, the paired effect below it", () => {
    const before = Array.from({ length: 10 }, (_, at) => at / 20);
    const { all } = compareReports(stored(before), stored(before.map((score) => score + 0.03)));
    expect(all.difference).toBeCloseTo(0.03, 12);
    expect(all.interval.low).toBeGreaterThan(0);
    expect(all.detectableEffect).toBeLessThan(0.03);
    expect(all.moved).toBe(10);
    expect(comparisonText({ all, multiHop: undefined, graphTokenRatio: { before: 0, after: 0 } })).toContain("ΔnDCG=+0.0300");
  });

  test("of unequal length or of other questions are refused, and so is a file without scores", () => {
    expect(() => compareReports(stored([1, 0]), stored([1]))).toThrow("not the same questions");
    expect(() => compareReports(stored([1], { per_query_key: ["a"] }), stored([1], { per_query_key: ["b"] }))).toThrow(
      "differ in question 1",
    );
    expect(() => readReport("{}", "old.json")).toThrow(
      "old.json holds no scores by question (metrics.per_query_ndcg). Repeat that run with --json.",
    );
    expect(readReport(`\ufeff${JSON.stringify({ metrics: { per_query_ndcg: [1] } })}`, "x").metrics.per_query_ndcg).toEqual([1]);
  });

  test("compare the questions about connections apart", () => {
    const groups = { per_query_class: ["multi_hop", "factoid", "multi_hop"] };
    const { multiHop } = compareReports(stored([0, 0, 0], groups), stored([1, 0, 0.5], groups));
    expect(multiHop).toMatchObject({ n: 2, difference: 0.75 });
  });
});

test("the text of a report says what it does not establish, and nothing about a ceiling that nobody lowered", async () => {
  const metrics: Report["metrics"] = (
    await createEvaluation({ db: {} as never, ask: answering([]), facts, clock: clock() }).run(
      callContext(),
      { questions: [], dropped: 0 },
      DEFAULT_SETTINGS,
    )
  ).metrics;
  const text = reportText({
    settings: DEFAULT_SETTINGS,
    facts: { ...facts, corpus: {} },
    metrics: { ...metrics, sampleCount: 5, ndcg: 0.5, detectableEffect: 0.2 },
  });
  expect(text).toContain("nDCG@10=0.5000");
  expect(text).toContain("What this run does not establish");
  expect(text).not.toContain("ceiling");
  expect(
    reportText({
      settings: DEFAULT_SETTINGS,
      facts: { ...facts, corpus: {} },
      metrics: { ...metrics, sampleCount: 5, missingIds: 2, questionsWithMissingIds: 1 },
    }),
  ).toContain("2 relevant ids are gone, affecting 1 questions");
});
