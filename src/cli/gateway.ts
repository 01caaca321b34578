/**
 * The road from a command to the memories. It is the same whether a daemon owns the database (its local socket) or this process does
 * (owner lock taken, everything composed here): both exchange JSON-RPC messages with the same protocol layer.
 */
import { cancelled, type ErrorCode, isErrorCode, MemoryError, unavailable } from "../kernel/errors.ts";
import { isRecord } from "../kernel/is-record.ts";

/** What a tool answered. */
export type ToolAnswer = Readonly<Record<string, unknown>>;

/**
 * What the owner of the database does for our own commands and no tool offers. Served on the local socket and in this process only,
 * never over HTTP.
 */
export type OwnerMethodName =
  | "owner/project"
  | "owner/observation"
  | "owner/delete"
  | "owner/restore"
  | "owner/doctor"
  | "owner/migrations"
  | "owner/reembed"
  | "owner/evaluate"
  | "owner/calibrate"
  | "owner/coverage"
  | "owner/load"
  | "owner/rem"
  | "owner/vault"
  | "owner/vault-observations"
  | "owner/recipes"
  | "owner/duplicates"
  | "owner/duplicate"
  | "owner/fold-snapshot"
  | "owner/fold"
  | "owner/unfold"
  | "owner/judge-duplicates"
  | "owner/links"
  | "owner/codegraph-piece"
  | "owner/codegraph"
  | "owner/recall";

export interface Gateway extends AsyncDisposable {
  /** Calls one tool. @throws MemoryError with the tool's own text where it refused or failed. */
  callTool(name: `cuba_${string}`, args: Readonly<Record<string, unknown>>): Promise<ToolAnswer>;
  /** Asks the owner. @param onProgress receives what the owner reports on the way. @throws MemoryError with the owner's text. */
  ask(
    method: OwnerMethodName,
    params: Readonly<Record<string, unknown>>,
    onProgress?: (done: number, total: number | undefined) => void,
  ): Promise<unknown>;
}

/** One conversation with the protocol layer. Disposing it drains what was queued (10 s at most) and lets go of lock and database. */
export interface Line extends AsyncDisposable {
  /** Sends a request and answers with its response. `onNotification` sees what comes in between. */
  exchange(request: Readonly<Record<string, unknown>>, onNotification?: (message: unknown) => void): Promise<unknown>;
  /** Sends a message that has no answer. */
  notify(message: Readonly<Record<string, unknown>>): void;
}

/** Text of a tool result's first content item. */
function textOf(result: Readonly<Record<string, unknown>>): string | undefined {
  const first: unknown = Array.isArray(result.content) ? result.content[0] : undefined;
  return isRecord(first) && typeof first.text === "string" ? first.text : undefined;
}

/** The other side's own word for what went wrong, so that it is the same error here; `otherwise` where it says none. */
const codeIn = (facts: unknown, otherwise: ErrorCode): ErrorCode => (isRecord(facts) && isErrorCode(facts.code) ? facts.code : otherwise);

/** Rejects when the signal fires; `onAbort` runs first. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal, onAbort: () => void): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const stop = () => {
    onAbort();
    aborted.reject(cancelled());
  };
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** A gateway over one line. @param signal breaks off what is asked: the other side is told, so that it stops too */
export function createGateway(line: Line, signal: AbortSignal): Gateway {
  let lastId = 0;
  const send = async (method: string, params: Readonly<Record<string, unknown>>, onNotification?: (message: unknown) => void) => {
    const id = ++lastId;
    const answer = await unlessAborted(line.exchange({ jsonrpc: "2.0", id, method, params }, onNotification), signal, () =>
      line.notify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } }),
    );
    if (!isRecord(answer))
      throw unavailable(
        "The memory service closed the connection without an answer; whether anything was written is unknown. Run 'memory-industry doctor'.",
      );
    if (isRecord(answer.error))
      throw new MemoryError(
        codeIn(answer.error.data, "unavailable"),
        String(answer.error.message ?? "The memory service refused the request."),
      );
    return answer.result;
  };
  return {
    async callTool(name, args) {
      const result = await send("tools/call", { name, arguments: args });
      const text = isRecord(result) ? textOf(result) : undefined;
      if (!isRecord(result) || text === undefined)
        throw unavailable(`${name} gave an answer without content. Run 'memory-industry doctor'.`);
      if (result.isError === true) throw new MemoryError(codeIn(result.structuredContent, "refused"), text);
      const value: unknown = JSON.parse(text);
      return isRecord(value) ? value : { value };
    },
    ask: (method, params, onProgress) =>
      send(method, onProgress === undefined ? params : { ...params, _meta: { progressToken: method } }, (message) => {
        const note =
          isRecord(message) && message.method === "notifications/progress" && isRecord(message.params) ? message.params : undefined;
        if (note !== undefined && typeof note.progress === "number")
          onProgress?.(note.progress, typeof note.total === "number" ? note.total : undefined);
      }),
    [Symbol.asyncDispose]: () => line[Symbol.asyncDispose](),
  };
}
