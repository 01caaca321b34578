/** What every way of running this program shares: its own command line, configuration, log and the place of the daemon. Imports nothing heavy. */
import { tmpdir } from "node:os";
import type { GatewayOptions } from "../cli/command.ts";
import { environment, loadProcessConfig } from "../config/environment.ts";
import type { Config } from "../config/load.ts";
import { chooseDatabase } from "../config/modes.ts";
import { requirePath } from "../config/paths.ts";
import { describeVariable, namesOf, variableNames } from "../config/variables.ts";
import { type DaemonPaths, daemonPaths } from "../daemon/paths.ts";
import { embeddedFolder } from "../kernel/embedded.ts";
import { createLogger, type Logger, parseLogLevel } from "../kernel/logger.ts";
import { VERSION } from "../kernel/version.ts";
import type { Hello } from "../transports/frames.ts";
import { readHandshakeLimit } from "../transports/watchdog.ts";

const fromSource = (path: string): string => Bun.fileURLToPath(new URL(`../../${path}`, import.meta.url));

/**
 * Bun by itself reads `.env`, `bunfig.toml` (whose `preload` it runs) and `tsconfig.json` of the directory that it is started in: a client starts us in other
 * people's projects, whose DATABASE_URL is not where memories go. The compiled program is built without; `scripts/with-bun.mjs` says the same to what it runs.
 */
const deafToTheProject = ["--no-env-file", `--config=${fromSource("bunfig.toml")}`, `--tsconfig-override=${fromSource("tsconfig.json")}`];

/** How this program is started again: the executable, or Bun with the source's main file. Needs nothing on PATH. */
export const program: readonly [string, ...string[]] =
  embeddedFolder() === undefined ? [process.execPath, ...deafToTheProject, fromSource("src/main.ts")] : [process.execPath];

/**
 * What a person types for it. PATH decides by name alone: behind an npm or pip shim this very file is not the one that PATH knows.
 * An executable that was only built or copied lies on nobody's PATH. A clone is started as its README says, which is shorter than what a client needs.
 */
export function typedProgram(): readonly [string, ...string[]] {
  if (program.length === 1) return Bun.which("memory-industry") === null ? program : ["memory-industry"];
  return Bun.which("node") === null ? program : ["node", fromSource("scripts/with-bun.mjs"), "run", fromSource("src/main.ts")];
}

/** The command of a daemon that a bridge starts. */
export const daemonCommand: readonly string[] = [...program, "daemon"];

export interface ProcessFacts {
  readonly config: Config;
  readonly log: Logger;
  /** Files of the daemon of this data directory and database. @throws MemoryError where there is no place for them. */
  readonly paths: () => DaemonPaths;
}

/**
 * Reads the configuration of this process; its warnings are the daemon's to tell.
 * @param quiet a person reads standard error: what is merely going on is told only where the log level was set
 */
export function processFacts({ quiet = false } = {}): ProcessFacts {
  const config = loadProcessConfig();
  const filter = config.settings.LOG;
  const level = quiet && filter.layer === "default" ? "warn" : parseLogLevel(filter.value);
  const log = createLogger({ level, write: (line) => void process.stderr.write(`${line}\n`) });
  const paths = () => {
    const choice = chooseDatabase(config);
    return daemonPaths({
      dataDir: requirePath(config.paths, "dataDir"),
      databaseUrl: choice.kind === "postgres" ? choice.url : undefined,
      runtimeDir: config.paths.runtimeDir,
      temporaryDir: tmpdir(),
      platform: process.platform,
      uid: process.getuid?.(),
    });
  };
  return { config, log, paths };
}

/** Settings that are the asking process's own business, although they belong to no connection. */
const ownBusiness = new Set(["LOG", "DAEMON", "HANDSHAKE_TIMEOUT_SECS", "HTTP_ADDR", "IDLE_SHUTDOWN_SECS", "MODELS_URL", "UNDO_DIR"]);
/** Characters of a digest: enough to tell two values apart, useless to guess a secret from. */
const DIGEST_CHARS = 12;

/**
 * A digest of each setting that somebody set and that counts where the daemon runs; two processes whose digests differ were started differently.
 * Defaults are left out: they are the same everywhere, and a bridge pays for each digest. Bun's hasher, since node:crypto costs a bridge 3.5 MB.
 */
export function settingDigests({ settings }: Config): Record<string, string> {
  const digests: Record<string, string> = {};
  for (const key of variableNames) {
    if (describeVariable(key).connection === true || ownBusiness.has(key) || settings[key].layer === "default") continue;
    const value = JSON.stringify(settings[key].value) ?? "unset";
    digests[key] = new Bun.CryptoHasher("sha256").update(`${key}=${value}`).digest("base64url").slice(0, DIGEST_CHARS);
  }
  return digests;
}

/** The project by name: the one that was asked for, else the configured one. A directory that was asked for speaks for itself. */
export const projectOf = ({ settings }: Config, { project, directory }: Partial<GatewayOptions>): string | undefined =>
  project ?? (directory === undefined ? settings.PROJECT.value : undefined);

/** The greeting of this process: what belongs to its connection. */
export function helloOf(kind: Hello["kind"], config: Config, options: Partial<GatewayOptions> = {}): Hello {
  const { settings } = config;
  return {
    kind,
    version: VERSION,
    connection: crypto.randomUUID(),
    label: settings.CLIENT_ID.value,
    project: projectOf(config, options),
    syncDir: undefined,
    profile: settings.TOOL_PROFILE.value,
    directory: options.directory ?? workingDirectory(),
    settings: settingDigests(config),
  };
}

/** The working directory; undefined where it has been deleted under us. */
function workingDirectory(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}

/**
 * How long a client may take for its first valid request, milliseconds; undefined = for ever. Read from the text itself: unlike a setting that
 * must fit a range, any whole number counts here (`tools-maintenance.md` §17.3).
 */
export function handshakeLimit(log: Logger): number | undefined {
  const set = environment();
  const [first = "", ...others] = namesOf("HANDSHAKE_TIMEOUT_SECS");
  const name = [first, ...others].find((candidate) => (set[candidate] ?? "").trim() !== "") ?? first;
  const { limitMs, warning } = readHandshakeLimit(name, set[name]);
  if (warning !== undefined) log.warn(warning);
  return limitMs;
}

/** Fires on SIGINT and SIGTERM; a second signal ends the process at once. */
export function signalled(): AbortSignal {
  const stop = new AbortController();
  let seen = 0;
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.on(name, () => {
      if (++seen > 1) process.exit(130);
      stop.abort();
    });
  return stop.signal;
}
