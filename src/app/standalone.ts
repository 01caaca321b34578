/** Everything in one process: no bridge, no shared daemon (`MEMORY_INDUSTRY_DAEMON=off`). */
import { drainAndClose } from "../daemon/leave.ts";
import type { OwnerLock } from "../daemon/owner-lock.ts";
import { takeOwnership } from "../daemon/ownership.ts";
import type { ServedApp } from "../daemon/served-app.ts";
import { cleanLabel } from "../domain/names.ts";
import { cancelled, present } from "../kernel/errors.ts";
import { VERSION } from "../kernel/version.ts";
import { linkInProcess } from "../transports/in-process.ts";
import { standardInput, standardOutput } from "../transports/process-streams.ts";
import { serveClient } from "../transports/stdio.ts";
import { openAssets } from "./assets.ts";
import { compose } from "./compose.ts";
import { offlineConnection } from "./offline.ts";
import { handshakeLimit, type ProcessFacts, signalled } from "./process.ts";

/** Share of a call's time that is spent waiting for another owner to leave: the rest is for saying who it is. */
const WAIT_SHARE = 0.8;

/**
 * Serves this one client. The handshake is answered at once; lock and database are taken with the first call that needs them.
 * @returns exit code: 1 where no valid request came, or nothing could be opened
 */
export async function runStandalone({ config, log, paths }: ProcessFacts): Promise<number> {
  const { settings } = config;
  const broken = new AbortController();
  const stop = AbortSignal.any([signalled(), broken.signal]);
  const handlerTimeoutMs = settings.HANDLER_TIMEOUT_SECS.value * 1_000;
  let lock: OwnerLock | undefined;
  let app: ServedApp | undefined;
  let refusal: string | undefined;
  const connection = crypto.randomUUID();

  const own = async () => {
    const owning = await takeOwnership({
      paths: paths(),
      version: VERSION,
      address: "alone",
      waitMs: WAIT_SHARE * handlerTimeoutMs,
      stop,
      log,
    });
    if (owning.kind !== "owned") throw cancelled();
    return owning.lock;
  };
  const open = async () => {
    try {
      // A database server has no single owner: several such processes may use it at once.
      if (paths().guardedDir !== undefined) lock ??= await own();
      const composed = await compose({ config, assets: openAssets(), log, servesHttp: false, consolidates: true });
      app = composed;
      refusal = undefined;
      void composed.broken?.then((fault) => {
        refusal = present(fault).text;
        broken.abort();
      });
      const label = cleanLabel(settings.CLIENT_ID.value ?? "");
      const peer = {
        transport: "stdio",
        principal: { kind: "owner" },
        label,
        machine: undefined,
        // Every window of a program gives itself the same name: without a label it would take up the session, project and notes of another window.
        protocolSession: label === "" ? connection : undefined,
        project: settings.PROJECT.value,
        directory: process.cwd(),
        profile: settings.TOOL_PROFILE.value,
      } as const;
      return linkInProcess(VERSION, (send) => composed.mcp.connect(peer, send));
    } catch (error) {
      refusal = present(error).text;
      throw error;
    }
  };
  try {
    const code = await serveClient(
      {
        input: standardInput(),
        output: standardOutput(),
        offline: async (reason) => offlineConnection(reason, settings.TOOL_PROFILE.value),
        handlerTimeoutMs,
        handshakeLimitMs: handshakeLimit(log),
        stop,
        log,
      },
      { open, expectHeir: () => {} },
    );
    if (refusal !== undefined) process.stderr.write(`memory-industry: ${refusal}\n`);
    return refusal === undefined ? code : 1;
  } finally {
    if (app !== undefined && !broken.signal.aborted) await drainAndClose(app, log);
    lock?.release();
  }
}
