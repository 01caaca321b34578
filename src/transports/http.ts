/**
 * Streamable HTTP, `POST /mcp`, as a function from request to response: no port, no token, no Host (`cli-daemon.md` §4.3, `tools-maintenance.md` §17.4).
 * Always plain JSON, never an event stream: one popular client takes a streamed initialize for its session and then fails on every call.
 */
import { causeChain, present, rpcCode } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Connection, McpServer, OutgoingMessage, PeerInfo } from "../mcp/connection.ts";
import { answer, fault, faultOf, protocolVersions, type RequestId, readEnvelope } from "../mcp/protocol.ts";

/** Largest body taken, in bytes. */
export const MAX_BODY_BYTES = 8 * 1024 * 1024;

/** Largest batch. 8 MiB hold some four million tiny items; a batch that was cut would look answered. */
const MAX_BATCH = 256;

/** A whole POST may take this many times one call's limit: it must exceed one call's own budget. */
const POST_LIMIT_IN_CALLS = 4;

/** Longest identity taken from a header or a message, in characters. */
const MAX_ID_CHARS = 128;

/** Who is calling, as the door found out. */
export interface HttpCaller {
  readonly access: "full" | "peer";
  /** Address of the other end, without port. */
  readonly address: string;
  readonly isLocal: boolean;
}

export interface McpEndpointOptions {
  /** Requests that come before it is composed wait; where it rejects they are told why. */
  readonly mcp: Promise<McpServer>;
  readonly handlerTimeoutMs: number;
  /** Methods of the panel (`admin/…`), for full scope. @throws MemoryError, also for an unknown one */
  readonly admin?: ((method: string, params: Readonly<Record<string, unknown>>) => Promise<unknown>) | undefined;
  /** A request that counts as use begins. */
  readonly begin: () => Disposable;
  /** A client was seen, under its bind key. */
  readonly saw: (key: string) => void;
  readonly log: Logger;
}

export type McpEndpoint = (request: Request, caller: HttpCaller) => Promise<Response>;

/** The endpoint. It answers every request; it never rejects. */
export function createMcpEndpoint(options: McpEndpointOptions): McpEndpoint {
  return async (request, caller) => {
    const limit = Promise.withResolvers<"late">();
    const timer = setTimeout(() => limit.resolve("late"), POST_LIMIT_IN_CALLS * options.handlerTimeoutMs);
    const abort = new AbortController();
    request.signal.addEventListener("abort", () => abort.abort(), { once: true });
    try {
      const outcome = await Promise.race([respond(options, request, caller, abort.signal), limit.promise]);
      if (outcome !== "late") return outcome;
      abort.abort();
      const seconds = (POST_LIMIT_IN_CALLS * options.handlerTimeoutMs) / 1000;
      return refuse(
        504,
        rpcCode.door,
        `The request took longer than ${seconds} s and was stopped. A write may or may not have happened: look before you repeat it.`,
      );
    } catch (error) {
      options.log.error("a POST failed", { cause: causeChain(error) });
      const { rpc, text } = present(error);
      return json(200, fault(null, rpc, text));
    } finally {
      clearTimeout(timer);
    }
  };
}

const json = (status: number, body: unknown): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff" },
  });

/** A refusal of the whole request, before any message of it was looked at. */
export const refuse = (status: number, code: number, message: string): Response => json(status, fault(null, code, message));

async function respond(options: McpEndpointOptions, request: Request, caller: HttpCaller, gone: AbortSignal): Promise<Response> {
  const version = request.headers.get("mcp-protocol-version")?.trim();
  if (version !== undefined && version !== "" && !protocolVersions.some((known) => known === version))
    return refuse(
      400,
      rpcCode.envelope,
      `MCP-Protocol-Version is not supported. Use one of ${protocolVersions.join(", ")}, or leave it out. Nothing was done.`,
    );
  const body = await readBody(request);
  if (body === "too-large") return refuse(413, rpcCode.envelope, `The body is larger than ${MAX_BODY_BYTES} bytes. Nothing was done.`);
  const message = parse(body);
  if (message === undefined) return refuse(400, rpcCode.parse, "Parse error: the body is not valid JSON. Nothing was done.");

  const items: readonly unknown[] = Array.isArray(message) ? message : [message];
  if (items.length === 0) return refuse(200, rpcCode.envelope, "Invalid request: the batch is empty.");
  if (items.length > MAX_BATCH)
    return refuse(413, rpcCode.envelope, `The batch has ${items.length} messages; at most ${MAX_BATCH} are taken. Nothing was done.`);
  const peer = peerOf(request.headers, items[0], caller);
  if (typeof peer === "string") return refuse(400, rpcCode.envelope, peer);
  options.saw(bindKey(peer, items[0]));

  const answers = await inOrder(options, items, peer, gone);
  if (answers.length === 0) return new Response(null, { status: 202 });
  return json(200, Array.isArray(message) ? answers : answers[0]);
}

/** Runs the messages one by one. A client that hangs up cancels what runs and what would follow. */
async function inOrder(
  options: McpEndpointOptions,
  items: readonly unknown[],
  peer: PeerInfo,
  gone: AbortSignal,
): Promise<OutgoingMessage[]> {
  const connection = (await options.mcp).connect(peer);
  let running: RequestId | undefined;
  let open = true;
  const close = () => {
    if (open) connection.close();
    open = false;
  };
  const onGone = () => {
    if (running !== undefined)
      void connection.handle({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: running } });
    close();
  };
  gone.addEventListener("abort", onGone, { once: true });
  const answers: OutgoingMessage[] = [];
  try {
    for (const item of items) {
      if (gone.aborted) break;
      const envelope = readEnvelope(item);
      running = envelope.kind === "request" ? envelope.id : undefined;
      const answered = await one(options, connection, peer, item);
      if (answered !== undefined) answers.push(answered);
    }
  } finally {
    gone.removeEventListener("abort", onGone);
    close();
  }
  return answers;
}

async function one(
  options: McpEndpointOptions,
  connection: Connection,
  peer: PeerInfo,
  item: unknown,
): Promise<OutgoingMessage | undefined> {
  const envelope = readEnvelope(item);
  const isCall = envelope.kind === "request" || envelope.kind === "notification";
  if (!isCall || !envelope.method.startsWith("admin/")) {
    using _ = options.begin();
    return await connection.handle(item);
  }
  // Not counted as use: an open panel asks every five seconds and would keep the daemon alive for ever.
  const id = envelope.kind === "request" ? envelope.id : undefined;
  if (id === undefined) return undefined;
  if (peer.principal.kind !== "owner")
    return fault(id, rpcCode.forbidden, "A peer token may not ask for this; only the admin token may. Nothing was done.");
  if (options.admin === undefined) return fault(id, rpcCode.method, `Unknown method '${envelope.method}'.`);
  try {
    return answer(id, await options.admin(envelope.method, envelope.params));
  } catch (error) {
    return faultOf(id, error, "admin");
  }
}

async function readBody(request: Request): Promise<Uint8Array | "too-large"> {
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > MAX_BODY_BYTES) return "too-large";
  const reader = request.body?.getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (let next = await reader?.read(); next !== undefined && !next.done; next = await reader?.read()) {
    length += next.value.length;
    if (length > MAX_BODY_BYTES) {
      void reader?.cancel().catch(() => {});
      return "too-large";
    }
    parts.push(next.value);
  }
  return Buffer.concat(parts);
}

/** The body as JSON; undefined where it is none. */
function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {};
const word = (value: unknown) => (typeof value === "string" && value.trim() !== "" ? value.trim() : undefined);

/** Who the caller says it is (`cli-daemon.md` §4.4), or what is wrong with that. Of a batch only the first message counts. */
function peerOf(headers: Headers, first: unknown, caller: HttpCaller): PeerInfo | string {
  const meta = record(record(record(first).params)._meta);
  const label = word(headers.get("mcp-client-id")) ?? word(meta["io.modelcontextprotocol/client-id"]) ?? word(meta.clientId);
  const machine = caller.isLocal ? undefined : (word(headers.get("mcp-machine-id")) ?? caller.address);
  const protocolSession = word(headers.get("mcp-session-id"));
  for (const [name, value] of [
    ["client id", label],
    ["Mcp-Machine-Id", machine],
    ["Mcp-Session-Id", protocolSession],
  ] as const) {
    if (value !== undefined && (value.length > MAX_ID_CHARS || !/^\P{C}+$/u.test(value)))
      return `The ${name} must be at most ${MAX_ID_CHARS} printable characters. Nothing was done.`;
  }
  return {
    transport: "http",
    principal: caller.access === "peer" ? { kind: "peer", id: machine ?? label ?? "local" } : { kind: "owner" },
    label,
    machine,
    protocolSession,
    project: undefined,
    directory: undefined,
    profile: undefined,
    protocolVersion: word(headers.get("mcp-protocol-version")),
  };
}

function bindKey({ label, machine, protocolSession }: PeerInfo, first: unknown): string {
  const name = label ?? word(record(record(record(first).params).clientInfo).name)?.slice(0, MAX_ID_CHARS) ?? "anonymous";
  return `${name}${machine === undefined ? "" : `@${machine}`}${protocolSession === undefined ? "" : `::${protocolSession}`}`;
}
