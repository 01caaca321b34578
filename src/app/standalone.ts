/** Everything in one process: no bridge, no shared daemon (`MEMORY_INDUSTRY_DAEMON=off`). */

import { drainAndClose } from "../daemon/leave.ts";
import { OWNER_LEAVES_WITHIN_MS, takeOwnership } from "../daemon/ownership.ts";
import { VERSION } from "../kernel/version.ts";
import { standardInput, standardOutput } from "../transports/process-streams.ts";
import { serveStdio } from "../transports/stdio.ts";
import { openAssets } from "./assets.ts";
import { compose } from "./compose.ts";
import { type ProcessFacts, signalled } from "./process.ts";

/** Serves this one client. @returns exit code. @throws MemoryError where somebody else owns the data directory or it does not open. */
export async function runStandalone({ config, log, paths }: ProcessFacts): Promise<number> {
  const { settings } = config;
  const stop = signalled();
  const owning = await takeOwnership({ paths: paths(), version: VERSION, address: "alone", waitMs: OWNER_LEAVES_WITHIN_MS, stop, log });
  if (owning.kind !== "owned") return 0;
  try {
    const app = await compose({ config, assets: openAssets(), log, servesHttp: false });
    const handshakeSecs = settings.HANDSHAKE_TIMEOUT_SECS.value;
    const ended = await serveStdio({
      input: standardInput(),
      output: standardOutput(),
      connect: (send) =>
        app.mcp.connect(
          {
            transport: "stdio",
            principal: { kind: "owner" },
            label: settings.CLIENT_ID.value,
            machine: undefined,
            protocolSession: undefined,
            project: settings.PROJECT.value,
            directory: process.cwd(),
            profile: settings.TOOL_PROFILE.value,
          },
          send,
        ),
      handlerTimeoutMs: settings.HANDLER_TIMEOUT_SECS.value * 1_000,
      handshakeLimitMs: handshakeSecs === 0 ? undefined : handshakeSecs * 1_000,
      stop,
      log,
    });
    await drainAndClose(app, log);
    return ended === "no-handshake" ? 1 : 0;
  } finally {
    owning.lock.release();
  }
}
