/** MCP on a pair of byte streams, served by this process alone (`tools-maintenance.md` §17.3). Streams come as parameters, so a test needs no process. */
import type { Logger } from "../kernel/logger.ts";
import type { Connection, OutgoingMessage } from "../mcp/connection.ts";
import { type ByteSink, createLineDecoder, createLineWriter, type Line, type LineWriter, readLine } from "./lines.ts";

/** Unsent characters at which reading pauses: a client that does not read its answers must not fill our memory. */
const MAX_BACKLOG_CHARS = 64 * 1024 * 1024;

/** How long the last flush waits while not one byte is taken. The specification's 500 ms cut the answer to a reader that was merely slow. */
const FLUSH_STALL_MS = 5_000;

export interface StdioOptions {
  readonly input: ReadableStream<Uint8Array>;
  readonly output: ByteSink;
  /** Opens the conversation; called once. */
  readonly connect: (send: (message: OutgoingMessage) => void) => Connection;
  /** Milliseconds one tool call may take; the end waits for twice this. */
  readonly handlerTimeoutMs: number;
  /** Milliseconds until a valid request must have come; undefined = for ever. */
  readonly handshakeLimitMs?: number | undefined;
  /** Stops reading and goes the way of end of input (SIGINT, SIGTERM). */
  readonly stop?: AbortSignal;
  readonly log: Logger;
}

/** Why it ended. `no-handshake` is a failure (exit 1), the others are not. */
export type StdioEnd = "end-of-input" | "stopped" | "output-gone" | "no-handshake";

/** Serves until the input ends, then answers what was asked, flushes and resolves. Never rejects for what a client sends. */
export async function serveStdio(options: StdioOptions): Promise<StdioEnd> {
  const writer = createLineWriter(options.output);
  const send = (message: OutgoingMessage) => writer.send(JSON.stringify(message));
  const connection = options.connect(send);
  const pending = new Set<Promise<void>>();

  const take = (line: Line) => {
    const incoming = readLine(line);
    if (incoming.kind === "fault") {
      send(incoming.answer);
      return;
    }
    const answered = connection.handle(incoming.message).then((answer) => {
      if (answer !== undefined) send(answer);
    });
    pending.add(answered);
    void answered.finally(() => pending.delete(answered));
  };

  const ended = await readLines(options, writer, take, () => connection.greeted);
  if (ended === "no-handshake")
    options.log.error("no valid request came within the handshake limit; ending", { limit_ms: options.handshakeLimitMs ?? null });
  else await within(2 * options.handlerTimeoutMs, settled(pending));
  connection.close();
  await writer.flush(FLUSH_STALL_MS);
  return ended;
}

/** Feeds lines to `take` until the input ends, is stopped, nobody reads the answers any more, or no greeting came in time. */
async function readLines(options: StdioOptions, writer: LineWriter, take: (line: Line) => void, greeted: () => boolean): Promise<StdioEnd> {
  const decoder = createLineDecoder();
  const reader = options.input.getReader();
  let end: StdioEnd = "end-of-input";
  // Cancelling answers the read that waits. A race against a promise instead would leave one reaction behind for each chunk.
  const interrupt = (why: StdioEnd) => {
    if (end !== "end-of-input") return;
    end = why;
    void reader.cancel().catch(() => {});
  };
  using _ = interruptions(options, writer, greeted, interrupt);
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      for (const line of decoder.push(next.value)) take(line);
      await writer.below(MAX_BACKLOG_CHARS);
    }
  } catch (error) {
    options.log.warn("standard input failed; going on as at its end", { reason: error instanceof Error ? error.message : String(error) });
  }
  if (end === "end-of-input") for (const line of decoder.end()) take(line);
  return end;
}

function interruptions(options: StdioOptions, writer: LineWriter, greeted: () => boolean, interrupt: (why: StdioEnd) => void): Disposable {
  const done = new AbortController();
  const on = (signal: AbortSignal | undefined, why: StdioEnd) => {
    if (signal?.aborted) interrupt(why);
    else signal?.addEventListener("abort", () => interrupt(why), { once: true, signal: done.signal });
  };
  on(options.stop, "stopped");
  on(writer.broken, "output-gone");
  const timer =
    options.handshakeLimitMs === undefined ? undefined : setTimeout(() => greeted() || interrupt("no-handshake"), options.handshakeLimitMs);
  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      done.abort();
    },
  };
}

/** Resolves when the set is empty, also counting what is added meanwhile. */
async function settled(pending: ReadonlySet<Promise<void>>): Promise<void> {
  while (pending.size > 0) await Promise.allSettled(pending);
}

/** Waits for `work`, at most `ms`. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([work, new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))]);
  clearTimeout(timer);
}
