/**
 * A client on standard input and output (`tools-maintenance.md` §17.3), served by whatever daemon its finder opens: over the local socket, or in this very
 * process. Streams come as parameters, so a test needs no process.
 */
import type { Logger } from "../kernel/logger.ts";
import type { Connection } from "../mcp/connection.ts";
import type { DaemonFinder } from "./find-daemon.ts";
import { readInput } from "./input.ts";
import { type ByteSink, createLineWriter, type Line } from "./lines.ts";
import { watchParent } from "./parent.ts";
import { createRelay } from "./relay.ts";

/** A daemon that needs longer than this for its first answer is starting something large (an image, a migration); the client must not give up on us. */
const PATIENCE_MS = 5_000;

/** After a failed start the reason is given again without another try for this long. */
const RETRY_AFTER_MS = 3_000;

/** How long the last flush waits while not one byte is taken. The specification's 500 ms cut the answer to a reader that was merely slow. */
const LAST_FLUSH_STALL_MS = 5_000;

export interface ClientOptions {
  readonly input: ReadableStream<Uint8Array>;
  readonly output: ByteSink;
  /** A conversation without a daemon: initialize, ping and tools/list are answered, each tools/call fails with `reason`. Called only when needed. */
  readonly offline: (reason: string) => Promise<Connection>;
  /** Milliseconds one tool call may take; the end waits for twice this. */
  readonly handlerTimeoutMs: number;
  /** Milliseconds until a valid request must have come; undefined = for ever. */
  readonly handshakeLimitMs: number | undefined;
  /** Stops reading and goes the way of end of input (SIGINT, SIGTERM). */
  readonly stop?: AbortSignal | undefined;
  readonly log: Logger;
}

/**
 * Serves until the input ends, then waits for the answers that are due, flushes and resolves. Never rejects for what a client sends.
 * @returns exit code: 0, or 1 where no valid request ever came, or no daemon could be had in the end
 */
export async function serveClient(options: ClientOptions, finder: DaemonFinder): Promise<number> {
  const { input, output, handlerTimeoutMs, handshakeLimitMs, log } = options;
  const writer = createLineWriter(output);
  const relay = createRelay({
    toClient: (line) => writer.send(line),
    open: finder.open,
    expectHeir: finder.expectHeir,
    offline: options.offline,
    handlerTimeoutMs,
    patienceMs: PATIENCE_MS,
    retryAfterMs: RETRY_AFTER_MS,
    log,
  });
  using parent = watchParent();
  const stop = options.stop === undefined ? parent.gone : AbortSignal.any([options.stop, parent.gone]);
  const take = (line: Line) => {
    parent.heard();
    relay.fromClient(line);
  };
  const end = await readInput({ input, writer, take, greeted: () => relay.greeted, handshakeLimitMs, stop, log });
  if (end === "no-handshake") return 1;
  await relay.finish();
  await writer.flush(LAST_FLUSH_STALL_MS);
  return relay.isOffline ? 1 : 0;
}
