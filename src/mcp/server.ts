/** The protocol: one connection a client, `handle(message)` → answer. Knows JSON-RPC and tools, no transport and no SQL. */
import type { CallContext, Progress, Sampling } from "../kernel/context.ts";
import { type Deadline, deadlineIn, signalUntil } from "../kernel/deadline.ts";
import { cancelled, causeChain, forbidden, MemoryError, present, protocolFault, rpcCode, timedOut } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import type { Logger } from "../kernel/logger.ts";
import { VERSION } from "../kernel/version.ts";
import type { Identity } from "../services/identity/identity.ts";
import type { Tool } from "../tools/define.ts";
import { listing, publicForm } from "../tools/profiles.ts";
import { createClientRequests } from "./client-requests.ts";
import type { Connection, McpServer, OutgoingMessage, PeerInfo } from "./connection.ts";
import type { Dispatcher, Opening, ToolOutcome } from "./dispatch.ts";
import { answer, type Envelope, fault, faultOf, malformed, negotiate, type RequestId, readEnvelope, readsStructured } from "./protocol.ts";
import type { ResourceMethods } from "./resources.ts";

/**
 * What the owner of the database does for commands of ours and no tool offers (`owner/…`). Served to the `cli` transport alone, and
 * without the time limit of a tool call: a command waits as long as its person does.
 */
export type OwnerMethod = (
  params: Readonly<Record<string, unknown>>,
  call: {
    readonly signal: AbortSignal;
    readonly progress: Progress;
    readonly log: Logger;
    /** The project that the command runs in. */
    readonly scope: () => Promise<CallContext["scope"]>;
  },
) => Promise<unknown>;

export interface McpServerParts {
  readonly tools: readonly Tool[];
  readonly dispatcher: Dispatcher;
  readonly identity: Identity;
  readonly log: Logger;
  /** Longest time of one tool call, milliseconds. */
  readonly handlerTimeoutMs: number;
  /** Listing profile where the connection names none. */
  readonly profile: string | undefined;
  readonly ownerMethods: ReadonlyMap<string, OwnerMethod>;
  readonly resources: ResourceMethods;
  /** What starts this program from a shell of this machine, as one line. Answers call it `memory-industry`. */
  readonly typed?: string;
}

const INSTRUCTIONS =
  "Long-term memory of this project. Call cuba_contexto first; ask cuba_faro before answering from memory: a result is a lead, not a proof (mode=verify checks a claim).\n" +
  "Store what outlives the task with cuba_cronica. Start with cuba_jornada action=start, end with action=end and a summary.";

/** A running request: how to stop it. Kept by client and id, since HTTP clients all count from 1. */
const inFlightKey = (owner: string, id: RequestId) => `${owner}\n${typeof id}:${id}`;

export function createMcpServer(parts: McpServerParts): McpServer {
  const { tools, dispatcher, identity, log, handlerTimeoutMs } = parts;
  const spelled =
    parts.typed === undefined || parts.typed === "memory-industry" ? "" : `\nIn a shell, 'memory-industry' is: ${parts.typed}`;
  const running = new Map<string, AbortController>();
  const listings = new Map<string, unknown>();

  const toolList = (peer: PeerInfo) => {
    const profile = peer.profile ?? parts.profile ?? "full";
    if (peer.principal.kind === "peer")
      return { tools: tools.filter((tool) => Object.values(tool.actions).some((action) => action.peer)).map(publicForm) };
    const known = listings.get(profile) ?? { tools: listing(tools, profile) };
    listings.set(profile, known);
    return known;
  };

  function connect(peer: PeerInfo, send?: (message: OutgoingMessage) => void): Connection {
    const connectionId = newId();
    const caller = identity.caller(peer);
    const requests = createClientRequests(send);
    const pending = new Set<Promise<unknown>>();
    let version = peer.protocolVersion;
    let samples = false;
    let hasRoots = false;
    let greeted = false;
    let closed = false;
    // A command of ours agrees on no revision, and wants to know what kind of refusal it got.
    const readsFacts = ({ ok }: ToolOutcome) => readsStructured(version) || (peer.transport === "cli" && !ok);

    // HTTP makes a connection for each POST: there the client's key is what a later cancellation has in common with the request.
    const owner = () => (peer.transport === "http" && caller.bound ? caller.key() : connectionId);

    const askRoots = () => {
      if (!hasRoots || send === undefined) return;
      const asked = requests
        .ask("roots/list", {}, new AbortController().signal, "cuba_roots")
        .then((result) => caller.adoptRoots(result))
        .catch((cause: unknown) => log.debug("the client did not tell its roots", { cause: causeChain(cause) }));
      caller.awaitRoots(asked);
    };

    const initialize = (params: Readonly<Record<string, unknown>>) => {
      version = negotiate(params.protocolVersion);
      const capabilities = asRecord(params.capabilities);
      samples = peer.transport !== "http" && capabilities.sampling !== undefined;
      hasRoots = capabilities.roots !== undefined;
      const name = asRecord(params.clientInfo).name;
      if (typeof name === "string") caller.introduce(name);
      return {
        protocolVersion: version,
        capabilities: { tools: { listChanged: false }, resources: { listChanged: false, subscribe: false } },
        serverInfo: { name: "MemoryIndustry", version: VERSION },
        // An agent would run the command that an answer names. Over HTTP it may sit at another machine, which our paths are no business of.
        instructions: peer.transport === "http" ? INSTRUCTIONS : INSTRUCTIONS + spelled,
      };
    };

    const sampling = (deadline: Deadline): Sampling | undefined =>
      samples && send !== undefined ? requests.sampling(deadline) : undefined;

    /** Work of one request in a context of its own: bounded in time, stopped by `notifications/cancelled`, forgotten by whatever road it ends. */
    const bounded = async <T>(
      id: RequestId | undefined,
      params: Readonly<Record<string, unknown>>,
      what: string,
      work: (opening: Opening) => Promise<T>,
    ): Promise<T> => {
      const callId = newId().slice(0, 8);
      const deadline = deadlineIn(handlerTimeoutMs);
      const abort = new AbortController();
      using limit = signalUntil(deadline, abort.signal);
      const key = id === undefined ? undefined : inFlightKey(owner(), id);
      if (key !== undefined) running.set(key, abort);
      const callLog = log.with({ call: callId });
      const open = async (lenient: boolean): Promise<CallContext> => {
        const { scope, session } = await caller.resolve(limit.signal).catch((cause: unknown) => {
          if (!lenient) throw cause;
          callLog.warn("project and session could not be found out", { cause: causeChain(cause) });
          return { scope: { kind: "none" } as const, session: undefined };
        });
        return Object.freeze({
          id: callId,
          client: caller.key(),
          bound: caller.bound,
          principal: peer.principal,
          scope,
          session,
          deadline,
          signal: limit.signal,
          sampling: sampling(deadline),
          progress: requests.progress(asRecord(params._meta).progressToken),
          log: callLog,
        });
      };
      const { principal } = peer;
      const opening: Opening = {
        id: callId,
        client: caller.key(),
        principal,
        signal: limit.signal,
        log: callLog,
        open,
        projectGone: () => caller.lookAgain(),
      };
      try {
        return await untilAborted(work(opening), limit.signal, abort.signal, handlerTimeoutMs, what);
      } catch (error) {
        if (limit.signal.aborted) dispatcher.abandoned(opening, error);
        throw error;
      } finally {
        if (key !== undefined && running.get(key) === abort) running.delete(key);
      }
    };

    const callTool = async (id: RequestId | undefined, params: Readonly<Record<string, unknown>>): Promise<unknown> => {
      const { name, arguments: args } = params;
      if (typeof name !== "string") throw protocolFault(rpcCode.params, "params.name must be the name of a tool.");
      return wrap(await bounded(id, params, name, (opening) => dispatcher.call(opening, name, args)), readsFacts);
    };

    /** A peer token has five verbs and no resources. */
    const refusePeer = (method: string) => {
      if (peer.principal.kind === "peer") throw forbidden(`A peer token may not call ${method}. Nothing was read.`);
    };
    const readResource = async (id: RequestId | undefined, params: Readonly<Record<string, unknown>>): Promise<unknown> => {
      const { uri } = params;
      if (typeof uri !== "string") throw protocolFault(rpcCode.params, "params.uri must be the address of a resource.");
      return await bounded(id, params, "resources/read", (opening) => parts.resources.read(opening, uri));
    };

    /** Runs a method of the owner, if this is one and the caller may ask it. */
    const callOwner = async (id: RequestId | undefined, method: string, params: Readonly<Record<string, unknown>>): Promise<unknown> => {
      const run = peer.transport === "cli" && peer.principal.kind === "owner" ? parts.ownerMethods.get(method) : undefined;
      if (run === undefined) throw protocolFault(rpcCode.method, `Unknown method '${method}'.`);
      const abort = new AbortController();
      const key = id === undefined ? undefined : inFlightKey(owner(), id);
      if (key !== undefined) running.set(key, abort);
      try {
        const progress = requests.progress(asRecord(params._meta).progressToken);
        const scope = async () => (await caller.resolve(abort.signal)).scope;
        return await run(params, { signal: abort.signal, progress, log: log.with({ method }), scope });
      } finally {
        if (key !== undefined) running.delete(key);
      }
    };

    const request = async (id: RequestId | undefined, method: string, params: Readonly<Record<string, unknown>>): Promise<unknown> => {
      switch (method) {
        case "initialize":
          return initialize(params);
        case "ping":
          return {};
        case "tools/list":
          return toolList(peer);
        case "tools/call":
          return await callTool(id, params);
        case "resources/list":
          refusePeer(method);
          return await bounded(id, params, method, (opening) => parts.resources.list(opening));
        case "resources/read":
          refusePeer(method);
          return await readResource(id, params);
        default:
          return await callOwner(id, method, params);
      }
    };

    const notified = async (method: string, params: Readonly<Record<string, unknown>>) => {
      switch (method) {
        case "initialized":
        case "notifications/initialized":
        case "notifications/roots/list_changed":
          return askRoots();
        case "notifications/cancelled": {
          const id = params.requestId;
          if (typeof id === "string" || typeof id === "number") running.get(inFlightKey(owner(), id))?.abort(cancelled());
          return;
        }
        default:
          // A request without an id runs and is not answered; an unknown notification is nothing to complain about.
          if (!method.startsWith("notifications/")) await request(undefined, method, params);
      }
    };

    const respond = async (envelope: Envelope): Promise<OutgoingMessage | undefined> => {
      switch (envelope.kind) {
        case "malformed":
          return malformed(envelope.id, envelope.why);
        case "response":
          if (envelope.id === "cuba_roots" && !requests.isWaiting("cuba_roots")) await caller.adoptRoots(envelope.result);
          else requests.take(envelope.id, envelope.result, envelope.error);
          return undefined;
        case "notification":
          await notified(envelope.method, envelope.params).catch((cause: unknown) =>
            log.warn("a notification failed", { method: envelope.method, cause: causeChain(cause) }),
          );
          return undefined;
        case "request": {
          greeted = true;
          const { id, method, params } = envelope;
          try {
            return answer(id, await request(id, method, params));
          } catch (error) {
            if (error instanceof MemoryError && error.code === "cancelled") return undefined;
            if (!(error instanceof MemoryError)) log.error("a request failed unexpectedly", { method, cause: causeChain(error) });
            if (error instanceof MemoryError && error.code === "timeout" && method === "tools/call") {
              const { text, code } = present(error);
              return answer(id, wrap({ ok: false, answer: { error: text, code }, text }, readsFacts));
            }
            return faultOf(id, error, connectionId.slice(0, 8));
          }
        }
      }
    };

    return {
      async handle(message) {
        if (closed) return fault(null, rpcCode.internal, "This connection is closed.");
        const work = respond(readEnvelope(message));
        pending.add(work);
        try {
          return await work;
        } finally {
          pending.delete(work);
        }
      },
      get greeted() {
        return greeted;
      },
      get inFlight() {
        return pending.size;
      },
      async settled() {
        while (pending.size > 0) await Promise.allSettled(pending);
      },
      close(end) {
        closed = true;
        requests.close();
        const mine = `${connectionId}\n`;
        for (const [key, abort] of running) if (key.startsWith(mine)) abort.abort(cancelled());
        caller.leave(end);
      },
    };
  }

  return { connect };
}

const asRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {};

/** The result of a tool call on the wire. */
function wrap(outcome: ToolOutcome, readsFacts: (outcome: ToolOutcome) => boolean): unknown {
  return {
    content: [{ type: "text", text: outcome.text }],
    ...(readsFacts(outcome) ? { structuredContent: outcome.answer } : {}),
    ...(outcome.ok ? {} : { isError: true }),
  };
}

/** Waits for the outcome, but no longer than the deadline or the client's patience. The work itself sees the same signal and stops. */
function untilAborted<T>(work: Promise<T>, limit: AbortSignal, client: AbortSignal, timeoutMs: number, what: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () =>
      reject(
        client.aborted
          ? cancelled()
          : timedOut(
              `${what} ran longer than ${timeoutMs / 1000} s and was stopped (CUBA_HANDLER_TIMEOUT_SECS). ` +
                "A write may or may not have happened: look before you repeat it.",
            ),
      );
    if (limit.aborted) onAbort();
    limit.addEventListener("abort", onAbort, { once: true });
    work
      .then(resolve, (error: unknown) => (limit.aborted ? onAbort() : reject(error)))
      .finally(() => limit.removeEventListener("abort", onAbort));
  });
}
