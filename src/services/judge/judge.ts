/**
 * The judge (`tools-cognition.md` §3): the local entailment model for claims, then the models that may be asked, then an honest `unknown`. Nothing is ever
 * guessed: what no rung decides is `unknown` with confidence 0, and `tried` says who failed and why.
 */
import { negationDiffers } from "../../domain/negation.ts";
import { type PairVerdict, type Reply, readClaimReply, readPairReply } from "../../domain/trust/reply.ts";
import { type ClaimVerdict, decideClaim, decideDirection, type Entailed, needsReverse } from "../../domain/trust/verify.ts";
import type { Answer, Entailment, EntailmentReading, ModelState } from "../../inference/port.ts";
import type { CallContext } from "../../kernel/context.ts";
import { type Deadline, signalUntil } from "../../kernel/deadline.ts";
import { MemoryError, present } from "../../kernel/errors.ts";
import type { JudgeChoice } from "../../kernel/judge-choice.ts";
import { redact } from "../../kernel/secrets.ts";
import type { Ladder } from "../../llm/ladder.ts";
import { type Chat, type ChatBackend, chatBackends } from "../../llm/port.ts";
import { claimPrompt, type PairSide, pairPrompt } from "./prompts.ts";

export const judgeBackends = ["nli_local", ...chatBackends, "heuristic", "none"] as const;
export type JudgeBackend = (typeof judgeBackends)[number];

export interface TriedRung {
  readonly backend: JudgeBackend;
  readonly error: string;
}

export interface Judgment<V extends string> {
  readonly verdict: V;
  /** 0–1; 0 where nothing was decided. */
  readonly confidence: number;
  readonly reason: string | null;
  /** Who answered; `none` where nobody did. */
  readonly backend: JudgeBackend;
  readonly model: string | null;
  /** Rungs that were asked and failed, in order; empty where the first one answered. */
  readonly tried: readonly TriedRung[];
}

export type ClaimJudgment = Judgment<ClaimVerdict>;
export interface PairJudgment extends Judgment<PairVerdict> {
  /** Which of the two is the newer statement. */
  readonly newer: "a" | "b" | null;
}

type JudgeContext = Pick<CallContext, "signal" | "deadline" | "sampling" | "log">;

export interface Judge {
  /** Evidence items judged for one claim, pairs judged in one scan (`CUBA_JUEZ_MAX_PAIRS`). */
  readonly maxPairs: number;
  /** Who would be asked first. */
  preferred(ctx: Pick<CallContext, "sampling">, question: "claim" | "pair"): JudgeBackend;
  /** One sentence where a person named a rung that cannot be used. */
  problem(ctx: Pick<CallContext, "sampling">): string | undefined;
  /**
   * One judgment for each piece of evidence, in order. @throws MemoryError `cancelled` only; everything else is `unknown` with `tried`.
   * @param evidence none of them empty.
   */
  judgeClaim(ctx: JudgeContext, claim: string, evidence: readonly string[]): Promise<ClaimJudgment[]>;
  /** @param deadline of the whole call; one judgment never takes longer than its own limit. @returns also how many models were really asked. */
  judgePair(ctx: JudgeContext, a: PairSide, b: PairSide, deadline: Deadline): Promise<PairJudgment & { readonly llmCalls: number }>;
  entailment(): ModelState;
}

export interface JudgeParts {
  readonly choice: JudgeChoice | undefined;
  readonly entailment: Entailment;
  readonly ladder: (sampling: CallContext["sampling"]) => Ladder;
  /** Milliseconds of one judgment (`CUBA_JUEZ_TIMEOUT_SECS`). */
  readonly timeoutMs: number;
  readonly maxPairs: number;
  /** Undecided claims go on to a model that may be asked (`CUBA_NLI_ESCALATE`). */
  readonly escalate: boolean;
  /** Unguessable text for the markers. */
  readonly nonce: () => string;
}

/** A judge's share of what is left of a call: the answer must still be written. */
const SHARE = 0.8;
/** With less than this left no model is asked any more, milliseconds. */
export const LEAST_MS = 1_000;
/** A verdict is one line. */
const REPLY_TOKENS = 256;

const NOT_ASKED = "Not asked: no time was left of this call.";

const UNDECIDED = { verdict: "unknown", confidence: 0 } as const;

export function createJudge(parts: JudgeParts): Judge {
  const { choice, entailment, ladder } = parts;
  /** Sampling alone and the heuristic alone were asked for: then the local model is not. */
  const usesEntailment = choice !== "mcp_sampling" && choice !== "heuristic";
  const isEntailmentThere = () => {
    const { state } = entailment.status();
    return usesEntailment && state !== "missing" && state !== "failed";
  };

  async function ask<V extends string>(
    ctx: JudgeContext,
    prompt: string,
    read: (text: string) => Reply<V>,
    deadline: Deadline,
  ): Promise<Asked<V>> {
    const { chats, problem } = ladder(ctx.sampling);
    const tried: TriedRung[] = [];
    let calls = 0;
    for (const chat of chats) {
      if (deadline.remainingMs() < LEAST_MS) {
        tried.push({ backend: chat.backend, error: NOT_ASKED });
        break;
      }
      calls++;
      const reply = await complete(ctx, chat, prompt, parts.timeoutMs, deadline);
      if (typeof reply === "string") return { chat, reply: read(reply), tried, calls };
      if (reply.code === "cancelled") throw reply;
      ctx.log.warn("a judge failed", { backend: chat.backend, code: reply.code });
      tried.push({ backend: chat.backend, error: present(reply).text });
    }
    if (tried.length === 0 && problem !== undefined && choice !== undefined && isRung(choice))
      tried.push({ backend: choice, error: problem });
    return { chat: undefined, reply: undefined, tried, calls };
  }

  async function askAboutClaim(
    ctx: JudgeContext,
    claim: string,
    evidence: string,
    before: readonly TriedRung[],
    deadline: Deadline,
  ): Promise<ClaimJudgment> {
    const { chat, reply, tried } = await ask(ctx, claimPrompt(claim, evidence, parts.nonce()), readClaimReply, deadline);
    const all = [...before, ...tried];
    if (reply === undefined) return { ...UNDECIDED, reason: null, backend: "none", model: null, tried: all };
    const { verdict, confidence, reason } = reply;
    return { verdict, confidence, reason: reason === null ? null : redact(reason), backend: chat.backend, model: chat.model, tried: all };
  }

  return {
    maxPairs: parts.maxPairs,
    entailment: () => entailment.status(),
    problem: (ctx) => ladder(ctx.sampling).problem,
    preferred(ctx, question) {
      if (question === "claim" && isEntailmentThere()) return "nli_local";
      if (choice === "heuristic") return question === "pair" ? "heuristic" : "none";
      return ladder(ctx.sampling).chats[0]?.backend ?? "none";
    },
    async judgeClaim(ctx, claim, evidence) {
      const deadline = ctx.deadline.share(SHARE);
      const local =
        usesEntailment && evidence.length > 0
          ? await readBothWays(entailment, claim, evidence, { deadline, signal: ctx.signal })
          : undefined;
      const model = nameOf(entailment.status());
      return await Promise.all(
        evidence.map(async (text, at): Promise<ClaimJudgment> => {
          if (local === undefined || local.kind === "none") {
            // That nothing is installed is no failure.
            const isFailure = local !== undefined && local.code !== "no_model" && local.code !== "disabled_by_plan";
            return await askAboutClaim(ctx, claim, text, isFailure ? [{ backend: "nli_local", error: local.reason }] : [], deadline);
          }
          const found = local.values[at];
          if (found === undefined) return { ...UNDECIDED, reason: null, backend: "none", model: null, tried: [] };
          const decided = found.reverse === undefined ? decideDirection(found.forward) : decideClaim(found.forward, found.reverse);
          if (decided.verdict === "unknown" && parts.escalate) {
            const further = await askAboutClaim(ctx, claim, text, [], deadline);
            if (further.backend !== "none") return further;
          }
          const reason = decided.verdict === "unknown" ? undecidedReason(found) : null;
          return { ...decided, reason, backend: "nli_local", model, tried: [] };
        }),
      );
    },
    async judgePair(ctx, a, b, deadline) {
      if (choice === "heuristic") {
        const differs = negationDiffers(a.text, b.text);
        const found = differs ? ({ verdict: "contradicts", confidence: 0.5 } as const) : UNDECIDED;
        return { ...found, reason: null, newer: null, backend: "heuristic", model: null, tried: [], llmCalls: 0 };
      }
      const { chat, reply, tried, calls } = await ask(ctx, pairPrompt(a, b, parts.nonce()), readPairReply, deadline);
      if (reply === undefined) return { ...UNDECIDED, reason: null, newer: null, backend: "none", model: null, tried, llmCalls: calls };
      const { verdict, confidence, reason, newer } = reply;
      const said = reason === null ? null : redact(reason);
      return { verdict, confidence, reason: said, newer, backend: chat.backend, model: chat.model, tried, llmCalls: calls };
    },
  };
}

type Asked<V extends string> =
  | { readonly chat: Chat; readonly reply: Reply<V>; readonly tried: readonly TriedRung[]; readonly calls: number }
  | { readonly chat: undefined; readonly reply: undefined; readonly tried: readonly TriedRung[]; readonly calls: number };

const isRung = (choice: JudgeChoice): choice is Extract<JudgeChoice, ChatBackend> =>
  choice !== "auto" && choice !== "nli" && choice !== "heuristic";

const nameOf = (state: ModelState): string | null => ("model" in state ? state.model : null);

/** One judgment: never longer than its own limit and what is left. @returns the reply, or the error that ended it. */
async function complete(
  ctx: JudgeContext,
  chat: Chat,
  prompt: string,
  timeoutMs: number,
  deadline: Deadline,
): Promise<string | MemoryError> {
  const left = deadline.remainingMs();
  using limit = signalUntil(left > timeoutMs ? deadline.share(timeoutMs / left) : deadline, ctx.signal);
  try {
    return await chat.complete({ prompt, maxTokens: REPLY_TOKENS }, limit.signal);
  } catch (error) {
    if (error instanceof MemoryError) return error;
    throw error;
  }
}

interface BothWays {
  /** Premise = evidence, hypothesis = claim. */
  readonly forward: EntailmentReading;
  /** The other way round; only where the first decided something that must hold both ways. */
  readonly reverse: EntailmentReading | undefined;
}

async function readBothWays(
  entailment: Entailment,
  claim: string,
  evidence: readonly string[],
  limits: Parameters<Entailment["entail"]>[1],
): Promise<Answer<BothWays>> {
  const there = await entailment.entail(
    evidence.map((premise) => ({ premise, hypothesis: claim })),
    limits,
  );
  if (there.kind === "none") return there;
  const asked = [...there.values.keys()].filter((at) => needsReverse(decideDirection(there.values[at] ?? NOTHING)));
  const back = await entailment.entail(
    asked.map((at) => ({ premise: claim, hypothesis: evidence[at] ?? "" })),
    limits,
  );
  if (back.kind === "none") return back;
  const reverse = new Map(asked.map((at, i) => [at, back.values[i]]));
  return { kind: "answered", values: there.values.map((forward, at) => ({ forward, reverse: reverse.get(at) })) };
}

const NOTHING: Entailed = { entailment: 0, neutral: 0, contradiction: 0 };

const numbers = ({ entailment, neutral, contradiction }: Entailed) =>
  `entailment ${entailment.toFixed(3)}, neutral ${neutral.toFixed(3)}, contradiction ${contradiction.toFixed(3)}`;

const undecidedReason = ({ forward, reverse }: BothWays): string =>
  reverse === undefined
    ? `undecided: ${numbers(forward)}`
    : `undecided: ${numbers(forward)}; asked the other way round: ${numbers(reverse)}`;
