import { describe, expect, test } from "bun:test";
import type { Answer, Entailment, EntailmentPair, EntailmentReading, ModelState } from "../../../src/inference/port.ts";
import { deadlineIn, noDeadline } from "../../../src/kernel/deadline.ts";
import { timedOut, unavailable } from "../../../src/kernel/errors.ts";
import { silentLogger } from "../../../src/kernel/logger.ts";
import type { Chat, ChatBackend } from "../../../src/llm/port.ts";
import { createJudge, type JudgeParts } from "../../../src/services/judge/judge.ts";

const ctx = { signal: new AbortController().signal, deadline: noDeadline, sampling: undefined, log: silentLogger };

/** A local model that knows some pairs, and says "neutral" to the rest. */
function knows(
  table: Readonly<Record<string, readonly [number, number, number]>>,
  state: ModelState = { state: "idle", model: "nli" },
): Entailment & { asked: EntailmentPair[] } {
  const asked: EntailmentPair[] = [];
  return {
    asked,
    status: () => state,
    warm: () => undefined,
    close: () => Promise.resolve(),
    entail(pairs): Promise<Answer<EntailmentReading>> {
      asked.push(...pairs);
      if (state.state === "missing") return Promise.resolve({ kind: "none", code: "no_model", reason: state.reason });
      const values = pairs.map(({ premise, hypothesis }) => {
        const [entailment, neutral, contradiction] = table[`${premise} → ${hypothesis}`] ?? [0.05, 0.9, 0.05];
        return { entailment, neutral, contradiction, isCut: false };
      });
      return Promise.resolve({ kind: "answered", values });
    },
  };
}
const missing = knows({}, { state: "missing", reason: "none installed" });
const broken: Entailment = {
  ...missing,
  status: () => ({ state: "idle", model: "nli" }),
  entail: () => Promise.resolve({ kind: "none", code: "inference_error", reason: "It broke." }),
};

function chat(backend: ChatBackend, reply: string | Error): Chat & { prompts: string[] } {
  const prompts: string[] = [];
  return {
    backend,
    model: "m",
    prompts,
    complete({ prompt }) {
      prompts.push(prompt);
      return typeof reply === "string" ? Promise.resolve(reply) : Promise.reject(reply);
    },
  };
}
const judgeOf = (parts: Partial<JudgeParts>) =>
  createJudge({
    choice: undefined,
    entailment: missing,
    ladder: () => ({ chats: [], problem: undefined }),
    timeoutMs: 30_000,
    maxPairs: 5,
    escalate: false,
    nonce: () => "n0nce",
    ...parts,
  });
const ladder =
  (...chats: Chat[]) =>
  () => ({ chats, problem: undefined });
const sides = [
  { text: "uses Redis", createdAt: "2026-01-01T00:00:00Z" },
  { text: "no longer uses Redis", createdAt: "2026-02-01T00:00:00Z" },
] as const;

describe("a claim", () => {
  test("is decided by the local model, contradiction asked both ways", async () => {
    const entailment = knows({
      "it is so → so": [0.95, 0.04, 0.01],
      "it is not → so": [0.02, 0.03, 0.95],
      "so → it is not": [0.1, 0.2, 0.7],
      "one way → so": [0.02, 0.03, 0.95],
      "half → so": [0.69, 0.1, 0.21],
    });
    const judged = await judgeOf({ entailment }).judgeClaim(ctx, "so", ["it is so", "it is not", "one way", "half", "else"]);
    expect(judged.map(({ verdict, confidence, backend, model }) => [verdict, confidence, backend, model])).toEqual([
      ["supports", 0.95, "nli_local", "nli"],
      ["contradicts", 0.7, "nli_local", "nli"],
      ["unknown", 0, "nli_local", "nli"],
      ["unknown", 0, "nli_local", "nli"],
      ["unrelated", 0.9, "nli_local", "nli"],
    ]);
    expect(judged.map(({ reason }) => reason)).toEqual([
      null,
      null,
      "undecided: entailment 0.020, neutral 0.030, contradiction 0.950; asked the other way round: entailment 0.050, neutral 0.900, contradiction 0.050",
      "undecided: entailment 0.690, neutral 0.100, contradiction 0.210",
      null,
    ]);
  });

  test("that the local model leaves undecided is left undecided, unless a person wants it sent on", async () => {
    const entailment = knows({ "half → so": [0.69, 0.1, 0.21] });
    const further = chat("openai_compat", '{"verdict":"supports","confidence":0.9,"reason":"it says so"}');
    const [left] = await judgeOf({ entailment, ladder: ladder(further) }).judgeClaim(ctx, "so", ["half"]);
    expect([left?.verdict, further.prompts.length]).toEqual(["unknown", 0]);
    const [sent] = await judgeOf({ entailment, ladder: ladder(further), escalate: true }).judgeClaim(ctx, "so", ["half"]);
    expect(sent).toEqual({ verdict: "supports", confidence: 0.9, reason: "it says so", backend: "openai_compat", model: "m", tried: [] });
    const [nobody] = await judgeOf({ entailment, escalate: true }).judgeClaim(ctx, "so", ["half"]);
    expect([nobody?.verdict, nobody?.backend]).toEqual(["unknown", "nli_local"]);
  });

  test("without any judge is unknown, also when the texts differ in a negation word", async () => {
    const [judged] = await judgeOf({}).judgeClaim(ctx, "it is used", ["it is not used"]);
    expect(judged).toEqual({ verdict: "unknown", confidence: 0, reason: null, backend: "none", model: null, tried: [] });
    const [heuristic] = await judgeOf({ choice: "heuristic" }).judgeClaim(ctx, "it is used", ["it is not used"]);
    expect([heuristic?.verdict, heuristic?.backend]).toEqual(["unknown", "none"]);
  });

  test("goes to the next rung when one fails, and says who failed", async () => {
    const parts = {
      entailment: broken,
      ladder: ladder(
        chat("mcp_sampling", unavailable("The client's user said no.")),
        chat("openai_compat", '{"verdict":"contradicts","confidence":0.8}'),
      ),
    };
    const [judged] = await judgeOf(parts).judgeClaim(ctx, "so", ["text"]);
    expect(judged).toMatchObject({ verdict: "contradicts", confidence: 0.8, backend: "openai_compat" });
    expect(judged?.tried).toEqual([
      { backend: "nli_local", error: "It broke." },
      { backend: "mcp_sampling", error: "The client's user said no." },
    ]);
  });

  test("judged by garbage is unknown with confidence 0", async () => {
    const [judged] = await judgeOf({ ladder: ladder(chat("claude_cli", "rambling")) }).judgeClaim(ctx, "so", ["text"]);
    expect(judged).toMatchObject({ verdict: "unknown", confidence: 0, backend: "claude_cli" });
  });

  test("is not sent anywhere when no time is left, and a slow judge is slow, not broken", async () => {
    const slow = chat("mcp_sampling", timedOut("The client's model did not answer in time."));
    const later = chat("openai_compat", '{"verdict":"supports","confidence":1}');
    const [judged] = await judgeOf({ ladder: ladder(slow, later) }).judgeClaim({ ...ctx, deadline: deadlineIn(500) }, "so", ["text"]);
    expect(judged).toMatchObject({
      verdict: "unknown",
      tried: [{ backend: "mcp_sampling", error: "Not asked: no time was left of this call." }],
    });
    const [told] = await judgeOf({ ladder: ladder(slow, later) }).judgeClaim(ctx, "so", ["text"]);
    expect(told).toMatchObject({
      verdict: "supports",
      tried: [{ backend: "mcp_sampling", error: "The client's model did not answer in time." }],
    });
  });

  test("by sampling alone leaves the local model out; a rung that cannot be used is named", async () => {
    const entailment = knows({ "text → so": [0.95, 0.04, 0.01] });
    const judge = judgeOf({ entailment, choice: "mcp_sampling", ladder: () => ({ chats: [], problem: "This client does not offer it." }) });
    const [judged] = await judge.judgeClaim(ctx, "so", ["text"]);
    expect(judged).toMatchObject({
      verdict: "unknown",
      backend: "none",
      tried: [{ backend: "mcp_sampling", error: "This client does not offer it." }],
    });
    expect(entailment.asked).toEqual([]);
    expect(judge.problem(ctx)).toBe("This client does not offer it.");
  });

  test("keeps a credential that a model repeats to itself", async () => {
    const [judged] = await judgeOf({
      ladder: ladder(chat("claude_cli", '{"verdict":"supports","confidence":1,"reason":"it has ghp_abcdefghijklmnop"}')),
    }).judgeClaim(ctx, "so", ["text"]);
    expect(judged?.reason).not.toContain("ghp_");
  });

  test("a client that cancels ends the call", async () => {
    const gone = new AbortController();
    gone.abort();
    const { cancelled } = await import("../../../src/kernel/errors.ts");
    await expect(
      judgeOf({ ladder: ladder(chat("mcp_sampling", cancelled())) }).judgeClaim({ ...ctx, signal: gone.signal }, "so", ["text"]),
    ).rejects.toMatchObject({ code: "cancelled" });
  });
});

describe("a pair", () => {
  test("never goes to the local model, which cannot say supersedes", async () => {
    const entailment = knows({});
    const asked = chat("mcp_sampling", '{"verdict":"supersedes","confidence":0.9,"reason":"later","newer":"b"}');
    const judge = judgeOf({ entailment, ladder: ladder(asked) });
    expect(await judge.judgePair(ctx, ...sides, noDeadline)).toEqual({
      verdict: "supersedes",
      confidence: 0.9,
      reason: "later",
      newer: "b",
      backend: "mcp_sampling",
      model: "m",
      tried: [],
      llmCalls: 1,
    });
    expect(entailment.asked).toEqual([]);
    expect([judge.preferred(ctx, "claim"), judge.preferred(ctx, "pair")]).toEqual(["nli_local", "mcp_sampling"]);
  });

  test("by the heuristic is 0.5 on a negation and unknown without, labelled so", async () => {
    const judge = judgeOf({ choice: "heuristic" });
    expect(await judge.judgePair(ctx, ...sides, noDeadline)).toMatchObject({
      verdict: "contradicts",
      confidence: 0.5,
      backend: "heuristic",
      llmCalls: 0,
    });
    expect(await judge.judgePair(ctx, sides[0], sides[0], noDeadline)).toMatchObject({
      verdict: "unknown",
      confidence: 0,
      backend: "heuristic",
    });
  });

  test("without anybody to ask is unknown by none", async () => {
    expect(await judgeOf({}).judgePair(ctx, ...sides, noDeadline)).toMatchObject({
      verdict: "unknown",
      confidence: 0,
      backend: "none",
      llmCalls: 0,
    });
  });

  test("that two failed to judge counts two calls", async () => {
    const judge = judgeOf({ ladder: ladder(chat("mcp_sampling", unavailable("A.")), chat("claude_cli", unavailable("B."))) });
    expect(await judge.judgePair(ctx, ...sides, noDeadline)).toMatchObject({
      verdict: "unknown",
      backend: "none",
      llmCalls: 2,
      tried: [{ error: "A." }, { error: "B." }],
    });
  });
});
