/** cuba_contradiccion and cuba_juez: pairs of memories of one entity. Vectors are made so that cosines are known. */
import { beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { deadlineIn } from "../../../src/kernel/deadline.ts";
import { unavailable } from "../../../src/kernel/errors.ts";
import type { Chat } from "../../../src/llm/port.ts";
import { contradictionScore } from "../../../src/services/conflicts/contradictions.ts";
import { eachEngine } from "../../support/engines.ts";
import { graphOver, type Reply } from "../../support/graph.ts";
import { judgeWith } from "../../support/judge.ts";
import { embedderOf, seedObservation, seedProject, vectorOf } from "../../support/search.ts";
import { rows } from "../../support/statements.ts";

/** A unit vector whose cosine with the first axis is `cosine`. */
const at = (cosine: number) => vectorOf({ 0: cosine, 1: Math.sqrt(1 - cosine ** 2) });
const first = vectorOf({ 0: 1 });

test.each([
  [0.6, true, 0.9],
  [0.8, true, 1],
  [0.7, false, 0.49],
])("cosine %p, negation %p: score %p", (cosine, hasNegation, score) => {
  expect(contradictionScore(cosine, hasNegation)).toBeCloseTo(score, 10);
});

/** A model that gives its replies in turn, the last one for ever. */
function chat(...replies: readonly (string | Error)[]): Chat & { readonly prompts: string[] } {
  const prompts: string[] = [];
  return {
    backend: "mcp_sampling",
    model: "client_provided",
    prompts,
    complete({ prompt }) {
      prompts.push(prompt);
      const reply = replies[Math.min(prompts.length, replies.length) - 1] ?? "";
      return typeof reply === "string" ? Promise.resolve(reply) : Promise.reject(reply);
    },
  };
}
const judgeOver = (...chats: Chat[]) => judgeWith({ ladder: () => ({ chats, problem: undefined }) });
const contradicts = '{"verdict":"contradicts","confidence":0.9,"reason":"two ports"}';

eachEngine("conflicts", (engine) => {
  beforeEach(() => engine.db.reset());
  const over = (judge = judgeWith()) => graphOver(engine.db, { embedder: embedderOf({}), judge });
  const pair = async (a: string, b: string, cosine: number, more: { entity?: string; project?: string } = {}) => {
    const common = { entity: "service", ...more };
    return [
      await seedObservation(engine.db, { ...common, content: a, vector: first }),
      await seedObservation(engine.db, { ...common, content: b, vector: at(cosine) }),
    ] as const;
  };
  const ordered = (ids: readonly string[]) => [...ids].sort();

  describe("cuba_contradiccion", () => {
    const scan = (args: Reply = {}, projectId?: string) =>
      over().caller(projectId === undefined ? { kind: "none" } : { kind: "project", id: projectId })("cuba_contradiccion", {
        action: "scan",
        ...args,
      });
    const found = async (args: Reply = {}) => (await scan(args)).contradictions as Reply[];

    test("a negated pair in the band is found, with its score, and a judge is suggested", async () => {
      const ids = await pair("Uses uvicorn", "Replaced uvicorn with granian", 0.6);
      const answer = await scan({ entity_name: "service" });
      const [a, b] = ordered(ids);
      expect(answer).toMatchObject({ action: "scan", entity_name: "service", count: 1 });
      expect(answer.contradictions).toMatchObject([
        { observation_a: { id: a }, observation_b: { id: b }, cosine_similarity: 0.6, negation_detected: true, contradiction_score: 0.9 },
      ]);
      expect(answer.suggestion).toContain("cuba_juez");
      expect((await found())[0]).toMatchObject({ entity_name: "service" });
    });

    test.each([
      ["is fast", "is safe", 0.6, 0],
      ["plays piano daily", "plays guitar daily", 0.6, 0],
      ["is used", "is not used", 0.85, 1],
      ["is used", "is not used", 0.86, 0],
      ["is used", "is not used", 0.29, 0],
    ])("%p beside %p at %p: %p", async (a, b, cosine, count) => {
      await pair(a, b, cosine);
      expect(await found({ entity_name: "service" })).toHaveLength(count);
    });

    test("min_score widens it to pairs without a negation", async () => {
      await pair("is fast", "is safe", 0.8);
      expect(await found({ entity_name: "service", min_score: 0.5 })).toMatchObject([
        { negation_detected: false, contradiction_score: 0.56 },
      ]);
      expect(await found({ entity_name: "service", min_score: 0.6 })).toEqual([]);
    });

    test("a verdict overrules the heuristic either way", async () => {
      const judged = async (verdict: string, ids: readonly string[]) => {
        const [a, b] = ordered(ids);
        await rows(
          engine.db,
          sql`insert into brain_judgments (observation_a, observation_b, verdict, confidence, judge_backend) values (${a ?? ""}::uuid, ${b ?? ""}::uuid, ${verdict}::text, 0.9, 'claude_cli')`,
        );
      };
      await judged("complementary", await pair("is used", "is not used", 0.6));
      expect(await found({ entity_name: "service" })).toEqual([]);
      await judged("supersedes", await pair("is fast", "is safe", 0.6, { entity: "other" }));
      expect(await found({ entity_name: "other" })).toMatchObject([
        { negation_detected: false, judgment: { verdict: "supersedes", confidence: 0.9 } },
      ]);
    });

    test("retired, quarantined and merely used rows, vectors of another model and other projects stay out", async () => {
      const [mine, theirs] = [await seedProject(engine.db, "mine"), await seedProject(engine.db, "theirs")];
      await pair("is used", "is not used", 0.6, { project: theirs });
      expect(await scan({ entity_name: "service" }, mine)).toMatchObject({ count: 0, note: expect.stringContaining("not known here") });
      for (const change of [
        "observation_type = 'superseded'",
        "observation_type = 'tool_usage'",
        "trust = 'quarantined'",
        "embedding_model = 'another'",
      ]) {
        await engine.db.reset();
        const [, b] = await pair("is used", "is not used", 0.6);
        expect(await found({ entity_name: "service" })).toHaveLength(1);
        await engine.db.asOwner((connection) => connection.script(`update brain_observations set ${change} where id = '${b}'`));
        expect([change, await found({ entity_name: "service" })]).toEqual([change, []]);
      }
    });

    test("the scan over all takes five pairs of an entity, most likely first, and pages", async () => {
      for (let i = 0; i < 5; i++)
        await seedObservation(engine.db, { entity: "busy", content: `is not used ${i}`, vector: at(0.6 + i / 100) });
      for (let i = 0; i < 3; i++) await seedObservation(engine.db, { entity: "busy", content: `is used ${i}`, vector: first });
      await pair("is on", "is not on", 0.5);
      const all = await found();
      expect(all.filter(({ entity_name }) => entity_name === "busy")).toHaveLength(5);
      expect(all.at(-1)).toMatchObject({ entity_name: "service", contradiction_score: 0.75 });
      expect(await found({ offset: 5 })).toHaveLength(1);
    });

    test("what cannot be compared says why", async () => {
      await seedObservation(engine.db, { entity: "service", content: "is used" });
      expect((await scan({ entity_name: "service" })).note).toContain("fewer than two");
      await seedObservation(engine.db, { entity: "service", content: "is not used" });
      expect((await scan({ entity_name: "service" })).note).toContain("memory-industry models embed");
      expect((await scan()).note).toContain("memory-industry models embed");
    });
  });

  describe("cuba_juez judge_pair", () => {
    const judgePair = (judge: ReturnType<typeof judgeOver>, a: string, b: string, more: Reply = {}) =>
      over(judge).caller()("cuba_juez", { action: "judge_pair", observation_a: a, observation_b: b, ...more });

    test("asks once, whichever way round, and says who is newer by the clock", async () => {
      const [a, b] = await pair("listens on 8080", "listens on 9090", 0.7);
      await rows(engine.db, sql`update brain_observations set created_at = now() - interval '1 day' where id = ${a}::uuid`);
      const model = chat(contradicts);
      const [low, high] = ordered([a, b]);
      const newer = b === high ? "b" : "a";
      const judgment = {
        verdict: "contradicts",
        confidence: 0.9,
        reason: "two ports",
        backend: "mcp_sampling",
        model: "client_provided",
        newer,
      };
      expect(await judgePair(judgeOver(model), b.toUpperCase(), a)).toEqual({
        action: "judge_pair",
        cached: false,
        observation_a: low,
        observation_b: high,
        judgment,
        warnings: [],
      });
      expect(await judgePair(judgeOver(model), a, b)).toMatchObject({ cached: true, observation_a: low, judgment });
      expect(model.prompts).toHaveLength(1);
      expect(await judgePair(judgeOver(model), a, b, { refresh: true })).toMatchObject({ cached: false });
      expect(model.prompts).toHaveLength(2);
    });

    test("an edited text is judged again, and a verdict on a text that changed meanwhile is not kept", async () => {
      const [a, b] = await pair("listens on 8080", "listens on 9090", 0.7);
      const model = chat(contradicts);
      await judgePair(judgeOver(model), a, b);
      await rows(engine.db, sql`update brain_observations set content = 'listens on 7070' where id = ${b}::uuid`);
      expect(await judgePair(judgeOver(model), a, b)).toMatchObject({ cached: false });
      await rows(engine.db, sql`delete from brain_judgments`);
      const editing: Chat = {
        ...model,
        complete: async () => {
          await rows(engine.db, sql`update brain_observations set content = content || ' now' where id = ${a}::uuid`);
          return contradicts;
        },
      };
      expect(await judgePair(judgeOver(editing), a, b)).toMatchObject({ judgment: { verdict: "contradicts" } });
      expect(await rows(engine.db, sql`select 1 from brain_judgments`)).toEqual([]);
    });

    test("what is forgotten while a judge reads it is not answered, whatever it says", async () => {
      for (const reply of ['{"verdict":"contradicts","confidence":0.9,"reason":"Zyx moved"}', "garbage"]) {
        const [a, b] = await pair("Zyx listens on 8080", "Zyx listens on 9090", 0.7, { entity: "Zyx Mira" });
        const forgetting: Chat = {
          ...chat(),
          complete: async () => {
            await over().caller()("cuba_forget", { entity_name: "Zyx Mira", confirm: true });
            return reply;
          },
        };
        const error = await over().refusal(judgePair(judgeOver(forgetting), a, b));
        expect([error.code, error.message]).toEqual([
          "conflict",
          "One of the two was taken away while a judge read them. Nothing was kept.",
        ]);
        expect(await rows(engine.db, sql`select 1 from brain_judgments`)).toEqual([]);
      }
    });

    test("unknown, garbage, the heuristic and nobody are not kept", async () => {
      const [a, b] = await pair("is used", "is not used", 0.7);
      const judges = [
        judgeOver(chat("garbage")),
        judgeOver(),
        judgeWith({ choice: "heuristic" }),
        judgeOver(chat(unavailable("It is off."))),
      ];
      const seen = [];
      for (const judge of judges) {
        const { judgment } = (await judgePair(judge, a, b)) as { judgment: Reply };
        seen.push([judgment.verdict, judgment.confidence, judgment.backend]);
      }
      expect(seen).toEqual([
        ["unknown", 0, "mcp_sampling"],
        ["unknown", 0, "none"],
        ["contradicts", 0.5, "heuristic"],
        ["unknown", 0, "none"],
      ]);
      expect(await rows(engine.db, sql`select 1 from brain_judgments`)).toEqual([]);
    });

    test("both must be visible before the cache is looked at", async () => {
      const [mine, theirs] = [await seedProject(engine.db, "mine"), await seedProject(engine.db, "theirs")];
      const [a, b] = await pair("listens on 8080", "listens on 9090", 0.7, { project: theirs });
      const graph = over(judgeOver(chat(contradicts)));
      const args = { action: "judge_pair", observation_a: a, observation_b: b };
      await graph.caller({ kind: "project", id: theirs })("cuba_juez", args);
      const error = await graph.refusal(graph.caller({ kind: "project", id: mine })("cuba_juez", args));
      expect(error.code).toBe("not_found");
      expect(error.message).not.toContain("port");
      await engine.db.asOwner((connection) => connection.script(`update brain_observations set trust = 'quarantined' where id = '${a}'`));
      expect((await graph.refusal(graph.caller()("cuba_juez", args))).code).toBe("not_found");
    });

    test("one id twice is a clear error; a named judge that cannot be used is one too", async () => {
      const [a, b] = await pair("is used", "is not used", 0.7);
      const graph = over(judgeWith({ choice: "anthropic_api", ladder: () => ({ chats: [], problem: "ANTHROPIC_API_KEY is not set." }) }));
      const ask = (x: string, y: string) =>
        graph.refusal(graph.caller()("cuba_juez", { action: "judge_pair", observation_a: x, observation_b: y }));
      expect(await ask(a, a)).toMatchObject({ code: "invalid", field: "observation_b" });
      expect(await ask(a, b)).toMatchObject({ code: "unavailable", message: "ANTHROPIC_API_KEY is not set. Nothing was judged." });
    });
  });

  describe("cuba_juez scan_entity", () => {
    const scan = (judge: ReturnType<typeof judgeOver>, args: Reply = {}, deadline = deadlineIn(30_000)) =>
      over(judge).caller({ kind: "none" }, { deadline })("cuba_juez", { action: "scan_entity", entity_name: "service", ...args });
    const seedAround = async () => {
      await seedObservation(engine.db, { entity: "service", content: "the subject", vector: first });
      // On axes of their own, the last two on opposite sides of one, so that they are far from each other.
      for (const [cosine, axis, side] of [
        [0.59, 2, 1],
        [0.6, 3, 1],
        [0.7, 4, 1],
        [0.8, 5, 1],
        [0.81, 5, -1],
      ] as const) {
        const vector = vectorOf({ 0: cosine, [axis]: side * Math.sqrt(1 - cosine ** 2) });
        await seedObservation(engine.db, { entity: "service", content: `text ${cosine}`, vector });
      }
    };

    test("takes pairs in the band, bounds included, nearest to its middle first, and counts calls and hits", async () => {
      await seedAround();
      const model = chat(contradicts);
      const answer = await scan(judgeOver(model));
      const cosines = (answer.results as Reply[]).map(({ cosine_sim }) => cosine_sim);
      expect(cosines[0]).toBe(0.7);
      expect([...cosines].sort()).toEqual([0.6, 0.7, 0.8]);
      expect(answer).toMatchObject({
        action: "scan_entity",
        entity_name: "service",
        backend: "mcp_sampling",
        ambiguous_band: [0.6, 0.8],
        llm_calls: 3,
        cache_hits: 0,
      });
      expect(await scan(judgeOver(model))).toMatchObject({ llm_calls: 0, cache_hits: 3 });
      expect(await scan(judgeOver(model), { max_pairs: 1 })).toMatchObject({ cache_hits: 1 });
    });

    test("a pair that no judge could decide has its error, and the others go on", async () => {
      await seedAround();
      const answer = await scan(judgeOver(chat(unavailable("The client's user said no."), contradicts)));
      const [bad, ...good] = answer.results as Reply[];
      expect(bad).toMatchObject({ cached: false, error: "mcp_sampling: The client's user said no." });
      expect(good.map(({ judgment }) => (judgment as Reply).verdict)).toEqual(["contradicts", "contradicts"]);
      expect(answer).toMatchObject({ llm_calls: 3, backend: "mcp_sampling" });
    });

    test("stops when no time is left, and says how many pairs are", async () => {
      await seedAround();
      expect(await scan(judgeOver(chat(contradicts)), {}, deadlineIn(900))).toMatchObject({
        results: [],
        truncated: true,
        pairs_left: 3,
        llm_calls: 0,
      });
    });

    test("what is forgotten while a scan goes on is shown to no model and answered by none", async () => {
      await seedAround();
      const model = chat('{"verdict":"contradicts","confidence":0.9,"reason":"Zyx moved"}');
      const forgetting: Chat = {
        ...model,
        complete: async (...given) => {
          await over().caller()("cuba_forget", { entity_name: "service", confirm: true });
          return await model.complete(...given);
        },
      };
      const answer = await scan(judgeOver(forgetting));
      expect(answer).toMatchObject({ results: [], pairs_gone: 3, llm_calls: 1, cache_hits: 0 });
      expect(model.prompts).toHaveLength(1);
      expect(await rows(engine.db, sql`select 1 from brain_judgments`)).toEqual([]);
    });

    test("no pairs and an unknown entity are no errors", async () => {
      await seedObservation(engine.db, { entity: "service", content: "alone", vector: first });
      expect(await scan(judgeOver())).toMatchObject({ backend: "none", llm_calls: 0, cache_hits: 0, results: [] });
      expect(await scan(judgeOver(chat(contradicts)), { entity_name: "nobody" })).toMatchObject({
        entity_name: "nobody",
        results: [],
        note: expect.stringContaining("not known here"),
      });
    });
  });
});
