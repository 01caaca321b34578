/** A small real McpServer for tests of transports: it answers, sleeps on request, fails on request, and keeps a list in memory. */
import type { Connection, McpServer, Message, OutgoingMessage, PeerInfo } from "../../src/mcp/connection.ts";
import { answer, fault, malformed, negotiate, readEnvelope } from "../../src/mcp/protocol.ts";

export interface SmallServer extends McpServer {
  /** Everybody who connected, in order. */
  readonly peers: PeerInfo[];
  /** Texts of all `note` calls, in the order in which they were done. */
  readonly notes: string[];
  /** Methods and tools that reached a handler. */
  readonly handled: string[];
  /** Lets calls of `hold` go on. */
  release(): void;
  readonly open: number;
  /** How each connection that is closed ended, in order. */
  readonly ends: ("left" | undefined)[];
}

const text = (words: string, isError = false) => ({ content: [{ type: "text", text: words }], ...(isError ? { isError } : {}) });

/** Whoever owns the memory, on the pipes of a process. */
export const ownerOnStdio: PeerInfo = {
  transport: "stdio",
  principal: { kind: "owner" },
  label: undefined,
  machine: undefined,
  protocolSession: undefined,
  project: undefined,
  directory: undefined,
  profile: undefined,
};

export interface SmallServerOptions {
  readonly notes?: readonly string[];
  readonly version?: string;
  /** Called before a `note` is answered. */
  readonly onNote?: (text: string) => void;
}

export function createSmallServer(options: SmallServerOptions = {}): SmallServer {
  const peers: PeerInfo[] = [];
  const notes: string[] = [...(options.notes ?? [])];
  const handled: string[] = [];
  let waiting: (() => void)[] = [];
  let open = 0;
  const ends: ("left" | undefined)[] = [];

  const call = async (peer: PeerInfo, name: unknown, args: Readonly<Record<string, unknown>>, ask: Asker, gone: AbortSignal) => {
    handled.push(String(name));
    if (name === "echo") return text(JSON.stringify(args));
    if (name === "whoami") return text(JSON.stringify(peer));
    if (name === "note") {
      options.onNote?.(String(args.text));
      notes.push(String(args.text));
      return text("kept");
    }
    if (name === "notes") return text(JSON.stringify(notes));
    if (name === "fail") return text("refused: nothing was written", true);
    if (name === "methods") return text(JSON.stringify(handled));
    if (name === "version") return text(options.version ?? "");
    if (name === "slow") {
      await Bun.sleep(Number(args.ms));
      return text("slept");
    }
    if (name === "pid") return text(String(process.pid));
    if (name === "large") return text("x".repeat(Number(args.chars)));
    if (name === "hold") {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        gone.addEventListener("abort", () => resolve());
      });
      return text(gone.aborted ? "aborted" : "released");
    }
    if (name === "sample") return text(JSON.stringify(await ask("sampling/createMessage", { prompt: args.prompt })));
    return undefined;
  };

  return {
    peers,
    notes,
    handled,
    release() {
      const now = waiting;
      waiting = [];
      for (const go of now) go();
    },
    get open() {
      return open;
    },
    ends,
    connect(peer, send) {
      peers.push(peer);
      open++;
      const seen = (method: string) => void (method === "tools/call" || handled.push(method));
      return conversation(peer, send, call, seen, (end) => {
        open--;
        ends.push(end);
      });
    },
  };
}

type Asker = (method: string, params: Readonly<Record<string, unknown>>) => Promise<unknown>;
type Call = (
  peer: PeerInfo,
  name: unknown,
  args: Readonly<Record<string, unknown>>,
  ask: Asker,
  gone: AbortSignal,
) => Promise<object | undefined>;

function conversation(
  peer: PeerInfo,
  send: ((message: OutgoingMessage) => void) | undefined,
  call: Call,
  seen: (method: string) => void,
  closed: (end: "left" | undefined) => void,
): Connection {
  const gone = new AbortController();
  const asked = new Map<unknown, (result: unknown) => void>();
  let greeted = false;
  let inFlight = 0;
  let next = 1;

  const ask: Asker = (method, params) =>
    new Promise((resolve) => {
      const id = `srv_${next++}`;
      asked.set(id, resolve);
      send?.({ jsonrpc: "2.0", id, method, params });
    });

  const handle = async (message: Message): Promise<OutgoingMessage | undefined> => {
    const envelope = readEnvelope(message);
    if (envelope.kind === "malformed") return malformed(envelope.id, envelope.why);
    if (envelope.kind === "response") {
      asked.get(envelope.id)?.(envelope.result);
      return undefined;
    }
    if (envelope.kind === "notification") return undefined;
    greeted = true;
    const { id, method, params } = envelope;
    seen(method);
    if (method === "initialize") {
      return answer(id, {
        protocolVersion: negotiate(params.protocolVersion),
        capabilities: {},
        serverInfo: { name: "small", version: "0" },
      });
    }
    if (method === "ping") return answer(id, {});
    if (method === "tools/list") return answer(id, { tools: [{ name: "echo", inputSchema: { type: "object", properties: {} } }] });
    if (method !== "tools/call") return fault(id, -32601, `Unknown method: ${method}`);
    const args = typeof params.arguments === "object" && params.arguments !== null ? { ...params.arguments } : {};
    const result = await call(peer, params.name, args, ask, gone.signal);
    return result === undefined ? fault(id, -32602, `Unknown tool: ${String(params.name)}`) : answer(id, result);
  };

  return {
    async handle(message) {
      inFlight++;
      try {
        return await handle(message);
      } finally {
        inFlight--;
      }
    },
    get greeted() {
      return greeted;
    },
    get inFlight() {
      return inFlight;
    },
    async settled() {
      while (inFlight > 0) await Bun.sleep(1);
    },
    close(end) {
      gone.abort();
      closed(end);
    },
  };
}
