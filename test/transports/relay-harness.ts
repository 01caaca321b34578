/** A relay between a client and daemons that the test plays itself, message by message. */
import { expect } from "bun:test";
import { unavailable } from "../../src/kernel/errors.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { answer, fault, readEnvelope } from "../../src/mcp/protocol.ts";
import type { DaemonLink, LinkHandlers } from "../../src/transports/daemon-link.ts";
import type { Bye } from "../../src/transports/frames.ts";
import { createRelay, type RelayOptions } from "../../src/transports/relay.ts";

/** A daemon as the relay sees it: what it was sent, and a way to answer. */
function fakeDaemon(pid: number) {
  const got: string[] = [];
  const finished: number[] = [];
  let handlers: LinkHandlers | undefined;
  const link: DaemonLink = {
    welcome: { version: "1.0.0", pid, owner: "auto", command: [], differs: [] },
    attach(to) {
      handlers = to;
    },
    send: (text) => got.push(text),
    ask: () => Promise.reject(new Error("not asked here")),
    async finish(limitMs) {
      finished.push(limitMs);
    },
    abort() {},
    ready: Promise.resolve(),
    closed: Promise.resolve(),
    farewell: () => undefined,
  };
  return {
    link,
    finished,
    got: () => got.map((text) => JSON.parse(text)),
    say: (message: object) => handlers?.onLine(JSON.stringify(message)),
    bye: (bye: Partial<Bye>) => handlers?.onBye({ reason: "stop", text: undefined, accepted: 0, ...bye }),
    close: (bye?: Bye) => handlers?.onClosed(bye),
  };
}

/** A relay whose daemons come from `open()` one after another, by hand. */
export function startRelay(options: Partial<RelayOptions> = {}) {
  const out: string[] = [];
  const asked: { resolve: (link: DaemonLink) => void; reject: (error: unknown) => void }[] = [];
  const offlineReasons: string[] = [];
  let heirs = 0;
  const relay = createRelay({
    toClient: (line) => out.push(line),
    open: () => {
      const opening = Promise.withResolvers<DaemonLink>();
      asked.push(opening);
      return opening.promise;
    },
    expectHeir: () => heirs++,
    offline: async (reason) => {
      offlineReasons.push(reason);
      return {
        async handle(message) {
          const envelope = readEnvelope(message);
          if (envelope.kind !== "request") return undefined;
          return envelope.method === "tools/call"
            ? answer(envelope.id, { content: [{ type: "text", text: reason }], isError: true })
            : envelope.method === "ping" || envelope.method === "initialize"
              ? answer(envelope.id, { offline: true })
              : fault(envelope.id, -32601, "Unknown method");
        },
        greeted: true,
        inFlight: 0,
        settled: async () => {},
        close() {},
      };
    },
    handlerTimeoutMs: 1_000,
    patienceMs: 1_000,
    retryAfterMs: 60_000,
    log: silentLogger,
    ...options,
  });
  const type = (message: unknown) =>
    relay.fromClient({ kind: "text", text: typeof message === "string" ? message : JSON.stringify(message) });
  return {
    relay,
    type,
    call: (id: string | number, name = "cuba_cronica") => type({ jsonrpc: "2.0", id, method: "tools/call", params: { name } }),
    out: () => out.map((line) => JSON.parse(line)),
    opened: () => asked.length,
    heirs: () => heirs,
    offlineReasons,
    async connect(pid = 1) {
      const daemon = fakeDaemon(pid);
      asked.at(-1)?.resolve(daemon.link);
      await settle();
      return daemon;
    },
    async fail(reason: string) {
      asked.at(-1)?.reject(unavailable(reason));
      await settle();
    },
  };
}

/** Lets everything that is due run; nothing here waits for a clock. */
export const settle = () => new Promise((resolve) => setImmediate(resolve));

export const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: { sampling: {} } },
};
export const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
export const isLost = { result: { isError: true, content: [{ text: expect.stringContaining("outcome is unknown") }] } };
