/**
 * The process behind an editor window: standard input and output on one side, the daemon's local socket on the other.
 * It must stay small, so nothing heavy may be imported here, also not through another file (`test/transports/bridge-imports.test.ts`).
 */
import type { Logger } from "../kernel/logger.ts";
import type { Connection } from "../mcp/connection.ts";
import { createDaemonFinder, type DaemonFinder, type FinderOptions } from "./find-daemon.ts";
import { readInput } from "./input.ts";
import { type ByteSink, createLineWriter, type Line } from "./lines.ts";
import { watchParent } from "./parent.ts";
import { createRelay } from "./relay.ts";
import { LAST_FLUSH_STALL_MS } from "./stdio.ts";

/** A daemon that needs longer than this for its first answer is starting something large (an image, a migration); the client must not give up on us. */
const PATIENCE_MS = 5_000;

/** After a failed start the reason is given again without another try for this long. */
const RETRY_AFTER_MS = 3_000;

export interface ClientOptions {
  readonly input: ReadableStream<Uint8Array>;
  readonly output: ByteSink;
  /** A conversation without a daemon: initialize, ping and tools/list are answered, each tools/call fails with `reason`. Called only when needed. */
  readonly offline: (reason: string) => Promise<Connection>;
  readonly handlerTimeoutMs: number;
  readonly handshakeLimitMs: number | undefined;
  /** SIGINT or SIGTERM. */
  readonly stop?: AbortSignal | undefined;
  readonly log: Logger;
}

export interface BridgeOptions extends ClientOptions, FinderOptions {
  readonly log: Logger;
}

/** Runs the bridge until its client is done. @returns exit code: 0, or 1 where no valid request ever came */
export async function runBridge(options: BridgeOptions): Promise<number> {
  return await serveClient(options, createDaemonFinder(options));
}

/**
 * Serves the client on standard input and output with whatever daemon `finder` opens: over the socket, or in this process.
 * @returns exit code: 0, or 1 where no valid request ever came
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
  return 0;
}
