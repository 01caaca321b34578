/**
 * The one error class of the product. An error means "could not do what you asked"; expected outcomes are return values.
 * Every text says what happened, whether anything was written, and what to do next; it never holds a secret.
 */
import { redact, redactedStart } from "./secrets.ts";
import { visible } from "./text.ts";

/** The closed list of error codes; what each becomes at an edge stands in {@link errorCodes}. */
export type ErrorCode =
  | "invalid"
  | "not_found"
  | "ambiguous"
  | "conflict"
  | "refused"
  | "busy"
  | "timeout"
  | "unavailable"
  | "corrupt"
  | "forbidden"
  | "protocol"
  | "internal"
  | "usage"
  | "cancelled";

/** How a code shows at the edges: `result` = a tool result with isError; a number = a JSON-RPC error code; exit = process exit code. */
export const errorCodes: Readonly<Record<ErrorCode, { readonly mcp: "result" | number | "silent"; readonly exit: number }>> = {
  invalid: { mcp: "result", exit: 1 },
  not_found: { mcp: "result", exit: 1 },
  ambiguous: { mcp: "result", exit: 1 },
  conflict: { mcp: "result", exit: 1 },
  refused: { mcp: "result", exit: 1 },
  busy: { mcp: "result", exit: 1 },
  timeout: { mcp: "result", exit: 1 },
  unavailable: { mcp: "result", exit: 1 },
  corrupt: { mcp: "result", exit: 1 },
  forbidden: { mcp: -32001, exit: 1 },
  protocol: { mcp: -32600, exit: 1 },
  internal: { mcp: -32603, exit: 1 },
  usage: { mcp: "result", exit: 2 },
  cancelled: { mcp: "silent", exit: 130 },
};

export const isErrorCode = (word: unknown): word is ErrorCode => typeof word === "string" && Object.hasOwn(errorCodes, word);

/** The `reason` of an error that a project is the cause of: it was there when the call began, and is not any more. */
export const PROJECT_GONE = "project_gone";

/** JSON-RPC codes of protocol faults (`tools-maintenance.md` §17.6). */
export const rpcCode = {
  parse: -32700,
  envelope: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  forbidden: -32001,
  resource: -32002,
  door: -32000,
} as const;

export interface ErrorDetails {
  /** The argument at fault, as the caller wrote it (`items[3].content`). */
  readonly field?: string;
  /** A word of an area's own vocabulary under one of our codes. */
  readonly reason?: string;
  /** JSON-RPC code of a protocol fault. */
  readonly rpc?: number;
  /** Machine-readable facts for the caller (suggestions, counts); shown beside the text, never in place of it. */
  readonly data?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

export class MemoryError extends Error {
  override readonly name = "MemoryError";
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly reason: string | undefined;
  readonly rpc: number | undefined;
  readonly data: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.field = details.field;
    this.reason = details.reason;
    this.rpc = details.rpc;
    this.data = details.data;
  }
}

/** How much of an offending value an error repeats, in code points: enough to recognise it, too little to flood a context. */
const SHOWN_VALUE_CHARS = 60;
/** UTF-16 units of a value that are redacted for it; a value can have megabytes. */
const LONGEST_SHOWN_UNITS = 1_000;

/** Renders a value for an error text: JSON, redacted, cut; what cannot be seen is written out. */
export function shown(value: unknown): string {
  let text: string;
  try {
    text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  } catch {
    text = String(value);
  }
  const chars = Array.from(visible(redactedStart(text, LONGEST_SHOWN_UNITS)));
  const isCut = chars.length > SHOWN_VALUE_CHARS || text.length > LONGEST_SHOWN_UNITS;
  return isCut ? `${chars.slice(0, SHOWN_VALUE_CHARS).join("")}…` : chars.join("");
}

/** A wrong argument: names the field, what was wanted, what came. `invalidField("limit", "an integer from 1 to 50", "7.5")`. */
export function invalidField(field: string, expected: string, got: unknown): MemoryError {
  return new MemoryError("invalid", `${field} must be ${expected}; got ${describeType(got)}. Nothing was written.`, { field });
}

function describeType(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object") return "an object";
  return `the ${typeof value} ${JSON.stringify(shown(value))}`;
}

/** A value outside an enumerated list, in the words scripts look for: `Invalid action: erase. Use append/verify/tail`. */
export function invalidChoice(field: string, got: unknown, choices: readonly string[]): MemoryError {
  return new MemoryError("invalid", `Invalid ${field}: ${shown(got)}. Use ${choices.join("/")}`, { field });
}

/** Anything else that is wrong with an argument; `message` must say what to do. */
export function invalid(message: string, details: ErrorDetails = {}): MemoryError {
  return new MemoryError("invalid", message, details);
}

/** A thing that is not there: `Entity 'Postgress' not found. Close names: …. <next>`. */
export function notFound(
  kind: string,
  name: string,
  hints: { close?: readonly string[]; next?: string; where?: string } = {},
): MemoryError {
  const label = kind.charAt(0).toUpperCase() + kind.slice(1);
  const where = hints.where === undefined ? "" : ` ${hints.where}`;
  const close = hints.close?.length ? ` Close names: ${hints.close.join(", ")}.` : "";
  const next = hints.next === undefined ? "" : ` ${hints.next}`;
  return new MemoryError("not_found", `${label} '${shown(name)}' not found${where}.${close}${next}`, {
    field: kind,
    data: hints.close?.length ? { suggestions: hints.close } : undefined,
  });
}

export const ambiguous = (message: string, details: ErrorDetails = {}) => new MemoryError("ambiguous", message, details);
export const conflict = (message: string, details: ErrorDetails = {}) => new MemoryError("conflict", message, details);
export const refused = (message: string, details: ErrorDetails = {}) => new MemoryError("refused", message, details);
export const busy = (message: string, details: ErrorDetails = {}) => new MemoryError("busy", message, details);
export const timedOut = (message: string, details: ErrorDetails = {}) => new MemoryError("timeout", message, details);
export const unavailable = (message: string, details: ErrorDetails = {}) => new MemoryError("unavailable", message, details);
export const corrupt = (message: string, details: ErrorDetails = {}) => new MemoryError("corrupt", message, details);
export const forbidden = (message: string, details: ErrorDetails = {}) => new MemoryError("forbidden", message, details);
export const cancelled = () => new MemoryError("cancelled", "The call was cancelled by its client.");
export const usage = (message: string, details: ErrorDetails = {}) => new MemoryError("usage", message, details);
export const protocolFault = (rpc: number, message: string, details: ErrorDetails = {}) =>
  new MemoryError("protocol", message, { ...details, rpc });

/** What leaves the process about an error. `internal` hides the cause; the log has it under the same call id. */
export interface Presented {
  readonly code: ErrorCode;
  readonly text: string;
  readonly rpc: number;
  readonly exit: number;
  readonly data: Readonly<Record<string, unknown>> | undefined;
}

/**
 * The one place where an error becomes words for somebody outside; every edge calls it. Redacts, never shows a cause.
 * @param callId shown for bugs, so that a person finds the log line.
 */
export function present(error: unknown, callId?: string): Presented {
  if (error instanceof MemoryError) {
    const facts = errorCodes[error.code];
    const rpc = error.rpc ?? (typeof facts.mcp === "number" ? facts.mcp : rpcCode.internal);
    return { code: error.code, text: visible(redact(error.message)), rpc, exit: facts.exit, data: error.data };
  }
  const id = callId === undefined ? "" : ` (call ${callId})`;
  return {
    code: "internal",
    text: `An unexpected fault happened inside MemoryIndustry${id}. The log on standard error has the cause; 'memory-industry doctor' checks the installation.`,
    rpc: rpcCode.internal,
    exit: 1,
    data: undefined,
  };
}

/** The whole cause chain as one redacted line that can be stored, for the log and the failure table. */
export function causeChain(error: unknown): string {
  const parts: string[] = [];
  for (let at: unknown = error, depth = 0; at !== undefined && depth < 8; depth++) {
    if (at instanceof Error) {
      parts.push(at.message);
      at = at.cause;
    } else {
      parts.push(String(at));
      break;
    }
  }
  return visible(redact(parts.join(" ← ")));
}
