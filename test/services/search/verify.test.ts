/** `mode=verify` with a judge: verdicts, levels, what is written down, and claims over a corpus with judges that are right, wrong, silent, slow or noise. */
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { createEntailment } from "../../../src/inference/entailment.ts";
import { locatePairModel } from "../../../src/inference/models/locate-pair.ts";
import { silentLogger } from "../../../src/kernel/logger.ts";
import type { Judge } from "../../../src/services/judge/judge.ts";
import { keptEvidence } from "../../../src/store/queries/search-verify.ts";
import type { Answer } from "../../../src/tools/define.ts";
import { eachEngine, testScope } from "../../support/engines.ts";
import { graphOver } from "../../support/graph.ts";
import { certain, judgeWith, scriptedEntailment } from "../../support/judge.ts";
import { isHeldUp } from "../../support/locks.ts";
import { embedderOf, faroOver, seedMany, seedObservation, vectorOf } from "../../support/search.ts";
import { sharedDirectory } from "../../support/shared.ts";
import { rowsIn } from "../../support/statements.ts";

/** Says what a table says of each pair, in whichever order; everything else is neutral. */
const knows = (table: Readonly<Record<string, keyof typeof certain>>): Judge =>
  judgeWith({ entailment: scriptedEntailment((premise, hypothesis) => certain[table[premise] ?? table[hypothesis] ?? "neutral"]) });
const evidenceOf = (answer: Answer) => answer.evidence as Record<string, unknown>[];

eachEngine("mode=verify with a judge", (engine) => {
  beforeEach(() => engine.db.reset());
  const claim = "the parser is enabled by default";
  const verify = (judge: Judge, query = claim) => faroOver(engine.db, { judge }).ask({ mode: "verify", query });
  const logged = async () =>
    (await engine.db.asOwner((connection) => connection.query("select confidence, grounding_level, evidence_ids from brain_verify_log")))
      .rows;

  test("what entails the claim verifies it; the deciding rows are written down, and each item says who judged it", async () => {
    const [first, second, third] = [
      "the parser is enabled by default",
      "the parser is enabled by default now",
      "the parser is enabled by us",
    ];
    const ids = [];
    for (const content of [first, second, third]) ids.push(await seedObservation(engine.db, { entity: "parser", content }));
    const answer = await verify(knows({ [second]: "entails", [third]: "undecided", [first]: "entails" }));
    expect(answer).toMatchObject({
      grounding: "verified",
      judged_by: "nli_local",
      verdicts_reached: 2,
      interpretation: "Stored evidence supports the claim.",
    });
    expect(answer.confidence).toBeGreaterThan(0.7);
    expect(evidenceOf(answer).map(({ id, verdict, judged_by }) => [id, verdict, judged_by])).toEqual([
      [ids[0], "supports", "nli_local"],
      [ids[1], "supports", "nli_local"],
      [ids[2], "unknown", "nli_local"],
    ]);
    expect(evidenceOf(answer)[2]?.reason).toStartWith("undecided: entailment 0.690");
    expect(await logged()).toEqual([{ confidence: expect.any(Number), grounding_level: "verified", evidence_ids: [ids[0], ids[1]] }]);
  });

  test("a credential in a claim is checked, and written down nowhere", async () => {
    await seedObservation(engine.db, { entity: "parser", content: "the parser is enabled by default" });
    await verify(knows({}), `${claim} with ghp_abcdefghijklmnop`);
    const { rows } = await engine.db.asOwner((connection) => connection.query("select claim from brain_verify_log"));
    expect(rows).toEqual([{ claim: `${claim} with ***` }]);
  });

  test("what contradicts it both ways contradicts it", async () => {
    const content = "the parser is disabled by default";
    const id = await seedObservation(engine.db, { entity: "parser", content });
    const answer = await verify(knows({ [content]: "contradicts" }));
    expect(answer).toMatchObject({
      grounding: "contradicted",
      confidence: 0,
      verdicts_reached: 1,
      interpretation: expect.stringContaining("contradicts"),
    });
    expect(await logged()).toEqual([{ confidence: 0, grounding_level: "contradicted", evidence_ids: [id] }]);
  });

  // The embedded engine has one connection: nobody there waits for another's lock.
  if (engine.name === "postgres")
    test("whoever forgets an entity is waited for with nothing held that it takes next", async () => {
      const content = claim;
      const id = await seedObservation(engine.db, { entity: "parser", content });
      const filters = { scope: { kind: "none" }, includeUnscoped: false, after: undefined, before: undefined, tag: undefined } as const;
      let settling: Promise<unknown> | undefined;
      await engine.db.write(testScope(), async (tx) => {
        await rowsIn(tx, sql`select id from brain_entities where name = 'parser' for update`);
        settling = engine.db.write(testScope(), (other) =>
          other.all(keptEvidence({ ids: [id], contents: [content], filters, lock: true })),
        );
        while (!(await isHeldUp(engine.db))) await Bun.sleep(5);
        expect(await rowsIn(tx, sql`select id from brain_observations for update nowait`)).toEqual([{ id }]);
      });
      expect(await settling).toEqual([{ id }]);
    });

  test("unrelated and undecided count for nobody, however similar", async () => {
    await seedObservation(engine.db, { content: "the parser is enabled by default" });
    await seedObservation(engine.db, { content: "the parser is enabled by default, it says" });
    const answer = await verify(
      knows({ "the parser is enabled by default, it says": "undecided", "the parser is enabled by default": "neutral" }),
    );
    expect(answer).toMatchObject({ grounding: "unknown", confidence: 0, verdicts_reached: 1 });
    expect(answer.interpretation).toContain("being on topic is not support");
    expect(await logged()).toEqual([{ confidence: 0, grounding_level: "unknown", evidence_ids: [] }]);
  });

  test("only so many items are judged; the others have no verdict", async () => {
    await seedMany(
      engine.db,
      Array.from({ length: 8 }, (_, at) => `the parser is enabled by default ${at}`),
    );
    const answer = await verify(judgeWith({ maxPairs: 2, entailment: scriptedEntailment(() => certain.neutral) }));
    expect(evidenceOf(answer).map((item) => "verdict" in item)).toEqual([true, true, false, false, false, false, false, false]);
  });

  test("what is forgotten, retired or rewritten while the judge reads is neither shown nor written down, and what is left decides", async () => {
    const said = ["the parser is enabled by default", "the parser is enabled by default now"] as const;
    const meanwhile = async (content: string, work: (id: string) => Promise<unknown>) => {
      await engine.db.reset();
      await seedObservation(engine.db, { entity: "parser", content: said[0] });
      const id = await seedObservation(engine.db, { entity: "Zyx Mira", content });
      const known = scriptedEntailment((premise) => (premise === content ? certain.entails : certain.neutral));
      const judge = judgeWith({
        entailment: { ...known, entail: async (...given) => (await work(id), await known.entail(...given)) },
      });
      const answer = await verify(judge);
      expect(answer).toMatchObject({ grounding: "unknown", confidence: 0, evidence_count: 1, degraded: true });
      expect(answer.degraded_reason).toContain("was changed or taken away while it was judged");
      expect(answer).not.toHaveProperty("verify_id");
      expect(JSON.stringify(answer)).not.toContain("Zyx");
      expect(JSON.stringify(answer)).not.toContain(said[1]);
      expect(await logged()).toEqual([]);
    };
    await meanwhile(said[1], () =>
      graphOver(engine.db).caller({ kind: "none" })("cuba_forget", { entity_name: "Zyx Mira", confirm: true }),
    );
    for (const change of ["trust = 'quarantined'", "observation_type = 'superseded'", "content = 'something else'"])
      await meanwhile(said[1], (id) =>
        engine.db.asOwner((connection) => connection.script(`update brain_observations set ${change} where id = '${id}'`)),
      );
  });

  test("a judge that fails is named and leaves the claim unknown", async () => {
    await seedObservation(engine.db, { content: "the parser is enabled by default" });
    const answer = await verify(judgeWith({ entailment: scriptedEntailment(() => undefined) }));
    expect(answer).toMatchObject({
      grounding: "unknown",
      judged_by: "none",
      tried: [{ backend: "nli_local", error: "The entailment model was too slow." }],
    });
    expect(evidenceOf(answer)[0]).not.toHaveProperty("verdict");
  });

  test("the piece of a long memory that was found is what the judge reads", async () => {
    const tail = "at the very end: the parser is enabled by default";
    const content = `${"history of the parser and its many owners. ".repeat(60)}${tail}`;
    const near = vectorOf({ 1: 1 });
    await seedObservation(engine.db, {
      entity: "parser",
      content,
      vector: vectorOf({ 2: 1 }),
      chunks: [
        { content: "history", vector: vectorOf({ 3: 1 }) },
        { content: tail, vector: near },
      ],
    });
    const read: string[] = [];
    const entailment = scriptedEntailment((premise, hypothesis) => {
      read.push(premise, hypothesis);
      return certain.neutral;
    });
    await faroOver(engine.db, { judge: judgeWith({ entailment }), embedder: embedderOf({ [claim]: near }) }).ask({
      mode: "verify",
      query: claim,
    });
    expect(read).toEqual([tail, claim]);
  });

  test("without a judge, a memory with another number is shown where it differs, and the level stays unknown", async () => {
    await seedObservation(engine.db, { entity: "api", content: "the public API listens on port 9090" });
    const answer = await faroOver(engine.db).ask({ mode: "verify", query: "the public API listens on port 8080" });
    expect(answer).toMatchObject({ grounding: "unknown", judged_by: "none" });
    expect(evidenceOf(answer)[0]?.differs).toEqual({ kind: "number", claim: "8080", memory: "9090" });
    expect(answer.interpretation).toEndWith("One memory says the claim's words with another number: see differs.");
  });

  test("levels that were resolved say how often they were right", async () => {
    await engine.db.asOwner((connection) =>
      connection.script(`insert into brain_verify_log (claim, confidence, grounding_level, outcome, resolved_at)
        values ('a', 0.9, 'verified', 'correct', now()), ('b', 0.9, 'verified', 'correct', now()), ('c', 0, 'unknown', 'incorrect', now())`),
    );
    const content = "the parser is enabled by default";
    await seedObservation(engine.db, { content });
    expect(await verify(knows({ [content]: "entails" }))).toMatchObject({
      grounding: "verified",
      calibrated_accuracy: 0.75,
      calibrated_n: 2,
    });
  });
});

/** 200 services with a port each: 200 true claims, 200 false ones with another service's port. */
const SERVICES = 200;
const port = (at: number) => 8_000 + at;
const memory = (at: number) => `service svc${at} listens on port ${port(at)}`;
const parsed = (text: string) => /svc(\d+) .*port (\d+)/.exec(text)?.slice(1) ?? [];

/** What a perfect reader would say. */
function truth(premise: string, hypothesis: string): keyof typeof certain {
  const [service, at] = parsed(premise);
  const [other, claimed] = parsed(hypothesis);
  if (service !== other) return "neutral";
  return at === claimed ? "entails" : "contradicts";
}
const opposite = { entails: "contradicts", contradicts: "entails", neutral: "neutral", undecided: "undecided" } as const;

eachEngine("200 true and 200 false claims", (engine) => {
  // Once: verifying only adds to the log.
  beforeAll(async () => {
    await engine.db.reset();
    await seedMany(
      engine.db,
      Array.from({ length: SERVICES }, (_, at) => memory(at)),
    );
  }, 60_000);

  async function levels(
    judge: Judge | undefined,
    every = 1,
  ): Promise<{ trueClaims: Record<string, number>; falseClaims: Record<string, number> }> {
    const { ask } = faroOver(engine.db, judge === undefined ? {} : { judge });
    const count = { trueClaims: {} as Record<string, number>, falseClaims: {} as Record<string, number> };
    for (let at = 0; at < SERVICES; at += every) {
      for (const [kind, query] of [
        ["trueClaims", `the service svc${at} listens on port ${port(at)}`],
        ["falseClaims", `the service svc${at} listens on port ${port((at + 7) % SERVICES)}`],
      ] as const) {
        const { grounding } = await ask({ mode: "verify", query });
        count[kind][String(grounding)] = (count[kind][String(grounding)] ?? 0) + 1;
      }
    }
    return count;
  }
  const scripted = (script: (premise: string, hypothesis: string, turn: number) => keyof typeof certain | "slow") => {
    let turn = 0;
    return judgeWith({
      entailment: scriptedEntailment((premise, hypothesis) => {
        const said = script(premise, hypothesis, turn++);
        return said === "slow" ? undefined : certain[said];
      }),
    });
  };
  const confirmed = ({ verified = 0, partial = 0, weak = 0 }: Record<string, number>) => verified + partial + weak;

  test("a judge that is right confirms every true claim and no false one", async () => {
    const { trueClaims, falseClaims } = await levels(scripted(truth));
    expect(trueClaims).toEqual({ verified: SERVICES });
    expect(falseClaims).toEqual({ contradicted: SERVICES });
  }, 180_000);

  test("without any judge everything is unknown", async () => {
    expect(await levels(undefined, 4)).toEqual({ trueClaims: { unknown: 50 }, falseClaims: { unknown: 50 } });
  }, 60_000);

  const byTurns = (premise: string, hypothesis: string, turn: number) =>
    turn % 3 === 0 ? truth(premise, hypothesis) : turn % 3 === 1 ? ("undecided" as const) : ("slow" as const);
  const unhelpful: readonly [string, Parameters<typeof scripted>[0]][] = [
    ["silent", () => "undecided"],
    ["slow", () => "slow"],
    ["right, silent and slow by turns", byTurns],
  ];
  test.each(unhelpful)(
    "a judge that is %s confirms no false claim",
    async (_, script) => {
      const { trueClaims, falseClaims } = await levels(scripted(script), 4);
      expect(confirmed(falseClaims)).toBe(0);
      expect((falseClaims.unknown ?? 0) + (falseClaims.contradicted ?? 0)).toBe(50);
      expect(trueClaims.contradicted ?? 0).toBe(0);
    },
    60_000,
  );

  test("a judge that is wrong is believed, which is why it must be a good one", async () => {
    const { falseClaims } = await levels(
      scripted((p, h) => opposite[truth(p, h)]),
      20,
    );
    expect(falseClaims).toEqual({ verified: 10 });
  }, 60_000);

  test("a judge that answers by chance confirms nothing where it must agree with itself both ways", async () => {
    // Contradicts one way, anything the other: no side gets a voice.
    const { trueClaims, falseClaims } = await levels(
      scripted((_p, _h, turn) => (turn % 2 === 0 ? "contradicts" : "entails")),
      20,
    );
    expect(confirmed(trueClaims) + confirmed(falseClaims)).toBe(0);
  }, 60_000);

  const shared = sharedDirectory();
  test.skipIf(shared === undefined)(
    "a model that is only noise confirms nothing",
    async () => {
      const directory = await mkdtemp(join(tmpdir(), "mi-verify-"));
      const source = join(shared ?? "", "models", "tiny-nli");
      for (const file of ["model.onnx", "tokenizer.json", "config.json"]) await copyFile(join(source, file), join(directory, file));
      const entailment = await createEntailment({
        find: () => locatePairModel({ slot: "nli", explicitPath: directory }),
        threads: 1,
        placement: { device: "cpu", arena: false, spinning: false },
        log: silentLogger,
      });
      try {
        const { trueClaims, falseClaims } = await levels(judgeWith({ entailment }), 4);
        expect([trueClaims, falseClaims]).toEqual([{ unknown: 50 }, { unknown: 50 }]);
      } finally {
        await entailment.close();
        await rm(directory, { recursive: true, force: true });
      }
    },
    120_000,
  );
});

describe("the corpus of claims", () => {
  test("is what it says", () => {
    expect([
      truth(memory(3), "the service svc3 listens on port 8003"),
      truth(memory(3), "the service svc3 listens on port 8010"),
      truth(memory(4), "the service svc3 listens on port 8003"),
    ]).toEqual(["entails", "contradicts", "neutral"]);
  });
});
