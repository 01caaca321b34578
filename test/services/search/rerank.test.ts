import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Answer as ModelAnswer, ModelState, NoAnswerCode, Reranker } from "../../../src/inference/port.ts";
import { type Deadline, deadlineIn, noDeadline } from "../../../src/kernel/deadline.ts";
import type { Found } from "../../../src/services/search/request.ts";
import { passageOf, type RerankStage, rerankRows, wantsRerank } from "../../../src/services/search/rerank.ts";
import { faroAsAsked } from "../../../src/tools/search.ts";
import { type TestEmbedder, testEmbedder } from "../../support/embedder.ts";
import { eachEngine } from "../../support/engines.ts";
import { graphOver } from "../../support/graph.ts";
import { callContext, faroOver, idsOf, rowsOf, seedError, seedMany, seedObservation } from "../../support/search.ts";

interface Asked {
  readonly query: string;
  readonly passages: readonly string[];
  readonly remainingMs: number;
}

/** A reranker that scores by `score`, or says why not. */
function stageOf(score: ((passage: string) => number) | NoAnswerCode, more: Partial<RerankStage> & { state?: ModelState } = {}) {
  const asked: Asked[] = [];
  const warmed: true[] = [];
  const reranker: Pick<Reranker, "score" | "status" | "warm"> = {
    status: () => more.state ?? { state: "idle", model: "m" },
    warm: () => void warmed.push(true),
    async score(query, passages, { deadline }): Promise<ModelAnswer<number>> {
      asked.push({ query, passages, remainingMs: deadline.remainingMs() });
      if (deadline.remainingMs() === 0) return { kind: "none", code: "no_budget", reason: "No time." };
      if (typeof score === "string") return { kind: "none", code: score, reason: `Because of ${score}.` };
      return { kind: "answered", values: passages.map(score) };
    },
  };
  return { asked, warmed, rerank: { reranker, byDefault: false, depth: 20, timeoutMs: 20_000, ...more } satisfies RerankStage };
}

describe("whether it is wanted", () => {
  test.each([
    [true, false, "idle", true],
    [true, false, "missing", true],
    [false, true, "ready", false],
    [undefined, true, "idle", true],
    [undefined, true, "failed", false],
    [undefined, true, "missing", false],
    [undefined, false, "ready", false],
  ] as const)("asked %p, by default %p, model %p: %p", (rerank, byDefault, state, expected) => {
    const given = { state, model: "m", reason: "r" } as ModelState;
    expect(wantsRerank(stageOf("busy", { byDefault, state: given }).rerank, { rerank })).toBe(expected);
  });
});

eachEngine("reranking", (engine) => {
  beforeEach(() => engine.db.reset());
  const contents = ["walnut one", "walnut two", "walnut three", "walnut four"];
  const letters = (passage: string) => 1 / passage.length;

  test("the order becomes the model's, and the score shows it", async () => {
    await seedMany(engine.db, contents);
    const { asked, rerank } = stageOf(letters);
    const answer = await faroOver(engine.db, { rerank }).ask({ query: "walnut", rerank: true });
    const order = rowsOf(answer).map(({ c }) => String(c));
    expect([...order].sort((a, b) => a.length - b.length)).toEqual(order);
    expect(order.at(-1)).toBe("walnut three");
    expect(answer).not.toHaveProperty("reranker_degraded");
    expect(asked).toHaveLength(1);
    expect(asked[0]?.query).toBe("walnut");
  });

  test("more rows are read than are answered, so that a good one comes from behind", async () => {
    await seedMany(
      engine.db,
      Array.from({ length: 30 }, (_, at) => `walnut ${"x ".repeat(at)}`),
    );
    const best = await seedObservation(engine.db, { content: `walnut ${"y ".repeat(12)}` });
    const { asked, rerank } = stageOf((passage) => (passage.includes("y") ? 0.9 : 0.1));
    const answer = await faroOver(engine.db, { rerank: { ...rerank, depth: 31 } }).ask({ query: "walnut", limit: 3, rerank: true });
    expect(idsOf(answer)[0]).toBe(best);
    expect(rowsOf(answer)).toHaveLength(3);
    expect(asked[0]?.passages).toHaveLength(31);
  });

  test("beyond its depth rows keep their order, behind those that were read", async () => {
    await seedMany(engine.db, contents);
    const plain = idsOf(await faroOver(engine.db).ask({ query: "walnut" }));
    const { rerank } = stageOf((passage) => (passage.includes("x") ? 0 : 0.01), { depth: 2 });
    const ranked = idsOf(await faroOver(engine.db, { rerank }).ask({ query: "walnut", rerank: true }));
    expect(ranked.slice(2)).toEqual(plain.slice(2));
  });

  const codes = ["no_model", "disabled_by_plan", "load_failed", "no_budget", "busy", "timeout", "inference_error"] as const;
  test.each(codes)("%s: the fused order, untouched, and the reason", async (code) => {
    await seedMany(engine.db, contents);
    const plain = await faroOver(engine.db).ask({ query: "walnut", format: "verbose" });
    const answer = await faroOver(engine.db, { rerank: stageOf(code).rerank }).ask({ query: "walnut", format: "verbose", rerank: true });
    expect(answer.results).toEqual(plain.results);
    expect(answer).toMatchObject({
      reranker_degraded: true,
      reranker_degraded_code: code,
      reranker_degraded_reason: `The order is that of the fused arms. Because of ${code}.`,
    });
    expect(answer).not.toHaveProperty("degraded_reason.reranker");
  });

  test("not asking for it is no degradation, and asks nothing", async () => {
    await seedMany(engine.db, contents);
    const { asked, rerank } = stageOf("load_failed");
    expect(await faroOver(engine.db, { rerank }).ask({ query: "walnut" })).not.toHaveProperty("reranker_degraded");
    expect(
      await faroOver(engine.db, { rerank: { ...rerank, byDefault: true } }).ask({ query: "walnut", rerank: false }),
    ).not.toHaveProperty("reranker_degraded");
    expect(asked).toEqual([]);
  });

  test("nothing found loads nothing", async () => {
    const { asked, rerank } = stageOf(letters);
    expect(await faroOver(engine.db, { rerank }).ask({ query: "walnut", rerank: true })).toMatchObject({ count: 0 });
    expect(asked).toEqual([]);
  });

  test("an error is read by its message and its solution", async () => {
    await seedError(engine.db, { type: "WalnutError", message: "walnut jammed", solution: "clean the shell" });
    await seedObservation(engine.db, { entity: "mill", content: "walnut mill" });
    const { asked, rerank } = stageOf(letters);
    await faroOver(engine.db, { rerank }).ask({ query: "walnut", rerank: true });
    expect(asked[0]?.passages).toContain("WalnutError: walnut jammed (clean the shell)");
    expect(asked[0]?.passages).toContain("mill: walnut mill");
  });

  test("what is forgotten or withheld while it reads is not answered", async () => {
    await seedMany(engine.db, contents);
    await seedObservation(engine.db, { entity: "Zyx Mira", content: "walnut of hers" });
    const withheld = await seedObservation(engine.db, { content: "walnut of a stranger" });
    await seedError(engine.db, { type: "WalnutError", message: "walnut of Zyx Mira jammed" });
    const { rerank } = stageOf(letters);
    const forget = graphOver(engine.db).caller({ kind: "none" });
    const slow: RerankStage = {
      ...rerank,
      reranker: {
        ...rerank.reranker,
        async score(...given) {
          await forget("cuba_forget", { entity_name: "Zyx Mira", confirm: true });
          await engine.db.asOwner((each) => each.script(`update brain_observations set trust = 'quarantined' where id = '${withheld}'`));
          return await rerank.reranker.score(...given);
        },
      },
    };
    const answer = await faroOver(engine.db, { rerank: slow }).ask({ query: "walnut", rerank: true });
    expect(
      rowsOf(answer)
        .map(({ c }) => c)
        .sort(),
    ).toEqual(["walnut four", "walnut one", "walnut three", "walnut two"]);
    expect(JSON.stringify(answer)).not.toContain("Zyx");
  });

  test("its budget is its own or four fifths of the call, whichever is less", async () => {
    await seedMany(engine.db, contents);
    const { asked, rerank } = stageOf(letters);
    const { ask } = faroOver(engine.db, { rerank });
    await ask({ query: "walnut", rerank: true }, callContext({ deadline: noDeadline }));
    await ask({ query: "walnut", rerank: true }, callContext({ deadline: deadlineIn(10_000, () => 0) }));
    expect(asked[0]?.remainingMs).toBeGreaterThan(15_000);
    expect(asked[0]?.remainingMs).toBeLessThanOrEqual(20_000);
    expect(asked[1]?.remainingMs).toBe(8_000);
  });
});

eachEngine("how long a search waits for its models", (engine) => {
  beforeAll(async () => {
    await engine.db.reset();
    await seedMany(engine.db, ["walnut one", "walnut two", "walnut three", "walnut four"]);
  });
  const words = async () => idsOf(await faroOver(engine.db).ask({ query: "walnut", track_access: false }));
  const asking = (more: Record<string, unknown> = {}) => ({ query: "walnut", track_access: false, ...more });

  test("the question's vector is part of the budget, and the reranker gets what it left", async () => {
    let now = 0;
    const embedder = testEmbedder("idle");
    embedder.before = () => {
      now += 600;
    };
    const { asked, rerank } = stageOf((passage) => 1 / passage.length, { timeoutMs: 1_000 });
    const deadline = deadlineIn(30_000, () => now);
    await faroOver(engine.db, { embedder, rerank }).ask(asking({ rerank: true }), callContext({ deadline }));
    expect(asked.map(({ remainingMs }) => remainingMs)).toEqual([400]);
  });

  test("a model that is still loading when the budget is gone: the words' order, both reasons, and the reranker is made ready for the next question", async () => {
    let now = 0;
    const embedder = loadingEmbedder(() => {
      now += 40;
    });
    const { asked, warmed, rerank } = stageOf((passage) => 1 / passage.length, { timeoutMs: 40 });
    const deadline = deadlineIn(30_000, () => now);
    const answer = await faroOver(engine.db, { embedder, rerank }).ask(asking({ rerank: true }), callContext({ deadline }));
    expect(idsOf(answer)).toEqual(await words());
    expect(answer).toMatchObject({
      count: 4,
      degraded: true,
      degraded_reason:
        "Meaning was not searched, only words: the embedding model was still loading when the time to wait for it was over. It goes on loading; ask again in a moment.",
      reranker_degraded: true,
      reranker_degraded_code: "no_budget",
    });
    expect(asked.map(({ remainingMs }) => remainingMs)).toEqual([0]);
    expect(warmed).toEqual([true]);
  });

  /** The limits that a search sets, milliseconds; each is over at once. */
  const limitsOf = () => {
    const limits: number[] = [];
    const deadline: Deadline = {
      remainingMs: () => 30_000,
      share: () => deadline,
      atMost: (ms) => {
        limits.push(ms);
        return deadlineIn(0);
      },
    };
    return { limits, deadline };
  };

  test("with a budget that is gone the question's vector is not waited for at all", async () => {
    const { rerank } = stageOf((passage) => 1 / passage.length, { timeoutMs: 1_000 });
    const { limits, deadline } = limitsOf();
    await faroOver(engine.db, { embedder: loadingEmbedder(), rerank }).ask(asking({ rerank: true }), callContext({ deadline }));
    expect(limits).toEqual([1_000, 0]);
  });

  test("without a rerank it waits two seconds at most, a claim and a measurement for as long as their call lasts", async () => {
    const embedder = loadingEmbedder();
    const { ask, service } = faroOver(engine.db, { embedder });
    const { limits, deadline } = limitsOf();
    const ctx = callContext({ deadline });
    expect(await ask(asking(), ctx)).toMatchObject({ count: 4, degraded_reason: expect.stringContaining("ask again in a moment") });
    expect(limits).toEqual([2_000]);
    expect(await ask({ mode: "verify", query: "walnut four" }, ctx)).toMatchObject({
      degraded_reason: expect.stringContaining("ask again in a moment"),
    });
    await faroAsAsked({ search: service, presentation: { compactChars: 1_200 } })(ctx, asking(), {});
    expect(limits).toEqual([2_000, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
  });

  test("the gate lets a question pass whose vector is on the way, and advises nobody to install what is installed", async () => {
    const { ask } = faroOver(engine.db, { embedder: loadingEmbedder(), oodThreshold: 5 });
    const answer = await ask(asking({ abstain_ood: true }), callContext({ deadline: limitsOf().deadline }));
    expect(answer).toMatchObject({
      count: 4,
      ood_gate: "unavailable",
      ood_gate_reason:
        "A threshold of distance needs the question's vector, which is missing, so nothing was refused. The embedding model was still loading; ask again in a moment.",
    });
  });
});

/** Loads for as long as anybody waits for it. */
function loadingEmbedder(gaveUp: () => void = () => {}): TestEmbedder {
  const embedder = testEmbedder("loading");
  return {
    ...embedder,
    embed: (_texts, _role, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          gaveUp();
          reject(signal.reason);
        });
      }),
  };
}

/** A row as the database gives it, without what a test is about. */
const row = {
  kind: 0,
  id: "",
  label: null,
  solution: null,
  resolved: null,
  importance: null,
  createdAt: "",
  evidence: null,
  verifiedAt: null,
  tags: null,
};

describe("reading only what no word found", () => {
  const found = (content: string, total: number, words: number): Found => ({
    kind: "observation",
    row: { ...row, id: content, entity: "e", content },
    total,
    fusedScore: total,
    shares: { text: 0, vector: total - words, bm25: words, entity: 0 },
    raw: {},
    sessionBoosted: false,
    entityFactoid: false,
    associative: false,
    pprExpanded: false,
  });
  const rows = [
    found("words", 0.9, 0.5),
    found("near", 0.8, 0),
    found("more words", 0.7, 0.1),
    found("nearer", 0.6, 0),
    found("far", 0.5, 0),
  ];
  const limits = { deadline: noDeadline, signal: new AbortController().signal };

  test("they change places among themselves, with the totals of the places; the others stay", async () => {
    const { asked, rerank } = stageOf((passage) => ({ "e: nearer": 0.9, "e: near": 0.5 })[passage] ?? 0.1);
    const { rows: ranked } = await rerankRows(rerank, limits, "q", rows, noDeadline, true);
    expect(asked[0]?.passages).toEqual(["e: near", "e: nearer", "e: far"]);
    expect(ranked.map(({ row: { id }, total }) => [id, total])).toEqual([
      ["words", 0.9],
      ["nearer", 0.8],
      ["more words", 0.7],
      ["near", 0.6],
      ["far", 0.5],
    ]);
  });

  test("beyond the depth nothing is read, and where the words found all nothing is asked", async () => {
    const { asked, rerank } = stageOf(() => 0.5, { depth: 4 });
    await rerankRows(rerank, limits, "q", rows, noDeadline, true);
    expect(asked[0]?.passages).toEqual(["e: near", "e: nearer"]);
    const worded = rows.filter(({ shares }) => shares.bm25 > 0);
    expect((await rerankRows(rerank, limits, "q", worded, noDeadline, true)).rows).toEqual(worded);
    expect(asked).toHaveLength(1);
  });
});

describe("a passage", () => {
  test("is the piece that was found, the whole text, or the name", () => {
    expect(passageOf({ kind: "observation", row: { ...row, entity: "mill", content: "long text" }, chunk: "its tail" })).toBe(
      "mill: its tail",
    );
    expect(passageOf({ kind: "observation", row: { ...row, entity: "mill", content: "long text" } })).toBe("mill: long text");
    expect(passageOf({ kind: "entity", row: { ...row, entity: "mill", content: null } })).toBe("mill");
    expect(passageOf({ kind: "error", row: { ...row, entity: null, label: "TypeError", content: "x is undefined" } })).toBe(
      "TypeError: x is undefined",
    );
  });
});

test("no stage at all says that no reranker is installed", async () => {
  const { unranked } = await rerankRows(undefined, callContext(), "q", [], noDeadline);
  expect(unranked).toEqual({
    code: "no_model",
    reason: "The order is that of the fused arms: no reranker is installed. Install one with 'memory-industry models reranker'.",
  });
});
