/** No command: MCP on standard input and output, as a thin bridge or, with `MEMORY_INDUSTRY_DAEMON=off`, as the whole product. */
import type { DaemonPaths } from "../daemon/paths.ts";
import { causeChain, MemoryError, present } from "../kernel/errors.ts";
import { runBridge } from "../transports/bridge.ts";
import { standardInput, standardOutput } from "../transports/process-streams.ts";
import { type ClientOptions, serveClient } from "../transports/stdio.ts";
import { finderOf } from "./find-daemon.ts";
import { handshakeLimit, helloOf, type ProcessFacts, processFacts, signalled } from "./process.ts";

/** For a person who typed the name alone: a program that waits without a word looks like one that hangs. */
const AT_A_TERMINAL =
  "Waiting for MCP on standard input: clients start this program by themselves. --help lists the commands for people; Ctrl-C ends this.\n";

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
  if (process.stdin.isTTY === true) process.stderr.write(AT_A_TERMINAL);
  let place: DaemonPaths;
  try {
    place = paths();
  } catch (error) {
    return await withoutPlace(client, error);
  }
  return await runBridge({
    ...client,
    ...finderOf(place, helloOf("bridge", config)),
  });
}

/** No directory for a daemon is known. A client shows a server that ends at once as "failed" and nothing more: so the handshake is answered and each call says why. */
async function withoutPlace(client: ClientOptions, why: unknown): Promise<number> {
  process.stderr.write(`memory-industry: ${present(why).text}\n`);
  await serveClient(client, { open: () => Promise.reject(why), expectHeir: () => {} });
  return 1;
}
