/** Asks the first model that answers, within a share of the call; what cannot be had is told apart, because the cures differ. */
import type { CallContext } from "../../kernel/context.ts";
import { signalUntil } from "../../kernel/deadline.ts";
import { MemoryError, present } from "../../kernel/errors.ts";
import type { Ladder } from "../../llm/ladder.ts";
import type { ChatBackend } from "../../llm/port.ts";
import { LEAST_MS, type TriedRung } from "../judge/judge.ts";

/** Share of the call that reading may take: what was read must still be judged and written. */
export const READING_SHARE = 0.6;
/** Fifty facts are not written in more. */
const REPLY_TOKENS = 1_024;

export type Asked =
  | { readonly kind: "answered"; readonly reply: string; readonly backend: ChatBackend; readonly tried: readonly TriedRung[] }
  | {
      readonly kind: "none";
      readonly reason: "no_backend" | "backend_failed" | "out_of_budget" | "spent";
      readonly note: string;
      readonly tried: readonly TriedRung[];
    };

/** The `reason` of an error that says: no more questions may be put, to this model or another. No model failed. */
export const SPENT = "spent";

type AskContext = Pick<CallContext, "signal" | "deadline" | "log">;

/** @throws MemoryError `cancelled` only. */
export async function askLadder(ctx: AskContext, { chats, problem }: Ladder, prompt: string): Promise<Asked> {
  if (chats.length === 0) return { kind: "none", reason: "no_backend", note: noBackend(problem), tried: [] };
  const deadline = ctx.deadline.share(READING_SHARE);
  const tried: TriedRung[] = [];
  let isSlow = false;
  for (const [at, chat] of chats.entries()) {
    if (deadline.remainingMs() < LEAST_MS) {
      isSlow = true;
      break;
    }
    // One that hangs leaves half of the time to those behind it.
    using limit = signalUntil(at < chats.length - 1 ? deadline.share(0.5) : deadline, ctx.signal);
    try {
      const reply = await chat.complete({ prompt, maxTokens: REPLY_TOKENS }, limit.signal);
      return { kind: "answered", reply, backend: chat.backend, tried };
    } catch (error) {
      if (!(error instanceof MemoryError) || error.code === "cancelled") throw error;
      if (error.reason === SPENT) return { kind: "none", reason: SPENT, note: error.message, tried };
      ctx.log.warn("a model that reads a text failed", { backend: chat.backend, code: error.code });
      tried.push({ backend: chat.backend, error: present(error).text });
      isSlow = error.code === "timeout";
    }
  }
  return isSlow
    ? { kind: "none", reason: "out_of_budget", note: OUT_OF_BUDGET, tried }
    : { kind: "none", reason: "backend_failed", note: FAILED, tried };
}

const noBackend = (problem: string | undefined) =>
  `${problem ?? "No model may be asked: the client offers none (MCP sampling) and nobody has chosen another ('memory-industry llm use …')."} ` +
  "Nothing was written. action=parse splits a text without a model; action=ingest takes what you extracted yourself.";
const OUT_OF_BUDGET =
  "The model did not answer in the time of this call (CUBA_HANDLER_TIMEOUT_SECS). Nothing was written. Send a shorter text, or try again.";
const FAILED = "The model was asked and failed; 'tried' says how. Nothing was written. Try again, or use action=parse, which needs none.";
