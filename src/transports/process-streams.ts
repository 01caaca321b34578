/** Standard input and output of this process as the streams the transports take. */
import type { ByteSink } from "./lines.ts";

/** The bytes that come in on standard input. Works on pipes (also non-blocking ones), sockets, files and a closed descriptor. */
export const standardInput = (): ReadableStream<Uint8Array> => Bun.stdin.stream();

/** Writes to standard output without blocking the event loop; rejects once nobody reads it any more. */
export function standardOutput(): ByteSink {
  const sink = Bun.stdout.writer();
  return async (text) => {
    await sink.write(text);
    await sink.flush();
  };
}
