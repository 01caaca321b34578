/** One connection to the daemon, from the asking side: hello, welcome, then lines; the same for a bridge and for a command. */
import { lstatSync } from "node:fs";
import { MemoryError, unavailable } from "../kernel/errors.ts";
import { type Bye, encodeFrame, type Hello, isFrame, type Question, readDaemonFrame, type Welcome } from "./frames.ts";
import type { Line } from "./lines.ts";
import { connectLocal, type LineChannel } from "./socket.ts";

/** Longest line taken from the daemon. It is of our own making, so this only ends a fault; answers are far smaller. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

/** How long a last flush waits while the daemon takes nothing. */
const FLUSH_STALL_MS = 2_000;

export interface LinkHandlers {
  /** A JSON-RPC message of the daemon, as text. */
  readonly onLine: (text: string) => void;
  /** The daemon takes no more messages on this link; answers may still come. */
  readonly onBye: (bye: Bye) => void;
  /** The link is gone. `bye` is what was said before, undefined where the daemon was lost. */
  readonly onClosed: (bye: Bye | undefined) => void;
}

export interface DaemonLink {
  readonly welcome: Welcome;
  /** Resolves when the daemon works on messages. Rejects with MemoryError `unavailable`, and its reason, where it cannot start. */
  readonly ready: Promise<void>;
  /** Hands over what came meanwhile, then calls as it comes. */
  attach(handlers: LinkHandlers): void;
  send(text: string): void;
  /** @throws MemoryError `refused` with the daemon's reason, `unavailable` where the link is lost before the answer */
  ask(question: Question, version: string): Promise<unknown>;
  /** Says that no more input comes; resolves when the daemon has answered everything and closed, or after `limitMs`. */
  finish(limitMs: number): Promise<void>;
  abort(): void;
  readonly closed: Promise<void>;
  /** What the daemon said about its end, if it did. */
  farewell(): Bye | undefined;
}

/** `absent`: nobody listens · `silent`: somebody does and does not answer (stopped, overloaded). */
export type Linked = { readonly kind: "linked"; readonly link: DaemonLink } | { readonly kind: "absent" | "silent" };

/** Connects and exchanges greetings. @param limitMs how long the welcome may take */
export async function linkTo(path: string, hello: Hello, limitMs: number): Promise<Linked> {
  const conversation = createConversation();
  let channel: LineChannel;
  try {
    // Where the data directory's path is too long the socket lies below one that everybody may write to: a stranger's must not hear our memories.
    if (process.getuid !== undefined && lstatSync(path).uid !== process.getuid()) return { kind: "absent" };
    channel = await connectLocal(path, conversation, MAX_ANSWER_BYTES);
  } catch {
    return { kind: "absent" };
  }
  channel.writer.send(encodeFrame({ op: "hello", hello }));
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<"silent">((resolve) => (timer = setTimeout(() => resolve("silent"), limitMs)));
  const welcome = await Promise.race([conversation.welcomed, conversation.closed.then(() => "absent" as const), limit]);
  clearTimeout(timer);
  if (typeof welcome !== "string") return { kind: "linked", link: conversation.link(channel, welcome) };
  channel.abort();
  return { kind: welcome };
}

function createConversation() {
  const welcomed = Promise.withResolvers<Welcome>();
  const closed = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<void>();
  // Not everybody waits for it.
  ready.promise.catch(() => {});
  const asked = new Map<number, { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }>();
  let handlers: LinkHandlers | undefined;
  let early: ((to: LinkHandlers) => void)[] = [];
  let farewell: Bye | undefined;
  let gone = false;
  let next = 1;

  const deliver = (event: (to: LinkHandlers) => void) => {
    if (handlers === undefined) early.push(event);
    else event(handlers);
  };
  const hearFrame = (line: string) => {
    const frame = readDaemonFrame(line);
    if (frame?.op === "welcome") welcomed.resolve(frame.welcome);
    else if (frame?.op === "ready") ready.resolve();
    else if (frame?.op === "bye") {
      const { bye } = frame;
      farewell = bye;
      if (bye.reason === "failed") ready.reject(unavailable(bye.text ?? "The memory daemon cannot start. Run 'memory-industry doctor'."));
      deliver((to) => to.onBye(bye));
    } else if (frame?.op === "answer") {
      const waiting = asked.get(frame.id);
      asked.delete(frame.id);
      if (frame.refused === undefined) waiting?.resolve(frame.value);
      else waiting?.reject(new MemoryError("refused", frame.refused));
    }
  };
  return {
    welcomed: welcomed.promise,
    closed: closed.promise,
    onLine(line: Line) {
      if (line.kind !== "text") return;
      if (isFrame(line.text)) hearFrame(line.text);
      else deliver((to) => to.onLine(line.text));
    },
    onClose() {
      gone = true;
      closed.resolve();
      ready.reject(unavailable("The memory daemon ended before it was ready; nothing was done."));
      for (const { reject } of asked.values()) reject(unavailable("The daemon ended before it answered."));
      asked.clear();
      deliver((to) => to.onClosed(farewell));
    },
    link: (channel: LineChannel, welcome: Welcome): DaemonLink => ({
      welcome,
      ready: ready.promise,
      attach(to) {
        handlers = to;
        const waiting = early;
        early = [];
        for (const event of waiting) event(to);
      },
      send: (text) => channel.writer.send(text),
      ask(question, version) {
        if (gone) return Promise.reject(unavailable("The daemon ended before it was asked."));
        const id = next++;
        const answered = Promise.withResolvers<unknown>();
        asked.set(id, answered);
        channel.writer.send(encodeFrame({ op: "ask", id, question, version }));
        return answered.promise;
      },
      async finish(limitMs) {
        channel.writer.send(encodeFrame({ op: "end" }));
        const timer = setTimeout(() => channel.abort(), limitMs);
        await channel.writer.flush(FLUSH_STALL_MS);
        await closed.promise;
        clearTimeout(timer);
      },
      abort: () => channel.abort(),
      closed: closed.promise,
      farewell: () => farewell,
    }),
  };
}
