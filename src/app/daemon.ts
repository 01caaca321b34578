/** The daemon as this program runs it: configuration in, exit code out. */
import { runDaemon } from "../daemon/run.ts";
import { VERSION } from "../kernel/version.ts";
import { openAssets } from "./assets.ts";
import { compose } from "./compose.ts";
import { daemonCommand, processFacts, settingDigests, signalled } from "./process.ts";

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
    compose: () => compose({ config, assets: openAssets(), log, servesHttp: false }),
    settings: settingDigests(config),
    idleShutdownMs: idleSecs === 0 ? undefined : idleSecs * 1_000,
    stop: signalled(),
    stderr: (line) => void process.stderr.write(`${line}\n`),
    log,
  });
}
export async function runServe(..._args: unknown[]): Promise<void> {}
