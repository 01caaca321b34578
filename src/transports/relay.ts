/**
 * What a bridge does with each message, apart from streams and processes: forwards both ways, remembers what is unanswered, and survives the daemon.
 * One answer for each request, never none and never two.
 */
import { MemoryError, present, rpcCode } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Connection, OutgoingMessage } from "../mcp/connection.ts";
import { fault, malformed, type RequestId, readEnvelope } from "../mcp/protocol.ts";
import type { DaemonLink } from "./daemon-link.ts";
import type { Bye } from "./frames.ts";
import { type Line, readLine } from "./lines.ts";
import { createServerRequests } from "./server-requests.ts";

export interface RelayOptions {
  readonly toClient: (line: string) => void;
  /** Finds or starts the daemon. */
  readonly open: () => Promise<DaemonLink>;
  readonly expectHeir: () => void;
  /** A conversation with no daemon behind it: answers initialize, ping and tools/list, and each tools/call with `reason` as a failed result. */
  readonly offline: (reason: string) => Promise<Connection>;
  /** Milliseconds one tool call may take. */
  readonly handlerTimeoutMs: number;
  /** Milliseconds after which initialize, ping and tools/list are answered without the daemon: a client gives up a slow start. */
  readonly patienceMs: number;
  /** After a failed start, milliseconds until a tool call tries again. */
  readonly retryAfterMs: number;
  readonly log: Logger;
}

export interface Relay {
  /** True once a valid request has come. */
  readonly greeted: boolean;
  /** True while no daemon can be had. */
  readonly isOffline: boolean;
  fromClient(line: Line): void;
  /** No more input: resolves when everything is answered, at most twice the handler timeout later. */
  finish(): Promise<void>;
}

interface Pending {
  readonly id: RequestId;
  readonly method: string;
  readonly text: string;
  readonly since: number;
  /** The link it was sent on; undefined while it waits for one. */
  link: DaemonLink | undefined;
  /** Position among the messages of that link, from 1. */
  position: number;
  /** Being answered by this process; no daemon gets it any more. */
  local: boolean;
  /** Sent again after a loss; a request that ends two daemons is answered with an error. */
  again: boolean;
}

/** Requests that change nothing: after a loss they are simply asked again. */
const repeatable: ReadonlySet<string> = new Set(["initialize", "ping", "tools/list", "resources/list", "resources/read"]);

/** Requests that need no daemon. */
const answeredOffline: ReadonlySet<string> = new Set(["initialize", "ping", "tools/list"]);

/** How often requests that wait are looked at. */
const LOOK_EVERY_MS = 250;

/** The daemon ends each call within the handler timeout; one that is silent for this many is stopped, or its machine is asleep. */
const SILENT_CALLS = 3;

const STARTING = "The memory daemon is still starting; nothing was done. Try again in a moment; 'memory-industry doctor' tells more.";
const LOST =
  "The memory daemon ended while this call was running, so its outcome is unknown: it may or may not have been carried out. A new daemon answers the next call. Before repeating a write, look whether it is there (cuba_faro, or the tool's own list or get action).";

const OVERDUE =
  "The memory daemon has not answered in time, and the input is closed, so the outcome of this call is unknown. Look whether it took effect before you repeat it.";

const silentText = (pid: number, waitedMs: number) =>
  `The memory daemon (process ${pid}) has not answered for ${Math.round(waitedMs / 1000)} s; it may be stopped or overloaded. The outcome of this call is unknown. 'memory-industry doctor' tells more.`;

const keyOf = (id: RequestId) => `${typeof id}:${id}`;

export function createRelay(options: RelayOptions): Relay {
  const { log } = options;
  const pending = new Map<string, Pending[]>();
  const servers = createServerRequests(options.toClient);
  let link: DaemonLink | undefined;
  let position = 0;
  let opening = false;
  let failure: { readonly reason: string; readonly at: number } | undefined;
  let handshake: { readonly initialize: Readonly<Record<string, unknown>>; answered: boolean } | undefined;
  let initialized: string | undefined;
  const replays = new Set<string>();
  let greeted = false;
  let finished = false;
  let local: Promise<unknown> = Promise.resolve();
  let idle: (() => void) | undefined;
  let looking: ReturnType<typeof setInterval> | undefined;

  const all = () => [...pending.values()].flat();
  const answer = (message: OutgoingMessage) => options.toClient(JSON.stringify(message));
  const settle = (request: Pending) => {
    const same = pending.get(keyOf(request.id));
    const rest = same?.filter((other) => other !== request) ?? [];
    if (rest.length > 0) pending.set(keyOf(request.id), rest);
    else pending.delete(keyOf(request.id));
    if (request.method === "initialize" && handshake !== undefined) handshake.answered = true;
    if (pending.size > 0) return;
    clearInterval(looking);
    looking = undefined;
    idle?.();
  };

  /** Answers from this process. `reason` is what a tool call says. */
  const answerOffline = (request: Pending, reason: string) => {
    if (request.local) return;
    request.local = true;
    const work = options
      .offline(reason)
      .then((connection) => connection.handle(JSON.parse(request.text)))
      .catch((error: unknown) => fault(request.id, rpcCode.internal, present(error).text))
      .then((message) => {
        if (!pending.get(keyOf(request.id))?.includes(request)) return;
        if (message !== undefined) answer(message);
        settle(request);
      });
    local = Promise.all([local, work]);
  };
  const answerLost = (request: Pending, text: string) => {
    answer(
      request.method === "tools/call"
        ? { jsonrpc: "2.0", id: request.id, result: { content: [{ type: "text", text }], isError: true } }
        : fault(request.id, rpcCode.internal, text),
    );
    settle(request);
  };

  /** Requests that wait for a daemon. */
  const unsent = () => all().filter((request) => request.link === undefined && !request.local);
  const deliver = (to: DaemonLink, text: string) => {
    position++;
    to.send(text);
  };
  const transmit = (to: DaemonLink, request: Pending) => {
    deliver(to, request.text);
    request.link = to;
    request.position = position;
  };
  const attach = (opened: DaemonLink) => {
    link = opened;
    position = 0;
    failure = undefined;
    if (handshake?.answered) {
      const id = `bridge_${crypto.randomUUID()}`;
      replays.add(id);
      deliver(opened, JSON.stringify({ ...handshake.initialize, id }));
      if (initialized !== undefined) deliver(opened, initialized);
    }
    opened.attach({
      onLine: (text) => fromDaemon(opened, text),
      onBye: (bye) => onBye(opened, bye),
      onClosed: (bye) => onClosed(opened, bye),
    });
    // A farewell may have been waiting already; then what is unsent goes to the next daemon.
    if (link === opened) for (const request of unsent()) transmit(opened, request);
  };
  const open = async () => {
    if (opening) return;
    opening = true;
    try {
      attach(await options.open());
    } catch (error) {
      failed(error instanceof MemoryError ? present(error).text : `The memory daemon cannot be started: ${present(error).text}`);
    } finally {
      opening = false;
    }
    // What was put back while the link opened and closed again.
    if (link === undefined && failure === undefined && unsent().length > 0) void open();
  };
  const failed = (reason: string) => {
    failure = { reason, at: performance.now() };
    log.error("no daemon", { reason });
    for (const request of unsent()) answerOffline(request, reason);
  };
  const look = () => {
    const now = performance.now();
    for (const request of all()) {
      const waited = now - request.since;
      if (request.link !== undefined) {
        if (waited > SILENT_CALLS * options.handlerTimeoutMs) answerLost(request, silentText(request.link.welcome.pid, waited));
        continue;
      }
      if (waited > options.handlerTimeoutMs || (waited > options.patienceMs && answeredOffline.has(request.method)))
        answerOffline(request, STARTING);
    }
  };

  const onBye = (of: DaemonLink, bye: Bye) => {
    if (link === of) link = undefined;
    if (bye.reason === "handover") options.expectHeir();
    for (const request of all()) {
      if (request.link === of && (bye.reason === "failed" || request.position > bye.accepted)) request.link = undefined;
    }
    if (bye.reason === "failed") failed(bye.text ?? "The memory daemon cannot start. Run 'memory-industry doctor'.");
    else if (unsent().length > 0) void open();
  };
  const onClosed = (of: DaemonLink, bye: Bye | undefined) => {
    if (link === of) link = undefined;
    if (finished) return;
    if (bye === undefined) log.warn("the daemon was lost", { pid: of.welcome.pid });
    servers.forget(of, handshake?.answered === true);
    for (const request of all()) {
      if (request.link !== of) continue;
      if (!repeatable.has(request.method) || request.again) answerLost(request, LOST);
      else {
        request.again = true;
        request.link = undefined;
      }
    }
    if (unsent().length > 0) void open();
  };

  const fromDaemon = (of: DaemonLink, text: string) => {
    const incoming = readLine({ kind: "text", text });
    if (incoming.kind === "fault") return log.error("the daemon sent a line that is no JSON", { pid: of.welcome.pid });
    const envelope = readEnvelope(incoming.message);
    if (envelope.kind === "request") return servers.forward(of, envelope.id, text);
    // A client that skipped initialize gets answers only.
    if (envelope.kind === "notification") return handshake === undefined ? undefined : options.toClient(text);
    const { id } = envelope;
    if (id === null) return options.toClient(text);
    if (typeof id === "string" && replays.delete(id)) return;
    const request = pending.get(keyOf(id))?.find((candidate) => candidate.link === of);
    // Answered already (the daemon took longer than we waited): a second answer to one id would be a fault of ours.
    if (request === undefined) return;
    options.toClient(text);
    settle(request);
  };

  const request = (id: RequestId, method: string, text: string) => {
    greeted = true;
    const entry: Pending = { id, method, text, since: performance.now(), link: undefined, position: 0, local: false, again: false };
    pending.set(keyOf(id), [...(pending.get(keyOf(id)) ?? []), entry]);
    looking ??= setInterval(look, LOOK_EVERY_MS);
    const recent = failure !== undefined && performance.now() - failure.at < options.retryAfterMs;
    if (link !== undefined) transmit(link, entry);
    else if (failure !== undefined && (recent || answeredOffline.has(method))) answerOffline(entry, failure.reason);
    else void open();
  };
  /** What a cancellation ends. It is never answered, so from now on nobody waits for it; a client may not cancel its initialize. */
  const cancelledBy = ({ requestId }: Readonly<Record<string, unknown>>): Pending[] => {
    if (typeof requestId !== "string" && typeof requestId !== "number") return [];
    return (pending.get(keyOf(requestId)) ?? []).filter((request) => request.method !== "initialize");
  };
  const notification = (method: string, params: Readonly<Record<string, unknown>>, text: string) => {
    if (method === "notifications/initialized" || method === "initialized") initialized = text;
    if (link !== undefined) deliver(link, text);
    if (method === "notifications/cancelled") for (const request of cancelledBy(params)) settle(request);
  };
  const response = (text: string) => {
    const answered = servers.answerFor(text);
    if (answered === undefined) return log.debug("the client answered what nobody asked any more");
    // A daemon on its way out has counted its messages already, and still waits for this one.
    if (answered.link === link) deliver(answered.link, answered.text);
    else answered.link.send(answered.text);
  };

  return {
    get greeted() {
      return greeted;
    },
    get isOffline() {
      return link === undefined && failure !== undefined;
    },
    fromClient(line) {
      const incoming = readLine(line);
      if (incoming.kind === "fault") return answer(incoming.answer);
      const envelope = readEnvelope(incoming.message);
      switch (envelope.kind) {
        case "malformed":
          return answer(malformed(envelope.id, envelope.why));
        case "response":
          return response(incoming.text);
        case "notification":
          return notification(envelope.method, envelope.params, incoming.text);
        case "request":
          if (envelope.method === "initialize")
            handshake = { initialize: { jsonrpc: "2.0", method: "initialize", params: envelope.params }, answered: false };
          return request(envelope.id, envelope.method, incoming.text);
      }
    },
    async finish() {
      let timer: ReturnType<typeof setTimeout> | undefined;
      if (pending.size > 0) {
        await new Promise<void>((resolve) => {
          idle = resolve;
          timer = setTimeout(resolve, 2 * options.handlerTimeoutMs);
        });
      }
      clearTimeout(timer);
      for (const request of unsent()) answerOffline(request, STARTING);
      await local;
      const overdue = all();
      for (const request of overdue) answerLost(request, OVERDUE);
      finished = true;
      if (overdue.length > 0) link?.abort();
      else await link?.finish(2 * options.handlerTimeoutMs);
    },
  };
}
