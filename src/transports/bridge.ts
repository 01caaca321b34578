/**
 * The process behind an editor window: standard input and output on one side, the daemon's local socket on the other.
 * It must stay small, so nothing heavy may be imported here, also not through another file (`test/transports/bridge-imports.test.ts`).
 */
import type { Logger } from "../kernel/logger.ts";
import { createDaemonFinder, type FinderOptions } from "./find-daemon.ts";
import { type ClientOptions, serveClient } from "./stdio.ts";

export interface BridgeOptions extends ClientOptions, FinderOptions {
  readonly log: Logger;
}

/** Runs the bridge until its client is done. @returns exit code: 0, or 1 where no valid request ever came */
export async function runBridge(options: BridgeOptions): Promise<number> {
  return await serveClient(options, createDaemonFinder(options));
}
