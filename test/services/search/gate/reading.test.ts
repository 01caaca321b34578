/** What the abstention gate answers where a row has no vector yet, or the model that reads question and rows is slow, fails or is loading. */
import { beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Embedder } from "../../../../src/inference/port.ts";
import { deadlineIn } from "../../../../src/kernel/deadline.ts";
import {
  datasetOf,
  everything,
  FOREIGN,
  measureOn,
  questionOf,
  readingWords,
  seedSixty,
  sixtyEmbedder,
  UNMEASURED,
} from "../../../support/abstention.ts";
import { eachEngine } from "../../../support/engines.ts";
import { graphOver } from "../../../support/graph.ts";
import { callContext, faroOver, idsOf, seedEpisode, seedObservation, vectorOf } from "../../../support/search.ts";

const ask = { query: FOREIGN, abstain_ood: true };

eachEngine("what the abstention gate can read", (engine) => {
  beforeEach(() => engine.db.reset());

  test("a model that gives tokens is measured with them: the question and the two nearest rows are read word by word", async () => {
    const ids = await seedSixty(engine.db);
    const model = readingWords();
    const report = await measureOn(engine.db, datasetOf(ids, [{ query: FOREIGN, abstain: true }]), { embedder: model });
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

  test("of a long row the part that has the question's words is read, and no more than 600 characters of it", async () => {
    const model = readingWords();
    await measureOn(engine.db, datasetOf(await seedSixty(engine.db)), { embedder: model });
    const filler = "wool water mill fence ".repeat(150);
    await seedObservation(engine.db, { content: `${filler}alder7 birch7 ${filler}`, vector: vectorOf({ 7: 1, 200: 0.3, 208: 0.2 }) });
    model.read = [];
    await faroOver(engine.db, { embedder: model }).ask({ query: questionOf(7), abstain_ood: true });
    const part = model.read.find((text) => text.startsWith("notes (concept): ")) ?? "";
    expect(part).toContain("alder7 birch7");
    expect(part.length).toBe("notes (concept): ".length + 600);
  });

  test("where the tokens cannot be read, or were not when it was measured, the rule without them decides", async () => {
    const ids = await seedSixty(engine.db);
    const model = readingWords();
    const { meaning } = await measureOn(engine.db, datasetOf(ids), { embedder: model });
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
    const without = await faroOver(engine.db, { embedder: sixtyEmbedder }).ask(verbose);
    expect(without.ood).toMatchObject(decided);
    expect(without).not.toHaveProperty("ood_gate");
    const report = await measureOn(engine.db, datasetOf(ids), { embedder: model });
    expect(report.matched).toBeUndefined();
    model.fails = false;
    const older = await faroOver(engine.db, { embedder: model }).ask(verbose);
    expect(older.ood).toMatchObject(decided);
    expect(older).toMatchObject({ ood_gate: "outdated", ood_gate_reason: expect.stringContaining("calibrate --dataset FILE --apply") });
    expect(model.read.filter((text) => text === FOREIGN)).toEqual([]);
  });

  describe("a row that has no vector yet", () => {
    const words = UNMEASURED;
    const asked = { query: words, abstain_ood: true };
    const pieces = [
      { content: "the beginning", vector: vectorOf({ 300: 1 }) },
      { content: words, vector: undefined },
    ];
    const measuredSixty = async () => measureOn(engine.db, datasetOf(await seedSixty(engine.db)));

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
      const faro = faroOver(engine.db, { embedder: sixtyEmbedder });
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
      const faro = faroOver(engine.db, { embedder: sixtyEmbedder });
      const episode = await seedEpisode(engine.db, { content: words });
      expect(idsOf(await faro.ask(asked))).toContain(episode);
      await engine.db.write(everything, async (tx) => {
        await tx.run(sql`delete from brain_episodes`);
      });
      const id = await seedObservation(engine.db, { content: words, vector: vectorOf({ 300: 1 }) });
      expect(await faroOver(engine.db, { embedder: sixtyEmbedder }).ask(asked)).toMatchObject({ ood: true });
      await engine.db.write(everything, async (tx) => {
        await tx.run(sql`update brain_observations set embedding_model = 'other-model/1' where id = ${id}::uuid`);
      });
      const answer = await faroOver(engine.db, { embedder: sixtyEmbedder }).ask(asked);
      expect(idsOf(answer)).toContain(id);
      expect(answer.degraded_reason).toContain("another model's vectors");
    });

    test("and does not have the words: the question is refused, but the answer does not claim that nothing answers it", async () => {
      await measuredSixty();
      await seedObservation(engine.db, { content: "sea cow sings aria" });
      for (const given of [{}, { ood_threshold: 0.001 }]) {
        const refused = await faroOver(engine.db, { embedder: sixtyEmbedder }).ask({ ...asked, ...given });
        expect(refused).toMatchObject({ ood: true, count: 0, degraded: true });
        expect(refused.degraded_reason).toStartWith("1 memory without a vector could be found by words only");
      }
      expect((await faroOver(engine.db, { embedder: sixtyEmbedder }).ask(asked)).abstain_reason).toStartWith(
        "No memory that could be searched by meaning seems to answer this question, and some could not yet: the best has 0 %",
      );
    });
  });

  test("a model too slow to read the nearest rows is done without within the time of the call, and the answer says so", async () => {
    const ids = await seedSixty(engine.db);
    const model = readingWords();
    await measureOn(engine.db, datasetOf(ids), { embedder: model });
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

  test("what is forgotten while the nearest rows are read is not answered", async () => {
    const ids = await seedSixty(engine.db);
    const model = readingWords();
    await measureOn(engine.db, datasetOf(ids), { embedder: model });
    const forget = graphOver(engine.db).caller({ kind: "none" });
    const slow: Embedder = {
      ...model,
      async tokens(...given) {
        await forget("cuba_forget", { entity_name: "shelf", confirm: true });
        return (await model.tokens?.(...given)) ?? [];
      },
    };
    const { count, results } = await faroOver(engine.db, { embedder: slow }).ask({ query: questionOf(7), abstain_ood: true });
    expect([count, results]).toEqual([0, []]);
  });

  test("a model that is loading: words alone decide, and a refusal claims no more than they say", async () => {
    await measureOn(engine.db, datasetOf(await seedSixty(engine.db)));
    const loading: Embedder = {
      ...sixtyEmbedder,
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
});
