/** MCP on a pair of byte streams, served by this process alone (`tools-maintenance.md` §17.3). Streams come as parameters, so a test needs no process. */
import type { Logger } from "../kernel/logger.ts";
import type { Connection, OutgoingMessage } from "../mcp/connection.ts";
import { type InputEnd, readInput } from "./input.ts";
import { type ByteSink, createLineWriter, type Line, readLine } from "./lines.ts";

/** How long the last flush waits while not one byte is taken. The specification's 500 ms cut the answer to a reader that was merely slow. */
export const LAST_FLUSH_STALL_MS = 5_000;

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
  readonly stop?: AbortSignal | undefined;
  readonly log: Logger;
}

/** Serves until the input ends, then answers what was asked, flushes and resolves. Never rejects for what a client sends. */
export async function serveStdio(options: StdioOptions): Promise<InputEnd> {
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

  const { input, handshakeLimitMs, stop, log } = options;
  const ended = await readInput({ input, writer, take, greeted: () => connection.greeted, handshakeLimitMs, stop, log });
  if (ended !== "no-handshake") await within(2 * options.handlerTimeoutMs, settled(pending));
  connection.close();
  await writer.flush(LAST_FLUSH_STALL_MS);
  return ended;
}

/** Resolves when the set is empty, also counting what is added meanwhile. */
async function settled(pending: ReadonlySet<Promise<void>>): Promise<void> {
  while (pending.size > 0) await Promise.allSettled(pending);
}

/** Waits for `work`, at most `ms`. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([
    work,
    new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    }),
  ]);
  clearTimeout(timer);
}
