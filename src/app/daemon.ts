/** The daemon as this program runs it: configuration in, exit code out. */
import type { ServeOptions } from "../cli/command.ts";
import { environment } from "../config/environment.ts";
import { findAdoptedSocket } from "../daemon/activation.ts";
import { createEventBus } from "../daemon/events.ts";
import { runDaemon } from "../daemon/run.ts";
import { serve } from "../daemon/serve.ts";
import { unavailable } from "../kernel/errors.ts";
import { showAddress } from "../kernel/kinds.ts";
import { VERSION } from "../kernel/version.ts";
import { openAssets } from "./assets.ts";
import { compose } from "./compose.ts";
import { daemonCommand, type ProcessFacts, processFacts, program, settingDigests, signalled } from "./process.ts";

/** Time without clients after which a daemon that a bridge started ends itself, seconds (`design.md` §3). */
const AUTO_IDLE_SECS = 600;

/** The daemon that a bridge starts: local socket, no port, ends when idle. @returns exit code */
export async function runAutoDaemon(): Promise<number> {
  const { config, log, paths } = processFacts();
  const idleSecs = config.settings.IDLE_SHUTDOWN_SECS.value ?? AUTO_IDLE_SECS;
  return await runDaemon({
    paths: paths(),
    version: VERSION,
    command: daemonCommand,
    door: "auto",
    compose: () => compose({ config, assets: openAssets(), log, servesHttp: false, consolidates: true }),
    settings: settingDigests(config),
    idleShutdownMs: idleSecs === 0 ? undefined : idleSecs * 1_000,
    beforeIdleStop: (app) => app.beforeIdleStop(),
    stop: signalled(),
    stderr: (line) => void process.stderr.write(`${line}\n`),
    log,
  });
}

/**
 * `serve` by a person or a service unit: the port, then the same daemon. Resolves when it was told to stop.
 * @throws MemoryError with the reason where it could not start.
 */
export async function runServe({ config, log, paths }: ProcessFacts, options: ServeOptions, stop: AbortSignal): Promise<void> {
  const { settings } = config;
  const { address, onReady } = options;
  const idleSecs = settings.IDLE_SHUTDOWN_SECS.value ?? 0;
  const events = createEventBus();
  let reason = "the daemon could not start; its log on standard error says why.";
  const code = await serve({
    paths: paths(),
    version: VERSION,
    command: [...program, "serve", showAddress(address)],
    compose: () => compose({ config, assets: openAssets(), log, servesHttp: true, consolidates: true, publish: events.publish }),
    settings: settingDigests(config),
    idleShutdownMs: idleSecs === 0 ? undefined : idleSecs * 1_000,
    beforeIdleStop: (app) => app.beforeIdleStop(),
    stop,
    stderr: (line) => {
      reason = line.replace(/^memory-industry[^:]*: /, "");
    },
    log,
    http: {
      address,
      adopted: findAdoptedSocket({ listenPid: environment().LISTEN_PID, listenFds: environment().LISTEN_FDS }),
      version: VERSION,
      adminToken: settings.HTTP_TOKEN.value,
      peerToken: undefined,
      allowedHosts: settings.HTTP_ALLOWED_HOSTS.value,
      allowedOrigins: settings.HTTP_ALLOWED_ORIGINS.value,
      handlerTimeoutMs: settings.HANDLER_TIMEOUT_SECS.value * 1_000,
      events,
      log,
    },
    ...(onReady === undefined ? {} : { onReady }),
  });
  if (code !== 0) throw unavailable(reason);
}
