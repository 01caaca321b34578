/** The local socket's server end: a hello frame, then JSON-RPC lines both ways, and a few questions that are no tool calls. */
import { causeChain, present } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Connection, McpServer, OutgoingMessage, PeerInfo } from "../mcp/connection.ts";
import { readEnvelope } from "../mcp/protocol.ts";
import { type Bye, encodeFrame, type Hello, isFrame, type Question, readClientFrame, type Welcome } from "../transports/frames.ts";
import { type Line, readLine } from "../transports/lines.ts";
import { type ChannelHandlers, type LineChannel, listenLocal } from "../transports/socket.ts";
import type { Activity } from "./activity.ts";

/** Time for the first line; who connects and says nothing is no client of ours. */
const HELLO_LIMIT_MS = 5_000;

/** Unsent characters at which a client that does not read is dropped: it must not fill the memory that all share. */
const MAX_BACKLOG_CHARS = 64 * 1024 * 1024;

/** How long a closing conversation waits while its client takes nothing. */
const FLUSH_STALL_MS = 2_000;

export interface LocalServerOptions {
  readonly path: string;
  /** The composed server; messages that come earlier wait. Where it rejects, every client is told why. */
  readonly mcp: Promise<McpServer>;
  readonly facts: Omit<Welcome, "differs">;
  /** Digests of this process's settings, to tell callers whose environment differs. */
  readonly settings: Readonly<Record<string, string>>;
  readonly activity: Activity;
  /** @throws MemoryError where the answer is no; its text is passed on */
  readonly answer: (question: Question, askerVersion: string) => Promise<unknown>;
  readonly log: Logger;
}

export interface LocalClient {
  readonly kind: Hello["kind"];
  readonly label: string;
  readonly version: string;
  readonly idleSecs: number;
}

export interface LocalServer {
  /** Bridges that are connected now, silent ones included. */
  readonly bridges: number;
  clients(): LocalClient[];
  /** Takes no more connections and no more messages, and says so with the number of messages taken. Answers still go out. */
  dismiss(reason: Bye["reason"], text?: string): void;
  /** Waits for answers that are due (aborting what takes longer than `limitMs`), flushes, and closes every conversation. */
  close(limitMs: number): Promise<void>;
}

interface Conversation {
  readonly handlers: ChannelHandlers;
  readonly hello: Hello | undefined;
  readonly lastAt: number;
  dismiss(reason: Bye["reason"], text?: string): void;
  close(limitMs: number): Promise<void>;
}

/** Listens; the socket file must be free. */
export function serveLocal(options: LocalServerOptions): LocalServer {
  const open = new Set<Conversation>();
  let dismissal: { readonly reason: Bye["reason"]; readonly text?: string } | undefined;
  const listener = listenLocal(options.path, (channel) => {
    const conversation = converse(options, channel, () => open.delete(conversation));
    open.add(conversation);
    if (dismissal !== undefined) conversation.dismiss(dismissal.reason, dismissal.text);
    return conversation.handlers;
  });
  const dismiss: LocalServer["dismiss"] = (reason, text) => {
    if (dismissal !== undefined) return;
    dismissal = text === undefined ? { reason } : { reason, text };
    listener.stop();
    for (const conversation of open) conversation.dismiss(reason, text);
  };
  options.mcp.catch((error: unknown) => dismiss("failed", present(error).text));
  return {
    get bridges() {
      return [...open].filter(({ hello }) => hello?.kind === "bridge").length;
    },
    clients: () =>
      [...open].flatMap(({ hello, lastAt }) =>
        hello === undefined
          ? []
          : [
              {
                kind: hello.kind,
                label: hello.label ?? "anonymous",
                version: hello.version,
                idleSecs: Math.round((performance.now() - lastAt) / 1000),
              },
            ],
      ),
    dismiss,
    async close(limitMs) {
      dismiss("stop");
      await Promise.all([...open].map((conversation) => conversation.close(limitMs)));
    },
  };
}

function converse(options: LocalServerOptions, channel: LineChannel, gone: () => void): Conversation {
  const { log, activity } = options;
  const pending = new Set<Promise<void>>();
  let hello: Hello | undefined;
  let connection: Promise<Connection> | undefined;
  let accepted = 0;
  let listening = true;
  let lastAt = performance.now();
  const impatience = setTimeout(() => channel.abort(), HELLO_LIMIT_MS);

  const write = (line: string) => {
    channel.writer.send(line);
    if (channel.writer.backlog <= MAX_BACKLOG_CHARS) return;
    log.warn("a client does not read its answers and is dropped", { label: hello?.label ?? null });
    channel.abort();
  };
  const send = (message: OutgoingMessage) => write(JSON.stringify(message));
  const track = (work: Promise<void>) => {
    pending.add(work);
    void work.finally(() => pending.delete(work));
  };

  const greet = (greeting: Hello) => {
    if (hello !== undefined) return;
    clearTimeout(impatience);
    hello = greeting;
    const names = new Set([...Object.keys(greeting.settings), ...Object.keys(options.settings)]);
    // A command of ours does not care, and says nothing about itself.
    const differs = greeting.kind === "cli" ? [] : [...names].filter((name) => greeting.settings[name] !== options.settings[name]);
    write(encodeFrame({ op: "welcome", welcome: { ...options.facts, differs } }));
    connection = options.mcp.then((mcp) => {
      write(encodeFrame({ op: "ready" }));
      return mcp.connect(peerOf(greeting), send);
    });
    connection.catch((error: unknown) => log.debug("a client came to a daemon that cannot start", { cause: causeChain(error) }));
  };
  const take = async (line: Line) => {
    using _ = activity.begin();
    lastAt = performance.now();
    const incoming = readLine(line);
    if (incoming.kind === "fault") return send(incoming.answer);
    try {
      const answer = await (await connection)?.handle(incoming.message);
      if (answer !== undefined) send(answer);
    } catch (error) {
      // The daemon could not start: the farewell says why and that nothing was taken.
      log.debug("a message came to a daemon that cannot start", { cause: causeChain(error) });
    }
  };
  const ask = async (id: number, question: Question, version: string) => {
    try {
      write(encodeFrame({ op: "answer", id, value: await options.answer(question, version), refused: undefined }));
    } catch (error) {
      write(encodeFrame({ op: "answer", id, value: null, refused: present(error).text }));
    }
  };
  let left = false;
  /** The client said that it is done. One that is gone without a word may be back soon: its daemon or its machine gave out, not its window. */
  let isDone = false;
  /** Ends the conversation with the product, once: what still runs is aborted. */
  const leave = () => {
    if (left) return;
    left = true;
    void connection?.then((opened) => opened.close(isDone ? "left" : undefined)).catch(() => {});
  };
  const close = async (limitMs?: number) => {
    listening = false;
    const timer = limitMs === undefined ? undefined : setTimeout(leave, limitMs);
    while (pending.size > 0) await Promise.allSettled(pending);
    clearTimeout(timer);
    await channel.finish(FLUSH_STALL_MS);
  };
  const hearFrame = (line: string) => {
    const frame = readClientFrame(line);
    if (frame?.op === "hello") greet(frame.hello);
    else if (frame?.op === "ask" && hello !== undefined) track(ask(frame.id, frame.question, frame.version));
    else if (frame?.op === "end") {
      isDone = true;
      void close();
    }
  };

  return {
    handlers: {
      onLine(line) {
        if (!listening) {
          // On the way out calls still run, and some wait for their client's answer.
          if (isResponse(line)) track(take(line));
          return;
        }
        if (line.kind === "text" && isFrame(line.text)) hearFrame(line.text);
        else if (hello === undefined) channel.abort();
        else {
          accepted++;
          track(take(line));
        }
      },
      onClose() {
        clearTimeout(impatience);
        listening = false;
        leave();
        gone();
      },
    },
    get hello() {
      return hello;
    },
    get lastAt() {
      return lastAt;
    },
    dismiss(reason, text) {
      if (!listening && reason !== "failed") return;
      listening = false;
      write(encodeFrame({ op: "bye", bye: { reason, text, accepted: reason === "failed" ? 0 : accepted } }));
    },
    close,
  };
}

function isResponse(line: Line): boolean {
  const incoming = readLine(line);
  return incoming.kind === "message" && readEnvelope(incoming.message).kind === "response";
}

/** A bridge is local and of this user: full scope, and its own connection id keeps two windows with one label apart. */
function peerOf(hello: Hello): PeerInfo {
  return {
    transport: hello.kind,
    principal: { kind: "owner" },
    label: hello.label,
    machine: undefined,
    protocolSession: hello.connection === "" ? undefined : hello.connection,
    project: hello.project,
    directory: hello.directory,
    profile: hello.profile,
  };
}
