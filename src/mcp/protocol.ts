/** JSON-RPC envelopes and protocol versions. */
import { present, rpcCode } from "../kernel/errors.ts";
import { isRecord } from "../kernel/is-record.ts";
import type { Message, OutgoingMessage } from "./connection.ts";

/** Protocol revisions that we speak, newest first: those of `@modelcontextprotocol/sdk` 1.x (a test compares). */
export const protocolVersions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

/** The first revision whose clients read `structuredContent`. */
const STRUCTURED_SINCE = "2025-06-18";

/** What we answer to a client that asks for `asked` (`tools-maintenance.md` §17.2). */
export function negotiate(asked: unknown): string {
  if (asked === undefined) return "2024-11-05";
  return protocolVersions.find((version) => version === asked) ?? protocolVersions[0];
}

export const readsStructured = (version: string | undefined): boolean => version !== undefined && version >= STRUCTURED_SINCE;

export type RequestId = string | number;

export type Envelope =
  | { readonly kind: "request"; readonly id: RequestId; readonly method: string; readonly params: Readonly<Record<string, unknown>> }
  | { readonly kind: "notification"; readonly method: string; readonly params: Readonly<Record<string, unknown>> }
  | { readonly kind: "response"; readonly id: RequestId; readonly result: unknown; readonly error: unknown }
  | { readonly kind: "malformed"; readonly id: RequestId | null; readonly why: string };

/** A number beyond 2^53 was rounded when it was read: an answer to it would be an answer to nobody. */
const isId = (value: unknown): value is RequestId =>
  typeof value === "string" || (typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER);

/** Reads what a message is. An id that is absent or null makes a notification. */
export function readEnvelope(message: Message): Envelope {
  if (Array.isArray(message)) return { kind: "malformed", id: null, why: "one message a line is wanted, not a batch" };
  if (!isRecord(message)) return { kind: "malformed", id: null, why: "a message is a JSON object" };
  const id = isId(message.id) ? message.id : null;
  if (message.method === undefined && ("result" in message || "error" in message)) {
    return id === null
      ? { kind: "malformed", id, why: "an answer needs an id" }
      : { kind: "response", id, result: message.result, error: message.error };
  }
  if (message.jsonrpc !== "2.0") return { kind: "malformed", id, why: 'jsonrpc must be "2.0"' };
  if (typeof message.method !== "string") return { kind: "malformed", id, why: "method must be text" };
  if (message.id !== undefined && message.id !== null && !isId(message.id))
    return { kind: "malformed", id, why: "id must be text, or a number of at most 9007199254740991" };
  if (message.params !== undefined && !isRecord(message.params)) return { kind: "malformed", id, why: "params must be an object" };
  const { method } = message;
  const params = message.params ?? {};
  return id === null ? { kind: "notification", method, params } : { kind: "request", id, method, params };
}

export const answer = (id: RequestId, result: unknown): OutgoingMessage => ({ jsonrpc: "2.0", id, result });

export const fault = (id: RequestId | null, code: number, message: string, data?: unknown): OutgoingMessage => ({
  jsonrpc: "2.0",
  id,
  error: { code, message, ...(data === undefined ? {} : { data }) },
});

export const malformed = (id: RequestId | null, why: string): OutgoingMessage => fault(id, rpcCode.envelope, `Invalid request: ${why}.`);

/** An error that is not a tool's result, as a JSON-RPC error; `data.code` is our own word for it, of which several share a number. */
export function faultOf(id: RequestId, error: unknown, callId: string): OutgoingMessage {
  const { rpc, text, code } = present(error, callId);
  return fault(id, rpc, text, { code });
}
