/** The abstention gate through `cuba_faro`, and the measurement it goes by. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { z } from "zod";
import { newId } from "../../../../src/kernel/ids.ts";
import { createForgetting } from "../../../../src/services/forgetting.ts";
import { createCalls, paceBehind } from "../../../../src/services/pace.ts";
import { uuidArray, vectorArray } from "../../../../src/store/codecs.ts";
import { datasetOf, everything, FOREIGN, measureOn, questionOf, seedSixty, sixtyEmbedder } from "../../../support/abstention.ts";
import { eachEngine } from "../../../support/engines.ts";
import {
  callContext,
  faroOver,
  idsOf,
  LABEL,
  noEmbedder,
  seedEntity,
  seedError,
  seedMany,
  seedProject,
  vectorOf,
} from "../../../support/search.ts";

const keyRow = z.object({ key: z.string(), value: z.coerce.number() });
const ask = { query: FOREIGN, abstain_ood: true };

eachEngine("the abstention gate", (engine) => {
  beforeEach(() => engine.db.reset());

  test("without a measurement nothing is refused, and the answer says so", async () => {
    await seedSixty(engine.db);
    const answer = await faroOver(engine.db, { embedder: sixtyEmbedder }).ask(ask);
    expect(answer.ood_gate).toBe("uncalibrated");
    expect(answer.ood_gate_reason).toContain("calibrate --dataset FILE --apply");
    expect(answer.count).toBeGreaterThan(0);
    expect(answer.ood).toBeUndefined();
    expect(await faroOver(engine.db).ask(ask)).toMatchObject({ ood_gate: "unavailable" });
  });

  test("measured, it refuses what this memory does not answer, with a reason, and lets the rest pass", async () => {
    const ids = await seedSixty(engine.db);
    const report = await measureOn(engine.db, datasetOf(ids, [{ query: FOREIGN, abstain: true }]));
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

    const faro = faroOver(engine.db, { embedder: sixtyEmbedder });
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
    await measureOn(engine.db, datasetOf(ids));
    await engine.db.write(everything, async (tx) => {
      await tx.run(sql`update brain_observations set trust = 'quarantined' where id = ${ids[7]}::uuid`);
    });
    expect(await faroOver(engine.db, { embedder: sixtyEmbedder }).ask({ query: questionOf(7), abstain_ood: true })).toMatchObject({
      ood: true,
    });
  });

  test("words alone decide where no model is installed, measured with or without one", async () => {
    const ids = await seedSixty(engine.db);
    await measureOn(engine.db, datasetOf(ids));
    const words = faroOver(engine.db);
    expect(await words.ask(ask)).toMatchObject({ ood: true, mahalanobis_distance: null, ood_threshold: null, degraded: true });
    expect((await words.ask({ query: questionOf(3), abstain_ood: true })).count).toBeGreaterThan(0);

    await engine.db.reset();
    const again = datasetOf(await seedSixty(engine.db));
    await expect(measureOn(engine.db, again, { embedder: noEmbedder })).rejects.toThrow("--lexical-only");
    const report = await measureOn(engine.db, again, { embedder: noEmbedder, lexicalOnly: true });
    expect(report).toMatchObject({ meaning: undefined, dimensions: undefined, fitSamples: 0, applied: true });
    expect(await faroOver(engine.db).ask(ask)).toMatchObject({ ood: true });
  });

  test("an error or a name that the words cover answers, although neither has a vector", async () => {
    const ids = await seedSixty(engine.db);
    await measureOn(engine.db, datasetOf(ids));
    const query = "walrus opera jupiter";
    const faro = faroOver(engine.db, { embedder: sixtyEmbedder });
    expect(await faro.ask({ query, abstain_ood: true })).toMatchObject({ ood: true });
    const id = await seedError(engine.db, { message: "walrus opera jupiter overflow" });
    expect((await faro.ask({ query, abstain_ood: true })).count).toBeGreaterThan(0);
    expect(idsOf(await faro.ask({ query, abstain_ood: true, scope: "errors" }))).toEqual([id]);
    await seedEntity(engine.db, { name: "narwhal lagoon" });
    expect((await faro.ask({ query: "narwhal lagoon", abstain_ood: true })).count).toBeGreaterThan(0);
  });

  test("a given distance goes before the measured rule, and the argument before the configuration", async () => {
    const ids = await seedSixty(engine.db);
    await measureOn(engine.db, datasetOf(ids));
    const faro = faroOver(engine.db, { embedder: sixtyEmbedder, oodThreshold: 1_000 });
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
    await measureOn(engine.db, datasetOf(ids), { project });
    const keys = await engine.db.read(everything, (tx) =>
      tx.all({ schema: keyRow, statement: sql`select key, value from brain_calibration order by key` }),
    );
    expect(keys.map(({ key }) => key)).toEqual([`ood_threshold:${project}`, `ood_words:${project}`]);
    const within = { scope: { kind: "project", id: project } } as const;
    expect(await faroOver(engine.db, { embedder: sixtyEmbedder }).ask(ask, callContext(within))).toMatchObject({ ood: true });
    expect(await faroOver(engine.db, { embedder: sixtyEmbedder }).ask(ask)).toMatchObject({ ood_gate: "uncalibrated" });
  });

  test("another model, and a memory that doubled or halved, put a measurement out of use and say why", async () => {
    const ids = await seedSixty(engine.db);
    await measureOn(engine.db, datasetOf(ids));
    const other = faroOver(engine.db, { embedder: { ...sixtyEmbedder, label: "other-model/1" } });
    // Words have no model: what they say still holds.
    expect(((await other.ask({ ...ask, format: "verbose" })).ood as { decided_by?: string }).decided_by).toBe("words");
    await engine.db.write(everything, async (tx) => {
      await tx.run(sql`delete from brain_calibration where key = 'ood_words'`);
    });
    const changed = await faroOver(engine.db, { embedder: { ...sixtyEmbedder, label: "other-model/1" } }).ask(ask);
    expect(changed).toMatchObject({ ood_gate: "uncalibrated" });
    expect(changed.ood_gate_reason).toContain(`measured with ${LABEL}, and other-model/1 is running`);
    await seedMany(
      engine.db,
      Array.from({ length: 61 }, (_, at) => `filler ${newId()} ${at}`),
    );
    const grown = await faroOver(engine.db, { embedder: sixtyEmbedder }).ask(ask);
    expect(grown).toMatchObject({ ood_gate: "uncalibrated" });
    expect(grown.ood_gate_reason).toContain("measured on 60 memories, and there are 121 now");
  });

  test("a server that remembers a measurement sees at the next question that memories came or went", async () => {
    const ids = await seedSixty(engine.db);
    await measureOn(engine.db, datasetOf(ids));
    const faro = faroOver(engine.db, { embedder: sixtyEmbedder });
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
    await measureOn(engine.db, datasetOf(ids));
    const faro = faroOver(engine.db, { embedder: { ...sixtyEmbedder, label: "other-model/1" } });
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
    await measureOn(engine.db, datasetOf(ids));
    const faro = faroOver(engine.db, { embedder: sixtyEmbedder });
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
      paceOf: paceBehind(createCalls()),
    });
    await forgetting.forget(callContext(), "walrus den", undefined);
    expect(await distance()).not.toBe(before);
  });

  test("what was measured is remembered for five minutes, and dropped at once where it is measured anew", async () => {
    let now = 0;
    const ids = await seedSixty(engine.db);
    const faro = faroOver(engine.db, { embedder: sixtyEmbedder, clock: () => now });
    expect(await faro.ask(ask)).toMatchObject({ ood_gate: "uncalibrated" });
    await measureOn(engine.db, datasetOf(ids));
    expect(await faro.ask(ask)).toMatchObject({ ood_gate: "uncalibrated" });
    now += 300_001;
    expect(await faro.ask(ask)).toMatchObject({ ood: true });
    await engine.db.write(everything, async (tx) => {
      await tx.run(sql`delete from brain_calibration`);
    });
    await measureOn(engine.db, datasetOf(ids), { onApplied: faro.gate.forget, apply: false });
    expect(await faro.ask(ask)).toMatchObject({ ood: true });
    await measureOn(engine.db, datasetOf(ids), { onApplied: faro.gate.forget });
    expect(await faro.ask(ask)).toMatchObject({ ood: true });
  });

  test("nothing is measured on a handful of memories, on none of the answers, or without a question", async () => {
    await expect(measureOn(engine.db, datasetOf([]))).rejects.toThrow("needs at least 50 memories to be measured on, and here are 0");
    const ids = await seedSixty(engine.db);
    await expect(measureOn(engine.db, datasetOf([], [{ query: "x", abstain: true }]))).rejects.toThrow(
      "holds no question that this memory answers",
    );
    await expect(measureOn(engine.db, datasetOf([newId()]))).rejects.toThrow("holds no question that this memory answers");
    const report = await measureOn(engine.db, [...datasetOf(ids), ...datasetOf([newId()]), ...datasetOf([], [{ query: questionOf(1) }])], {
      apply: false,
    });
    expect(report).toMatchObject({ gone: 1, guessed: 1, asked: 25, applied: false });
    expect(
      await engine.db.read(everything, (tx) => tx.all({ schema: keyRow, statement: sql`select key, value from brain_calibration` })),
    ).toEqual([]);
  });

  test("measuring changes no row and counts no access", async () => {
    const ids = await seedSixty(engine.db);
    await measureOn(engine.db, datasetOf(ids));
    const touched = await engine.db.read(everything, (tx) =>
      tx.all({
        schema: keyRow,
        statement: sql`select id::text as key, access_count as value from brain_observations where access_count > 0`,
      }),
    );
    expect(touched).toEqual([]);
  });
});
