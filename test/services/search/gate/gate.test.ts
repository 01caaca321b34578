/** The abstention gate through `cuba_faro`, and the measurement it goes by. */
import { beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { TokenVectors } from "../../../../src/domain/retrieval/abstention/word-match.ts";
import type { Embedder } from "../../../../src/inference/port.ts";
import { deadlineIn } from "../../../../src/kernel/deadline.ts";
import { unavailable } from "../../../../src/kernel/errors.ts";
import { newId } from "../../../../src/kernel/ids.ts";
import { readDataset } from "../../../../src/services/evaluation/dataset.ts";
import { createForgetting } from "../../../../src/services/forgetting.ts";
import { createThresholdMeasure } from "../../../../src/services/search/gate/measure-threshold.ts";
import { uuidArray, vectorArray } from "../../../../src/store/codecs.ts";
import type { Database } from "../../../../src/store/port.ts";
import { eachEngine } from "../../../support/engines.ts";
import {
  callContext,
  embedderOf,
  faroOver,
  idsOf,
  LABEL,
  noEmbedder,
  seedEntity,
  seedEpisode,
  seedError,
  seedMany,
  seedObservation,
  seedProject,
  vectorOf,
} from "../../../support/search.ts";

/** Sixty memories, each with words and a direction of its own; a question about one shares two of its three words and lies near it. */
const WORDS = Array.from({ length: 60 }, (_, at) => [`alder${at}`, `birch${at}`, `cedar${at}`] as const);
const directionOf = (at: number) => vectorOf({ [at]: 1, 200: 0.3 });
const questionOf = (at: number) => `where is ${WORDS[at]?.[0]} kept with ${WORDS[at]?.[1]} since monday`;
/** As many questions as carry the guarantee, and some. */
const ASKED = 24;
const EVERYDAY = ["when was the printing press invented", "which river flows through Vienna", "how do bees make honey"];
const FOREIGN = "which walrus sings opera beyond jupiter";
/** The words of a row that meaning cannot find; they lie a little nearer to some of the sixty than to others. */
const UNMEASURED = "walrus opera jupiter narwhal";

const embedder: Embedder = embedderOf({
  ...Object.fromEntries(WORDS.map((_, at) => [questionOf(at), vectorOf({ [at]: 1, 200: 0.3, [201 + at]: 0.2 })])),
  [FOREIGN]: vectorOf({ 380: 1, 200: 0.1 }),
  [UNMEASURED]: vectorOf({ 380: 1, 200: 0.1, 0: 0.1, 1: 0.05 }),
});

/** The same model with a direction for each word beside a large part that all words share; it counts the texts it read. */
function readingWords(): Embedder & { read: string[]; fails: boolean } {
  const tokensOf = (text: string): TokenVectors => {
    const pieces = (text.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => ` ${word}`);
    return { pieces, vectors: Float32Array.from(pieces.flatMap((piece) => [...vectorOf({ 383: 2, [Bun.hash.crc32(piece) % 383]: 1 })])) };
  };
  const model = {
    ...embedder,
    read: [] as string[],
    fails: false,
    tokens: async (texts: readonly string[]) => {
      if (model.fails) throw unavailable("the model is broken.");
      model.read.push(...texts);
      return texts.map(tokensOf);
    },
  };
  return model;
}

const everything = { principal: { kind: "owner" }, scope: { kind: "everything" }, signal: new AbortController().signal } as const;

async function seedSixty(db: Database, project: string | null = null): Promise<string[]> {
  const ids = await seedMany(
    db,
    WORDS.map((words) => words.join(" ")),
    "shelf",
    project,
  );
  await db.write(everything, async (tx) => {
    await tx.run(sql`
      update brain_observations as o set embedding = n.vector, embedding_model = ${LABEL}::text
      from unnest(${uuidArray(ids)}, ${vectorArray(ids.map((_, at) => directionOf(at)))}) as n(id, vector) where o.id = n.id`);
  });
  return ids;
}

const datasetOf = (ids: readonly string[], extra: readonly Record<string, unknown>[] = []) =>
  readDataset(
    [...ids.slice(0, ASKED).map((id, at) => ({ query: questionOf(at), relevant_ids: [id] })), ...extra]
      .map((row) => JSON.stringify(row))
      .join("\n"),
    "keep",
  ).questions;

const run = (
  db: Database,
  questions: ReturnType<typeof datasetOf>,
  given: Partial<{ embedder: Embedder; lexicalOnly: boolean; apply: boolean; onApplied: () => void; project: string }> = {},
) =>
  createThresholdMeasure({
    db,
    embedder: given.embedder ?? embedder,
    clock: () => 0,
    everyday: EVERYDAY,
    onApplied: given.onApplied ?? (() => {}),
  }).run(callContext(given.project === undefined ? {} : { scope: { kind: "project", id: given.project } }), {
    questions,
    alpha: 0.05,
    samples: 5_000,
    lexicalOnly: given.lexicalOnly ?? false,
    apply: given.apply ?? true,
  });

const keyRow = z.object({ key: z.string(), value: z.coerce.number() });
const ask = { query: FOREIGN, abstain_ood: true };

eachEngine("the abstention gate", (engine) => {
  beforeEach(() => engine.db.reset());

  test("without a measurement nothing is refused, and the answer says so", async () => {
    await seedSixty(engine.db);
    const answer = await faroOver(engine.db, { embedder }).ask(ask);
    expect(answer.ood_gate).toBe("uncalibrated");
    expect(answer.ood_gate_reason).toContain("calibrate --dataset FILE --apply");
    expect(answer.count).toBeGreaterThan(0);
    expect(answer.ood).toBeUndefined();
    expect(await faroOver(engine.db).ask(ask)).toMatchObject({ ood_gate: "unavailable" });
  });

  test("measured, it refuses what this memory does not answer, with a reason, and lets the rest pass", async () => {
    const ids = await seedSixty(engine.db);
    const report = await run(engine.db, datasetOf(ids, [{ query: FOREIGN, abstain: true }]));
    expect(report).toMatchObject({
      dimensions: 384,
      fitSamples: 60,
      asked: 24,
      foreign: 1,
      gone: 0,
      guessed: 0,
      guaranteed: true,
      applied: true,
    });
    expect(report.meaning).toMatchObject({ refusedForeign: 1, refusedAbsent: 1 });
    expect(report.words.refusedForeign).toBe(1);

    const faro = faroOver(engine.db, { embedder });
    const refused = await faro.ask(ask);
    expect(refused).toMatchObject({ mode: "hybrid", query_class: "factoid", results: [], count: 0, ood: true, graphrag_context: [] });
    expect(refused.abstain_reason).toMatch(
      /^No memory seems to answer this question: the best has 0 % of its words by weight, and the nearest has a cosine of 0\.\d\d; score -?\d/,
    );
    expect(refused.mahalanobis_distance).toBeGreaterThan(0);
    expect(refused.ood_threshold).toBeGreaterThan(0);
    const long = await faro.ask({ ...ask, format: "verbose" });
    expect(long.ood).toMatchObject({ abstained: true, decided_by: "words and meaning", word_coverage: 0, words_known: 0 });

    const answered = await faro.ask({ query: questionOf(7), abstain_ood: true });
    expect(idsOf(answered)[0]).toBe(ids[7]);
    for (const key of ["ood", "ood_gate", "abstain_reason"]) expect(answered).not.toHaveProperty(key);
    expect((await faro.ask({ query: questionOf(7), abstain_ood: true, format: "verbose" })).ood).toMatchObject({ abstained: false });
    // Nobody asked for the gate: the nearest rows, as ever.
    expect((await faro.ask({ query: FOREIGN })).count).toBeGreaterThan(0);
  });

  test("a question about a known subject is refused once the memory that answered it is gone", async () => {
    const ids = await seedSixty(engine.db);
    await run(engine.db, datasetOf(ids));
    await engine.db.write(everything, async (tx) => {
      await tx.run(sql`update brain_observations set trust = 'quarantined' where id = ${ids[7]}::uuid`);
    });
    expect(await faroOver(engine.db, { embedder }).ask({ query: questionOf(7), abstain_ood: true })).toMatchObject({ ood: true });
  });

  test("words alone decide where no model is installed, measured with or without one", async () => {
    const ids = await seedSixty(engine.db);
    await run(engine.db, datasetOf(ids));
    const words = faroOver(engine.db);
    expect(await words.ask(ask)).toMatchObject({ ood: true, mahalanobis_distance: null, ood_threshold: null, degraded: true });
    expect((await words.ask({ query: questionOf(3), abstain_ood: true })).count).toBeGreaterThan(0);

    await engine.db.reset();
    const again = datasetOf(await seedSixty(engine.db));
    await expect(run(engine.db, again, { embedder: noEmbedder })).rejects.toThrow("--lexical-only");
    const report = await run(engine.db, again, { embedder: noEmbedder, lexicalOnly: true });
    expect(report).toMatchObject({ meaning: undefined, dimensions: undefined, fitSamples: 0, applied: true });
    expect(await faroOver(engine.db).ask(ask)).toMatchObject({ ood: true });
  });

  test("a model that gives tokens is measured with them: the question and the two nearest rows are read word by word", async () => {
    const ids = await seedSixty(engine.db);
    const model = readingWords();
    const report = await run(engine.db, datasetOf(ids, [{ query: FOREIGN, abstain: true }]), { embedder: model });
    expect(report.matched).toMatchObject({ refusedForeign: 1, refusedAbsent: 1 });
    expect(report.matched?.rule.weights.match).toBeGreaterThan(0);
    expect(report.meaning?.rule.weights).not.toHaveProperty("match");

    model.read = [];
    const faro = faroOver(engine.db, { embedder: model });
    const { ood, count } = await faro.ask({ query: questionOf(7), abstain_ood: true, format: "verbose" });
    expect(count).toBeGreaterThan(0);
    expect(model.read).toHaveLength(3);
    expect(model.read).toEqual(expect.arrayContaining([questionOf(7), "shelf (concept): alder7 birch7 cedar7"]));
    const shown = z.object({ word_match: z.number(), score_threshold: z.number() }).parse(ood);
    expect(shown.word_match).toBeGreaterThan(0.2);
    expect(shown.score_threshold).toBeCloseTo(report.matched?.rule.threshold ?? Number.NaN, 3);
    expect(report.meaning?.rule.threshold).not.toBeCloseTo(shown.score_threshold, 3);
    expect(await faro.ask({ ...ask, format: "verbose" })).toMatchObject({
      ood: { abstained: true, word_match: expect.any(Number) },
      results: [],
    });
    // Nobody asked for the gate, so nothing is read.
    model.read = [];
    await faro.ask({ query: questionOf(7) });
    expect(model.read).toEqual([]);
  });

  test("where the tokens cannot be read, or were not when it was measured, the rule without them decides", async () => {
    const ids = await seedSixty(engine.db);
    const model = readingWords();
    const { meaning } = await run(engine.db, datasetOf(ids), { embedder: model });
    model.fails = true;
    const verbose = { ...ask, format: "verbose" };
    const decided = {
      abstained: true,
      decided_by: "words and meaning",
      word_match: null,
      score_threshold: expect.closeTo(meaning?.rule.threshold ?? Number.NaN, 3),
    };
    const failed = await faroOver(engine.db, { embedder: model }).ask(verbose);
    expect(failed.ood).toMatchObject(decided);
    expect(failed).toMatchObject({
      ood_gate: "partial",
      ood_gate_reason: expect.stringContaining("could not be read word by word in time"),
    });
    // A model without tokens, and one that was measured without them.
    const without = await faroOver(engine.db, { embedder }).ask(verbose);
    expect(without.ood).toMatchObject(decided);
    expect(without).not.toHaveProperty("ood_gate");
    const report = await run(engine.db, datasetOf(ids), { embedder: model });
    expect(report.matched).toBeUndefined();
    model.fails = false;
    const older = await faroOver(engine.db, { embedder: model }).ask(verbose);
    expect(older.ood).toMatchObject(decided);
    expect(older).toMatchObject({ ood_gate: "outdated", ood_gate_reason: expect.stringContaining("calibrate --dataset FILE --apply") });
    expect(model.read.filter((text) => text === FOREIGN)).toEqual([]);
  });

  test("an error or a name that the words cover answers, although neither has a vector", async () => {
    const ids = await seedSixty(engine.db);
    await run(engine.db, datasetOf(ids));
    const query = "walrus opera jupiter";
    const faro = faroOver(engine.db, { embedder });
    expect(await faro.ask({ query, abstain_ood: true })).toMatchObject({ ood: true });
    const id = await seedError(engine.db, { message: "walrus opera jupiter overflow" });
    expect((await faro.ask({ query, abstain_ood: true })).count).toBeGreaterThan(0);
    expect(idsOf(await faro.ask({ query, abstain_ood: true, scope: "errors" }))).toEqual([id]);
    await seedEntity(engine.db, { name: "narwhal lagoon" });
    expect((await faro.ask({ query: "narwhal lagoon", abstain_ood: true })).count).toBeGreaterThan(0);
  });

  describe("a row that has no vector yet", () => {
    const words = UNMEASURED;
    const asked = { query: words, abstain_ood: true };
    const pieces = [
      { content: "the beginning", vector: vectorOf({ 300: 1 }) },
      { content: words, vector: undefined },
    ];
    const measuredSixty = async () => run(engine.db, datasetOf(await seedSixty(engine.db)));

    test.each<[string, Parameters<typeof seedObservation>[1], string]>([
      ["waits for it or failed to get one", { content: words }, "1 memory without a vector could be found by words only"],
      [
        "has its own and waits for that of a piece",
        {
          content: `the beginning ${words}`,
          vector: vectorOf({ 300: 1 }),
          chunks: pieces.map(({ content, vector }) => ({ content, ...(vector && { vector }) })),
        },
        "1 piece of a long memory without a vector could be found by words only",
      ],
    ])("%s: it answers by its words, and the answer says that it was found by them alone", async (_name, seed, why) => {
      await measuredSixty();
      const faro = faroOver(engine.db, { embedder });
      expect(await faro.ask(asked)).toMatchObject({ ood: true });
      const id = await seedObservation(engine.db, seed);
      const answer = await faro.ask(asked);
      expect(idsOf(answer)[0]).toBe(id);
      expect(answer).toMatchObject({ degraded: true });
      expect(answer.degraded_reason).toStartWith(why);
      expect(answer).not.toHaveProperty("ood");
    });

    test("is an episode, or has another model's vector: the same", async () => {
      await measuredSixty();
      const faro = faroOver(engine.db, { embedder });
      const episode = await seedEpisode(engine.db, { content: words });
      expect(idsOf(await faro.ask(asked))).toContain(episode);
      await engine.db.write(everything, async (tx) => {
        await tx.run(sql`delete from brain_episodes`);
      });
      const id = await seedObservation(engine.db, { content: words, vector: vectorOf({ 300: 1 }) });
      expect(await faroOver(engine.db, { embedder }).ask(asked)).toMatchObject({ ood: true });
      await engine.db.write(everything, async (tx) => {
        await tx.run(sql`update brain_observations set embedding_model = 'other-model/1' where id = ${id}::uuid`);
      });
      const answer = await faroOver(engine.db, { embedder }).ask(asked);
      expect(idsOf(answer)).toContain(id);
      expect(answer.degraded_reason).toContain("another model's vectors");
    });

    test("and does not have the words: the question is refused, but the answer does not claim that nothing answers it", async () => {
      await measuredSixty();
      await seedObservation(engine.db, { content: "sea cow sings aria" });
      for (const given of [{}, { ood_threshold: 0.001 }]) {
        const refused = await faroOver(engine.db, { embedder }).ask({ ...asked, ...given });
        expect(refused).toMatchObject({ ood: true, count: 0, degraded: true });
        expect(refused.degraded_reason).toStartWith("1 memory without a vector could be found by words only");
      }
      expect((await faroOver(engine.db, { embedder }).ask(asked)).abstain_reason).toStartWith(
        "No memory that could be searched by meaning seems to answer this question, and some could not yet: the best has 0 %",
      );
    });
  });

  test("a model too slow to read the nearest rows is done without within the time of the call, and the answer says so", async () => {
    const ids = await seedSixty(engine.db);
    const model = readingWords();
    await run(engine.db, datasetOf(ids), { embedder: model });
    const slow: Embedder = {
      ...model,
      tokens: (_texts, _role, signal) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true })),
    };
    for (const [query, refused] of [
      [FOREIGN, true],
      [questionOf(7), false],
    ] as const) {
      const answer = await faroOver(engine.db, { embedder: slow }).ask(
        { query, abstain_ood: true },
        callContext({ deadline: deadlineIn(1_000) }),
      );
      expect(answer).toMatchObject({ ood_gate: "partial", ...(refused ? { ood: true } : {}) });
      expect(answer.ood === true).toBe(refused);
    }
  });

  test("a model that is loading: words alone decide, and a refusal claims no more than they say", async () => {
    await run(engine.db, datasetOf(await seedSixty(engine.db)));
    const loading: Embedder = {
      ...embedder,
      status: () => ({ state: "loading", model: "test-model" }),
      embed: (_texts, _role, signal) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true })),
    };
    const faro = faroOver(engine.db, { embedder: loading });
    const refused = await faro.ask(ask, callContext({ deadline: deadlineIn(100) }));
    expect(refused).toMatchObject({ ood: true, degraded: true });
    expect(refused.degraded_reason).toContain("still loading");
    expect(refused.abstain_reason).toStartWith(
      "By words alone, no memory seems to answer this question: the best has 0 % of its words by weight; score",
    );
    expect((await faro.ask({ query: questionOf(3), abstain_ood: true }, callContext({ deadline: deadlineIn(100) }))).count).toBeGreaterThan(
      0,
    );
  });

  test("a given distance goes before the measured rule, and the argument before the configuration", async () => {
    const ids = await seedSixty(engine.db);
    await run(engine.db, datasetOf(ids));
    const faro = faroOver(engine.db, { embedder, oodThreshold: 1_000 });
    expect((await faro.ask(ask)).count).toBeGreaterThan(0);
    const refused = await faro.ask({ query: questionOf(7), abstain_ood: true, ood_threshold: 0.001 });
    expect(refused).toMatchObject({ ood: true, ood_threshold: 0.001, count: 0 });
    expect(refused.abstain_reason).toMatch(/distance \d+\.\d\d > threshold 0\.00/);
    expect(await faroOver(engine.db).ask({ ...ask, ood_threshold: 5 })).toMatchObject({ ood_gate: "unavailable" });
    expect((await faro.ask({ ...ask, scope: "errors", ood_threshold: 5 })).ood_gate_reason).toContain("has no vectors");
  });

  test("a project's own measurement goes before that of the whole memory", async () => {
    const project = await seedProject(engine.db, "shelves");
    const ids = await seedSixty(engine.db, project);
    await run(engine.db, datasetOf(ids), { project });
    const keys = await engine.db.read(everything, (tx) =>
      tx.all({ schema: keyRow, statement: sql`select key, value from brain_calibration order by key` }),
    );
    expect(keys.map(({ key }) => key)).toEqual([`ood_threshold:${project}`, `ood_words:${project}`]);
    const within = { scope: { kind: "project", id: project } } as const;
    expect(await faroOver(engine.db, { embedder }).ask(ask, callContext(within))).toMatchObject({ ood: true });
    expect(await faroOver(engine.db, { embedder }).ask(ask)).toMatchObject({ ood_gate: "uncalibrated" });
  });

  test("another model, and a memory that doubled or halved, put a measurement out of use and say why", async () => {
    const ids = await seedSixty(engine.db);
    await run(engine.db, datasetOf(ids));
    const other = faroOver(engine.db, { embedder: { ...embedder, label: "other-model/1" } });
    // Words have no model: what they say still holds.
    expect(((await other.ask({ ...ask, format: "verbose" })).ood as { decided_by?: string }).decided_by).toBe("words");
    await engine.db.write(everything, async (tx) => {
      await tx.run(sql`delete from brain_calibration where key = 'ood_words'`);
    });
    const changed = await faroOver(engine.db, { embedder: { ...embedder, label: "other-model/1" } }).ask(ask);
    expect(changed).toMatchObject({ ood_gate: "uncalibrated" });
    expect(changed.ood_gate_reason).toContain(`measured with ${LABEL}, and other-model/1 is running`);
    await seedMany(
      engine.db,
      Array.from({ length: 61 }, (_, at) => `filler ${newId()} ${at}`),
    );
    const grown = await faroOver(engine.db, { embedder }).ask(ask);
    expect(grown).toMatchObject({ ood_gate: "uncalibrated" });
    expect(grown.ood_gate_reason).toContain("measured on 60 memories, and there are 121 now");
  });

  test("a server that remembers a measurement sees at the next question that memories came or went", async () => {
    const ids = await seedSixty(engine.db);
    await run(engine.db, datasetOf(ids));
    const faro = faroOver(engine.db, { embedder });
    expect(await faro.ask(ask)).toMatchObject({ ood: true });
    await engine.db.write(everything, async (tx) => {
      await tx.run(sql`delete from brain_observations where id = any(${uuidArray(ids.slice(20))})`);
    });
    const shrunk = await faro.ask(ask);
    expect(shrunk).toMatchObject({ ood_gate: "uncalibrated" });
    expect(shrunk.ood_gate_reason).toContain("measured on 60 memories, and there are 20 now");
    expect(shrunk.ood_gate_reason).toContain("calibrate --dataset FILE --apply");
  });

  test("where another model runs and words alone decide, the answer says so, refused or not", async () => {
    const ids = await seedSixty(engine.db);
    await run(engine.db, datasetOf(ids));
    const faro = faroOver(engine.db, { embedder: { ...embedder, label: "other-model/1" } });
    const why = `Words alone decided: the threshold was measured with ${LABEL}, and other-model/1 is running.`;
    for (const [query, refused] of [
      [FOREIGN, true],
      [questionOf(7), false],
    ] as const) {
      const answer = await faro.ask({ query, abstain_ood: true });
      expect(answer).toMatchObject({ ood_gate: "outdated", ...(refused ? { ood: true } : {}) });
      expect(answer.ood_gate_reason).toStartWith(why);
    }
  });

  test("what was computed from memories that were forgotten is dropped at once", async () => {
    const ids = await seedSixty(engine.db);
    const near = await seedMany(
      engine.db,
      Array.from({ length: 20 }, (_, at) => `walrus ${at}`),
      "walrus den",
    );
    await engine.db.write(everything, async (tx) => {
      await tx.run(sql`
        update brain_observations as o set embedding = n.vector, embedding_model = ${LABEL}::text
        from unnest(${uuidArray(near)}, ${vectorArray(near.map((_, at) => vectorOf({ 380: 1, [300 + at]: 0.3 })))}) as n(id, vector) where o.id = n.id`);
    });
    await run(engine.db, datasetOf(ids));
    const faro = faroOver(engine.db, { embedder });
    const distance = async () => {
      const { ood } = await faro.ask({ query: questionOf(7), abstain_ood: true, format: "verbose" });
      return z.object({ mahalanobis_distance: z.number() }).parse(ood).mahalanobis_distance;
    };
    const before = await distance();
    expect(await distance()).toBe(before);
    const forgetting = createForgetting({
      db: engine.db,
      audit: { record: async () => ({ id: 1, hash: "" }) },
      onErased: faro.gate.forget,
    });
    await forgetting.forget(callContext(), "walrus den", undefined);
    expect(await distance()).not.toBe(before);
  });

  test("what was measured is remembered for five minutes, and dropped at once where it is measured anew", async () => {
    let now = 0;
    const ids = await seedSixty(engine.db);
    const faro = faroOver(engine.db, { embedder, clock: () => now });
    expect(await faro.ask(ask)).toMatchObject({ ood_gate: "uncalibrated" });
    await run(engine.db, datasetOf(ids));
    expect(await faro.ask(ask)).toMatchObject({ ood_gate: "uncalibrated" });
    now += 300_001;
    expect(await faro.ask(ask)).toMatchObject({ ood: true });
    await engine.db.write(everything, async (tx) => {
      await tx.run(sql`delete from brain_calibration`);
    });
    await run(engine.db, datasetOf(ids), { onApplied: faro.gate.forget, apply: false });
    expect(await faro.ask(ask)).toMatchObject({ ood: true });
    await run(engine.db, datasetOf(ids), { onApplied: faro.gate.forget });
    expect(await faro.ask(ask)).toMatchObject({ ood: true });
  });

  test("nothing is measured on a handful of memories, on none of the answers, or without a question", async () => {
    await expect(run(engine.db, datasetOf([]))).rejects.toThrow("needs at least 50 memories to be measured on, and here are 0");
    const ids = await seedSixty(engine.db);
    await expect(run(engine.db, datasetOf([], [{ query: "x", abstain: true }]))).rejects.toThrow(
      "holds no question that this memory answers",
    );
    await expect(run(engine.db, datasetOf([newId()]))).rejects.toThrow("holds no question that this memory answers");
    const report = await run(engine.db, [...datasetOf(ids), ...datasetOf([newId()]), ...datasetOf([], [{ query: questionOf(1) }])], {
      apply: false,
    });
    expect(report).toMatchObject({ gone: 1, guessed: 1, asked: 25, applied: false });
    expect(
      await engine.db.read(everything, (tx) => tx.all({ schema: keyRow, statement: sql`select key, value from brain_calibration` })),
    ).toEqual([]);
  });

  test("measuring changes no row and counts no access", async () => {
    const ids = await seedSixty(engine.db);
    await run(engine.db, datasetOf(ids));
    const touched = await engine.db.read(everything, (tx) =>
      tx.all({
        schema: keyRow,
        statement: sql`select id::text as key, access_count as value from brain_observations where access_count > 0`,
      }),
    );
    expect(touched).toEqual([]);
  });
});
