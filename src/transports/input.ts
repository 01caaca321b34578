/** Reads lines from a process's input until one of the reasons to end comes true; shared by the server on stdio and the bridge. */
import type { Logger } from "../kernel/logger.ts";
import { createLineDecoder, type Line, type LineWriter } from "./lines.ts";

/** Unsent characters at which reading pauses: a client that does not read its answers must not fill our memory. */
const MAX_BACKLOG_CHARS = 64 * 1024 * 1024;

/** Why reading ended. `no-handshake` is a failure (exit 1), the others are not. */
export type InputEnd = "end-of-input" | "stopped" | "output-gone" | "no-handshake";

export interface InputOptions {
  readonly input: ReadableStream<Uint8Array>;
  readonly writer: LineWriter;
  readonly take: (line: Line) => void;
  /** True once a valid request has come. */
  readonly greeted: () => boolean;
  /** Milliseconds until a valid request must have come; undefined = for ever. */
  readonly handshakeLimitMs: number | undefined;
  /** Stops reading and goes the way of end of input (SIGINT, SIGTERM, the parent is gone). */
  readonly stop: AbortSignal | undefined;
  readonly log: Logger;
}

/** Feeds lines to `take`; the last one counts without its newline. Never rejects. */
export async function readInput(options: InputOptions): Promise<InputEnd> {
  const decoder = createLineDecoder();
  const reader = options.input.getReader();
  const ended: { why: InputEnd } = { why: "end-of-input" };
  // Cancelling answers the read that waits. A race against a promise instead would leave one reaction behind for each chunk.
  const interrupt = (why: InputEnd) => {
    if (ended.why !== "end-of-input") return;
    ended.why = why;
    void reader.cancel().catch(() => {});
  };
  using _ = interruptions(options, interrupt);
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      for (const line of decoder.push(next.value)) options.take(line);
      await options.writer.below(MAX_BACKLOG_CHARS);
    }
  } catch (error) {
    options.log.warn("standard input failed; going on as at its end", { reason: error instanceof Error ? error.message : String(error) });
  }
  if (ended.why === "end-of-input") for (const line of decoder.end()) options.take(line);
  if (ended.why === "no-handshake") {
    options.log.error("no valid request came within the handshake limit; ending", { limit_ms: options.handshakeLimitMs ?? null });
  }
  return ended.why;
}

function interruptions(options: InputOptions, interrupt: (why: InputEnd) => void): Disposable {
  const done = new AbortController();
  const on = (signal: AbortSignal | undefined, why: InputEnd) => {
    if (signal?.aborted) interrupt(why);
    else signal?.addEventListener("abort", () => interrupt(why), { once: true, signal: done.signal });
  };
  on(options.stop, "stopped");
  on(options.writer.broken, "output-gone");
  const { handshakeLimitMs: limitMs, greeted } = options;
  const timer = limitMs === undefined ? undefined : setTimeout(() => greeted() || interrupt("no-handshake"), limitMs);
  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      done.abort();
    },
  };
}
