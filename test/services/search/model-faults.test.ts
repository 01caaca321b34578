/** `cuba_faro` with real model ports of which one is missing, broken, slow or of the wrong shape: it answers in time by what is left, and says what is not. */
import { afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OwnerFacts } from "../../../src/doctor/check.ts";
import nliCheck from "../../../src/doctor/checks/nli-entailment.ts";
import embedderCheck from "../../../src/doctor/checks/onnx-model.ts";
import rerankerCheck from "../../../src/doctor/checks/reranker.ts";
import { createEmbedder, type EmbedderOptions } from "../../../src/inference/embedder.ts";
import { createEntailment, type EntailmentOptions } from "../../../src/inference/entailment.ts";
import { locateEmbeddingModel } from "../../../src/inference/models/locate.ts";
import { locatePairModel } from "../../../src/inference/models/locate-pair.ts";
import type { Embedder, Entailment, Reranker } from "../../../src/inference/port.ts";
import { createReranker, type RerankerOptions } from "../../../src/inference/reranker.ts";
import { deadlineIn } from "../../../src/kernel/deadline.ts";
import { silentLogger } from "../../../src/kernel/logger.ts";
import type { Answer } from "../../../src/tools/define.ts";
import { eachEngine } from "../../support/engines.ts";
import { judgeWith } from "../../support/judge.ts";
import { callContext, faroOver, idsOf, type SearchOptions, seedMany } from "../../support/search.ts";
import { type TinyModelOptions, writeTinyModel } from "../../support/tiny-model.ts";
import { type TinyPairModelOptions, writeTinyPairModel } from "../../support/tiny-pair-model.ts";

let directory: string;
const open: { close(): Promise<void> }[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "mi-faults-"));
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((model) => model.close()));
  await rm(directory, { recursive: true, force: true });
});
const kept = <T extends { close(): Promise<void> }>(model: T): T => {
  open.push(model);
  return model;
};

/** A call has this long; each model its own share of it, and less where the test is about slowness. */
const CALL_MS = 20_000;
const MODEL_MS = 300;

const unruly = (file: string) => () => new Worker(new URL(`../../inference/fixtures/${file}`, import.meta.url));

const rerankerWith = async (more: Partial<RerankerOptions> = {}): Promise<Reranker> =>
  kept(
    await createReranker({
      find: () => locatePairModel({ slot: "reranker", explicitPath: directory }),
      threads: 1,
      rules: { chunk: 4, bucket: 0, fixedShape: false, byLength: true },
      placement: { device: "cpu", arena: true, spinning: true },
      log: silentLogger,
      ...more,
    }),
  );
const embedderWith = async (more: Partial<EmbedderOptions> = {}): Promise<Embedder> =>
  kept(
    await createEmbedder({
      find: () => locateEmbeddingModel({ explicitPath: directory, overrides: {} }),
      threads: 1,
      log: silentLogger,
      ...more,
    }),
  );
const entailmentWith = async (more: Partial<EntailmentOptions> = {}): Promise<Entailment> =>
  kept(
    await createEntailment({
      find: () => locatePairModel({ slot: "nli", explicitPath: directory }),
      threads: 1,
      placement: { device: "cpu", arena: false, spinning: false },
      log: silentLogger,
      controls: [],
      ...more,
    }),
  );
const pairModel = (options: Partial<TinyPairModelOptions>) => writeTinyPairModel(directory, { kind: "reranker", weights: {}, ...options });
const nliModel = (options: Partial<TinyPairModelOptions>) => writeTinyPairModel(directory, { kind: "nli", weights: {}, ...options });
const textModel = (options: TinyModelOptions) => writeTinyModel(directory, { dimensions: 384, ...options });

/** The model once its files are written. */
const after = <T>(_written: unknown, model: Promise<T>): Promise<T> => model;

const deep = { deep: true, deepMs: 2_000, signal: new AbortController().signal };
const facts = (given: Partial<OwnerFacts>) =>
  ({ ...deep, goldenPairs: {}, goldenCosine: undefined, ...given }) as Partial<OwnerFacts> as OwnerFacts;

const contents = [
  "walnut hang one",
  "walnut rotten two",
  "walnut bare three",
  "walnut plain four",
  "chestnut exit five",
  "chestnut plain six",
];

eachEngine("a search with one model at fault", (engine) => {
  beforeAll(async () => {
    await engine.db.reset();
    await seedMany(engine.db, contents);
  });

  const ask = async (options: SearchOptions, args: Record<string, unknown>): Promise<{ answer: Answer; leftMs: number }> => {
    const deadline = deadlineIn(CALL_MS);
    const answer = await faroOver(engine.db, options).ask(args, callContext({ deadline }));
    return { answer, leftMs: deadline.remainingMs() };
  };
  const rerankAsked = { query: "walnut", rerank: true, track_access: false };

  test.each<[string, string, () => Promise<Reranker>, string]>([
    ["none installed", "no_model", () => rerankerWith(), "No model"],
    ["truncated on disk", "load_failed", async () => after(await pairModel({ fault: "truncated" }), rerankerWith()), "does not load"],
    ["of another shape", "load_failed", async () => after(await pairModel({ extraInput: "pixel_values" }), rerankerWith()), "pixel_values"],
    [
      "that returns NaN",
      "inference_error",
      async () => after(await pairModel({ weights: { rotten: [Number.NaN] } }), rerankerWith()),
      "not finite",
    ],
    ["that sleeps", "timeout", async () => after(await pairModel({}), rerankerWith({ spawn: unruly("unruly-pair-worker.ts") })), "0 of 4"],
    [
      "that never loads",
      "timeout",
      async () => after(await pairModel({}), rerankerWith({ spawn: unruly("unruly-pair-worker.ts"), threads: 4 })),
      "still loading",
    ],
  ])("a reranker %s: the fused order stands, %s says why, doctor too", async (_name, code, made, reason) => {
    const reranker = await made();
    const stage = { reranker, byDefault: false, depth: 20, timeoutMs: code === "timeout" ? MODEL_MS : CALL_MS };
    const plain = await ask({}, { ...rerankAsked, rerank: false });
    const { answer, leftMs } = await ask({ rerank: stage }, rerankAsked);
    expect(idsOf(answer)).toEqual(idsOf(plain.answer));
    expect(answer).toMatchObject({ reranker_degraded: true, reranker_degraded_code: code, count: 4 });
    if (code !== "no_model") expect(answer.reranker_degraded_reason).toContain(reason);
    expect(leftMs).toBeGreaterThan(0);
    expect(JSON.stringify(answer)).not.toContain(directory);
    const verdict = await rerankerCheck.run(facts({ reranker, rerank: { byDefault: false, depth: 20 } }) as never);
    // A model that sleeps on one text serves another: what is wrong with it shows in the answers alone.
    if (code === "no_model" || code === "load_failed") expect(verdict.status).toBe(code === "no_model" ? "warn" : "fail");
    if (reason === "still loading") expect(verdict).toMatchObject({ status: "fail", detail: expect.stringContaining("still loading") });
  });

  test("a reranker killed in the middle of a question: the fused order stands, and the next question finds it well again", async () => {
    await pairModel({});
    const reranker = await rerankerWith({ spawn: unruly("unruly-pair-worker.ts") });
    const stage = { reranker, byDefault: false, depth: 20, timeoutMs: CALL_MS };
    const killed = await ask({ rerank: stage }, { ...rerankAsked, query: "chestnut" });
    expect(killed.answer).toMatchObject({ reranker_degraded_code: "inference_error", count: 2 });
    expect(idsOf(killed.answer)).toEqual(idsOf((await ask({}, { ...rerankAsked, query: "chestnut", rerank: false })).answer));
    expect(killed.answer.reranker_degraded_reason).toContain("ended with code 7");
    const healed = await ask({ rerank: stage }, { ...rerankAsked, query: "bare three rotten" });
    expect(healed.answer).not.toHaveProperty("reranker_degraded");
    expect(healed.answer.count).toBe(2);
  });

  test.each<[string, () => Promise<Embedder>, string]>([
    ["missing", () => embedderWith(), "Correct it, or unset it and run 'memory-industry models embed'"],
    ["truncated on disk", async () => after(await textModel({ fault: "truncated" }), embedderWith()), "does not work"],
    [
      "of a width that its description denies",
      async () => after(await textModel({ fault: "dimensions" }), embedderWith()),
      "CUBA_EMBEDDING_DIM",
    ],
    [
      "killed in the middle",
      async () => after(await textModel({}), embedderWith({ spawn: unruly("unruly-worker.ts") })),
      "ended with code 7",
    ],
    [
      "that sleeps",
      async () =>
        after(await textModel({}), embedderWith({ spawn: unruly("unruly-worker.ts"), limits: { loadMs: 60_000, textMs: MODEL_MS } })),
      "'memory-industry doctor'",
    ],
    [
      "that never loads",
      async () =>
        after(
          await textModel({}),
          embedderWith({ spawn: unruly("unruly-worker.ts"), threads: 4, limits: { loadMs: MODEL_MS, textMs: 60_000 } }),
        ),
      "'memory-industry doctor'",
    ],
  ])("an embedder %s: the words are searched, and the answer says what was not", async (name, made, reason) => {
    const embedder = await made();
    const query = name.startsWith("killed") ? "walnut exit" : "walnut hang";
    const { answer, leftMs } = await ask({ embedder }, { query, track_access: false });
    expect(answer.degraded).toBe(true);
    expect(answer.count).toBeGreaterThanOrEqual(4);
    expect(answer.degraded_reason).toContain(reason);
    expect(answer.degraded_reason).toMatch(/'memory-industry (models embed|doctor)'/);
    expect(JSON.stringify(answer)).not.toContain(directory);
    expect(leftMs).toBeGreaterThan(0);
    const verdict = await embedderCheck.run(facts({ embedder }) as never);
    if (name === "missing") expect(verdict.status).toBe("warn");
    if (["truncated on disk", "of a width that its description denies", "that never loads"].includes(name))
      expect(verdict.status).toBe("fail");
  });

  test("an embedder whose vectors do not fit those that are stored: the vector arm alone is lost", async () => {
    await writeTinyModel(directory, { dimensions: 32 });
    const embedder = await embedderWith();
    const mark = (vector: string | null, label: string | null) =>
      engine.db.asOwner((connection) =>
        connection.query(
          "update brain_observations set embedding = $1::vector, embedding_model = $2::text where content = 'walnut hang one'",
          [vector, label],
        ),
      );
    await mark(`[${new Float32Array(384).fill(0.05).join(",")}]`, embedder.label);
    const { answer } = await ask({ embedder }, { query: "walnut", track_access: false });
    await mark(null, null);
    expect(answer).toMatchObject({ count: 4, degraded: true });
    expect(answer.degraded_reason).toStartWith("Meaning was not searched");
  });

  test("a slow embedder may take its share of a call and no more, and is not called broken for it", async () => {
    await textModel({});
    const embedder = await embedderWith({ spawn: unruly("unruly-worker.ts"), limits: { loadMs: 60_000, textMs: 5_000 } });
    const deadline = deadlineIn(2_000);
    const answer = await faroOver(engine.db, { embedder }).ask({ query: "walnut hang", track_access: false }, callContext({ deadline }));
    expect(answer).toMatchObject({ count: 4, degraded: true });
    expect(answer.degraded_reason).toContain("not ready in time");
    expect(deadline.remainingMs()).toBeGreaterThan(0);
    expect(embedder.status().state).not.toBe("failed");
  });

  test("an embedder that loads slowly costs a rerank its budget and no more, goes on loading, and serves the next question", async () => {
    await textModel({});
    const late = new BroadcastChannel("late-worker");
    const isAsked = new Promise((resolve) => {
      late.onmessage = resolve;
    });
    const embedder = await embedderWith({ spawn: unruly("late-worker.ts") });
    const stage = { reranker: await rerankerWith(), byDefault: false, depth: 20, timeoutMs: MODEL_MS };
    const plain = await ask({}, rerankAsked);
    const cold = await ask({ embedder, rerank: stage }, rerankAsked);
    expect(idsOf(cold.answer)).toEqual(idsOf(plain.answer));
    expect(cold.answer.degraded_reason).toContain("still loading");
    expect(cold.answer.reranker_degraded).toBe(true);
    expect(CALL_MS - cold.leftMs).toBeGreaterThanOrEqual(MODEL_MS);
    expect(embedder.status().state).toBe("loading");
    await isAsked;
    late.postMessage("load");
    const next = await ask({ embedder, rerank: { ...stage, timeoutMs: CALL_MS } }, rerankAsked);
    expect(embedder.status().state).toBe("ready");
    expect(String(next.answer.degraded_reason)).not.toContain("loading");
    late.close();
  });

  const claim = { mode: "verify", query: "walnut plain four" };
  test.each<[string, () => Promise<Entailment>, string, string]>([
    ["missing", () => entailmentWith(), "warn", ""],
    ["truncated on disk", async () => after(await nliModel({ fault: "truncated" }), entailmentWith()), "fail", "does not load"],
    ["of two labels", async () => after(await nliModel({ labels: 2 }), entailmentWith()), "fail", "gives 2 numbers"],
    [
      "that returns NaN",
      async () => after(await nliModel({ weights: { plain: [0, Number.NaN, 0] } }), entailmentWith()),
      "ok",
      "not finite",
    ],
    [
      "that never loads",
      async () =>
        after(
          await nliModel({}),
          entailmentWith({ spawn: unruly("unruly-pair-worker.ts"), threads: 4, limits: { loadMs: MODEL_MS, runMs: 60_000 } }),
        ),
      "fail",
      "",
    ],
  ])("a judge %s: the claim stays unknown with its evidence, and doctor says what is wrong", async (_name, made, status, reason) => {
    const entailment = await made();
    const { answer, leftMs } = await ask({ judge: judgeWith({ entailment }) }, claim);
    expect(answer).toMatchObject({ grounding: "unknown", confidence: 0, verdicts_reached: 0 });
    expect(answer.evidence_count).toBeGreaterThan(0);
    expect(JSON.stringify(answer)).toContain(reason);
    expect(JSON.stringify(answer)).not.toContain(directory);
    expect(leftMs).toBeGreaterThan(0);
    expect((await nliCheck.run(facts({ entailment }) as never)).status).toBe(status as "ok");
  });
});
