/** What a model answered when asked for a verdict, read without ever guessing (`tools-cognition.md` §3.3). */
import { isRecord } from "../../kernel/is-record.ts";
import { claimVerdicts } from "./verify.ts";

export const pairVerdicts = ["contradicts", "supersedes", "complementary", "unrelated", "unknown"] as const;
/** How two memories stand to each other. */
export type PairVerdict = (typeof pairVerdicts)[number];

export const sameVerdicts = ["same", "different", "unknown"] as const;
/** Whether two entities are one. */
export type SameVerdict = (typeof sameVerdicts)[number];

export interface Reply<V extends string> {
  readonly verdict: V | "unknown";
  /** 0–1; 0 for `unknown`. */
  readonly confidence: number;
  readonly reason: string | null;
  /** For pairs: which of the two is the newer statement. */
  readonly newer: "a" | "b" | null;
}

/** A reason is one sentence; what is longer is the model talking. */
const REASON_CHARS = 500;

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A whole reply that is JSON with a verdict; else inside the `result` of a program's envelope; else from the first `{` to the last `}`. */
function found(text: string): Readonly<Record<string, unknown>> | undefined {
  const whole = parsed(text.trim());
  const result = whole?.["result"];
  if (typeof result === "string") return found(result);
  if (whole?.["verdict"] !== undefined) return whole;
  const [from, to] = [text.indexOf("{"), text.lastIndexOf("}")];
  return from >= 0 && to > from ? parsed(text.slice(from, to + 1)) : undefined;
}

/**
 * Only the vocabulary of the question asked counts: `supports` for a pair is `unknown`. A missing confidence is 0.
 * `{"type":"result","result":"```json\n{\"verdict\":\"contradicts\",\"confidence\":0.9}\n```"}` → contradicts, 0.9; `rambling` → unknown, 0.
 */
function readReply<V extends string>(text: string, vocabulary: readonly V[]): Reply<V> {
  const reply = found(text);
  const verdict = vocabulary.find((word) => word === reply?.["verdict"]);
  const { confidence, reason, newer } = reply ?? {};
  const said = typeof reason === "string" && reason.trim() !== "" ? reason.trim() : null;
  const shown = said === null ? null : Array.from(said).slice(0, REASON_CHARS).join("");
  if (verdict === undefined || verdict === "unknown") return { verdict: "unknown", confidence: 0, reason: shown, newer: null };
  return {
    verdict,
    confidence: typeof confidence === "number" && Number.isFinite(confidence) ? Math.min(1, Math.max(0, confidence)) : 0,
    reason: shown,
    newer: newer === "a" || newer === "b" ? newer : null,
  };
}

export const readClaimReply = (text: string) => readReply(text, claimVerdicts);
export const readPairReply = (text: string) => readReply(text, pairVerdicts);

/** Of two entities only whether they are one. */
export function readSameReply(text: string): Omit<Reply<SameVerdict>, "newer"> {
  const { verdict, confidence, reason } = readReply(text, sameVerdicts);
  return { verdict, confidence, reason };
}
