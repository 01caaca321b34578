/** No command: MCP on standard input and output, as a thin bridge or, with `MEMORY_INDUSTRY_DAEMON=off`, as the whole product. */
import { environment } from "../config/environment.ts";
import { connectionVariables } from "../config/variables.ts";
import { liveOwner } from "../daemon/owner-lock.ts";
import type { DaemonPaths } from "../daemon/paths.ts";
import { startDetached } from "../daemon/start-detached.ts";
import { causeChain, MemoryError, present } from "../kernel/errors.ts";
import { runBridge } from "../transports/bridge.ts";
import { standardInput, standardOutput } from "../transports/process-streams.ts";
import { type ClientOptions, serveClient } from "../transports/stdio.ts";
import { daemonCommand, handshakeLimit, helloOf, type ProcessFacts, processFacts, signalled } from "./process.ts";

/** How long a bridge waits for its daemon: a first start unpacks a database, a migration may take a while. */
const START_LIMIT_MS = 60_000;

/** The environment of a daemon: ours, less what belongs to this connection. */
const daemonEnvironment = () => {
  const connection = new Set(connectionVariables());
  return Object.fromEntries(Object.entries(environment()).filter(([name]) => !connection.has(name)));
};

/** Speaks MCP until the client is done. @returns exit code */
export async function runStdio(): Promise<number> {
  const facts = processFacts();
  try {
    return facts.config.settings.DAEMON.value ? await bridge(facts) : await (await import("./standalone.ts")).runStandalone(facts);
  } catch (error) {
    if (!(error instanceof MemoryError)) facts.log.error("unexpected", { cause: causeChain(error) });
    process.stderr.write(`memory-industry: ${present(error).text}\n`);
    return 1;
  }
}

async function bridge({ config, log, paths }: ProcessFacts): Promise<number> {
  const { settings } = config;
  const client: ClientOptions = {
    input: standardInput(),
    output: standardOutput(),
    handlerTimeoutMs: settings.HANDLER_TIMEOUT_SECS.value * 1_000,
    handshakeLimitMs: handshakeLimit(log),
    stop: signalled(),
    offline: async (reason) => (await import("./offline.ts")).offlineConnection(reason, settings.TOOL_PROFILE.value),
    log,
  };
  let place: DaemonPaths;
  try {
    place = paths();
  } catch (error) {
    return await withoutPlace(client, error);
  }
  return await runBridge({
    ...client,
    socket: place.socket,
    hello: helloOf("bridge", config),
    command: daemonCommand,
    start: (command) => startDetached(command, { paths: place, env: daemonEnvironment() }),
    heir: () => liveOwner(place.lock)?.heir,
    startLimitMs: START_LIMIT_MS,
  });
}

/** No directory for a daemon is known. A client shows a server that ends at once as "failed" and nothing more: so the handshake is answered and each call says why. */
async function withoutPlace(client: ClientOptions, why: unknown): Promise<number> {
  process.stderr.write(`memory-industry: ${present(why).text}\n`);
  await serveClient(client, { open: () => Promise.reject(why), expectHeir: () => {} });
  return 1;
}
