/** Finds the daemon of a data directory, or has one started and waits until it answers (`cli-daemon.md` §3.1). */
import { unavailable } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { type DaemonLink, linkTo } from "./daemon-link.ts";
import type { Hello } from "./frames.ts";
import { compareVersions } from "./versions.ts";

/** A daemon process that we started and do not wait for. */
export interface StartedDaemon {
  readonly pid: number;
  /** undefined while it runs; `killed` where a signal ended it. */
  exitCode(): number | "killed" | undefined;
  /** What it said about why it ended. */
  reason(): string | undefined;
}

export interface FinderOptions {
  readonly socket: string;
  readonly hello: Hello;
  /** The command that starts a daemon of our own version. */
  readonly command: readonly string[];
  /** Starts one detached. @throws MemoryError where not even that works (data directory not writable) */
  readonly start: (command: readonly string[]) => StartedDaemon;
  /** Version that a draining owner makes room for; undefined where none does. */
  readonly heir: () => string | undefined;
  /** Milliseconds until we give up waiting for a daemon to answer. */
  readonly startLimitMs: number;
  readonly log: Logger;
}

export interface DaemonFinder {
  /** A link to a running daemon. @throws MemoryError `unavailable` with the reason, for a person */
  open(): Promise<DaemonLink>;
  /** The daemon said that it makes room for a newer version: that one is waited for before our own is started. */
  expectHeir(): void;
}

/** Pauses between two tries: a daemon binds its socket some 50 ms after its start, and later ones (a drain) are worth no hurry. */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 100;

/** A daemon that was started and ended well lost a race; the winner gets this long before another is started. */
const RESTART_PAUSE_MS = 500;

/** A daemon that somebody kills while it starts is started again, but not for ever: the system may be killing it for want of memory. */
const MAX_STARTS = 5;

/** A draining daemon ends within 30 s (`cli-daemon.md` §4.9); its heir then starts. */
const HEIR_LIMIT_MS = 45_000;

/** How long a daemon may take for its welcome: it answers before its database is open, so only a stopped one needs longer. */
const WELCOME_LIMIT_MS = 5_000;

export function createDaemonFinder(options: FinderOptions): DaemonFinder {
  const { hello, log } = options;
  let command = options.command;
  let heirUntil = 0;
  let handedOver = false;
  const warned = new Set<string>();
  const warnOnce = (text: string) => {
    if (!warned.has(text)) log.warn(text);
    warned.add(text);
  };

  /** Asks an older, auto-started daemon to make room; at most once in the life of this process. True where the link is to be opened anew. */
  const handOver = async (link: DaemonLink): Promise<boolean> => {
    const { version, owner, pid } = link.welcome;
    const order = compareVersions(hello.version, version);
    if (order < 0) command = link.welcome.command.length > 0 ? link.welcome.command : command;
    if (order <= 0) return false;
    if (owner === "serve") {
      warnOnce(`the running serve (pid ${pid}) is version ${version}, this program is ${hello.version}; restart it when it suits you`);
      return false;
    }
    if (handedOver) return false;
    handedOver = true;
    log.info("asking the older daemon to make room", { pid, from: version, to: hello.version });
    try {
      await link.ask("drain", hello.version);
    } catch (error) {
      warnOnce(`the running daemon (pid ${pid}, version ${version}) goes on: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([link.closed, new Promise<void>((resolve) => (timer = setTimeout(resolve, HEIR_LIMIT_MS)))]);
    clearTimeout(timer);
    link.abort();
    return true;
  };

  const open = async (): Promise<DaemonLink> => {
    const started = performance.now();
    const starter = createStarter(options.start, () => command);
    let sawSilent = false;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(LONGEST_PAUSE_MS, pause * 1.5)) {
      const found = await linkTo(options.socket, hello, WELCOME_LIMIT_MS);
      if (found.kind === "linked") {
        if (await handOver(found.link)) continue;
        heirUntil = 0;
        const { differs, pid } = found.link.welcome;
        if (differs.length > 0) warnOnce(`the daemon (pid ${pid}) was started with other values of ${differs.join(", ")}; its own count`);
        const ready = await becomesReady(found.link, started + options.startLimitMs - performance.now());
        if (ready === "ready") return found.link;
        found.link.abort();
        if (ready === "late") throw unavailable(giveUpText(false, options));
        continue;
      }
      sawSilent = found.kind === "silent";
      if (found.kind === "absent" && !isHeirExpected()) starter.ensure();
      if (performance.now() - started > options.startLimitMs) throw unavailable(giveUpText(sawSilent, options));
      await Bun.sleep(pause);
    }
  };
  const isHeirExpected = () => {
    const heir = options.heir();
    return performance.now() < heirUntil || (heir !== undefined && compareVersions(hello.version, heir) < 0);
  };
  return {
    open,
    expectHeir() {
      heirUntil = performance.now() + HEIR_LIMIT_MS;
    },
  };
}

/** `lost`: the daemon was killed while it started; another will be. @throws MemoryError with the daemon's reason where it cannot start */
async function becomesReady(link: DaemonLink, limitMs: number): Promise<"ready" | "late" | "lost"> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), limitMs);
  });
  const lost = link.closed.then(() => "lost" as const);
  const ready = link.ready.then(
    () => "ready" as const,
    (error: unknown) => {
      if (link.farewell()?.reason === "failed") throw error;
      return lost;
    },
  );
  try {
    return await Promise.race([ready, late]);
  } finally {
    clearTimeout(timer);
  }
}

function createStarter(start: FinderOptions["start"], command: () => readonly string[]) {
  let child: StartedDaemon | undefined;
  let startedAt = 0;
  let starts = 0;
  return {
    /** Starts a daemon unless ours is on its way. @throws MemoryError with what ours said when it failed */
    ensure() {
      const code = child?.exitCode();
      if (child !== undefined && code === undefined) return;
      const isKilled = code === "killed" && starts < MAX_STARTS;
      if (child !== undefined && code !== 0 && !isKilled) {
        throw unavailable(
          child.reason() ??
            `The memory daemon ended (${code === "killed" ? "killed" : `exit code ${code}`}) before it was ready; nothing was written. Run 'memory-industry doctor'.`,
        );
      }
      if (child !== undefined && !isKilled && performance.now() - startedAt < RESTART_PAUSE_MS) return;
      child = start(command());
      starts++;
      startedAt = performance.now();
    },
  };
}

const giveUpText = (silent: boolean, { startLimitMs }: FinderOptions) =>
  silent
    ? `The memory daemon holds its data directory and has not answered for ${Math.round(startLimitMs / 1000)} s (stopped, or overloaded); nothing was written. 'memory-industry doctor' names its process.`
    : `No memory daemon answered within ${Math.round(startLimitMs / 1000)} s; nothing was written. Run 'memory-industry doctor'.`;
