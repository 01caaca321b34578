/** The life of a daemon: own the directory, open the doors, compose, serve, and leave without losing anything (`cli-daemon.md` §4.1, §4.9). */
import { fstatSync, ftruncateSync, rmSync } from "node:fs";
import { causeChain, MemoryError, present } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Bye, Question } from "../transports/frames.ts";
import { type Activity, createActivity } from "./activity.ts";
import { collectAfterCalls } from "./garbage.ts";
import { watchIdle } from "./idle.ts";
import { ANSWER_WITHIN_MS, drainAndClose, within } from "./leave.ts";
import { type LocalServer, serveLocal } from "./local-server.ts";
import type { OwnerLock } from "./owner-lock.ts";
import { OWNER_LEAVES_WITHIN_MS, takeOwnership } from "./ownership.ts";
import type { DaemonPaths } from "./paths.ts";
import { preparePrivateDir } from "./private-directory.ts";
import type { ServedApp } from "./served-app.ts";
import { lastWordsMark } from "./start-detached.ts";

/** The log of an auto-started daemon is emptied at this size: disk use stays bounded however long it lives. */
const LOG_LIMIT_BYTES = 8 * 1024 * 1024;
const LOG_LOOK_EVERY_MS = 60_000;

export interface DaemonOptions {
  readonly paths: DaemonPaths;
  readonly version: string;
  /** How this daemon was started; bridges of an older version start it again so. */
  readonly command: readonly string[];
  /** `auto`: started by a bridge, local socket only. Else the port that a person's `serve` has opened. */
  readonly door: "auto" | Door;
  /** Opens database and services. Rejects only where starting makes no sense (width mismatch, refused database); a database that is merely away does not. */
  readonly compose: () => Promise<ServedApp>;
  /** Digests of the settings that are this process's business; bridges are told where theirs differ. */
  readonly settings: Readonly<Record<string, string>>;
  /** undefined = never. */
  readonly idleShutdownMs: number | undefined;
  /** Runs before an idle stop, bounded by its own limits (a consolidation cycle that is overdue). */
  readonly beforeIdleStop?: ((app: ServedApp) => Promise<void>) | undefined;
  /** SIGINT or SIGTERM. */
  readonly stop: AbortSignal;
  /** The one line that says why it cannot start. */
  readonly stderr: (line: string) => void;
  readonly log: Logger;
}

/** What every door shares. */
export interface House {
  readonly app: Promise<ServedApp>;
  readonly activity: Activity;
  /** Everybody who is connected to the local socket. */
  readonly local: () => ReturnType<LocalServer["clients"]>;
  readonly startedAt: number;
}

/** An open port. It was bound before anything touched the database; requests wait for `open`. */
export interface Door {
  /** `127.0.0.1:8787` */
  readonly address: string;
  readonly url: string;
  open(house: House): void;
  /** Takes no more requests; ends event streams at once. */
  dismiss(): void;
  /** Closes what is still open. */
  close(): Promise<void>;
}

interface Reason {
  readonly bye: Bye["reason"];
  readonly why: string;
  /** What made it unable to go on. */
  readonly fault?: MemoryError;
}

/** Runs a daemon until it is told to stop, is idle, makes room or cannot start or go on. @returns exit code 0, or 1 where it could not */
export async function runDaemon(options: DaemonOptions): Promise<number> {
  const { door, log } = options;
  try {
    const address = door === "auto" ? "auto" : door.address;
    const owning = await takeOwnership({ ...options, address, waitMs: OWNER_LEAVES_WITHIN_MS });
    if (owning.kind === "owned") return await live(options, owning.lock);
    log.info(owning.kind === "served" ? "another daemon answers; not needed" : "stopped before it started");
    return 0;
  } catch (error) {
    return fail(options, error);
  } finally {
    if (door !== "auto") await door.close();
  }
}

function fail({ stderr, log }: DaemonOptions, error: unknown): number {
  log.debug("cannot start or go on", { cause: causeChain(error) });
  stderr(`${lastWordsMark(process.pid)}${present(error).text}`);
  return 1;
}

async function live(options: DaemonOptions, lock: OwnerLock): Promise<number> {
  const { paths, door, log, version } = options;
  const leaving = Promise.withResolvers<Reason>();
  const activity = createActivity();
  let local: LocalServer | undefined;
  try {
    // A socket file without an owner is a dead one's: the lock is ours, so nobody can be listening.
    if (paths.socketDir !== undefined) preparePrivateDir(paths.socketDir);
    if (process.platform !== "win32") rmSync(paths.socket, { force: true });
    const app = options.compose();
    app.catch(() => {});
    const startedAt = performance.now();
    const house: House = { app, activity, local: () => local?.clients() ?? [], startedAt };
    local = serveLocal({
      path: paths.socket,
      mcp: app.then(({ mcp }) => mcp),
      facts: { version, pid: process.pid, owner: door === "auto" ? "auto" : "serve", command: options.command },
      settings: options.settings,
      activity,
      answer: answers(options, house, lock, leaving.resolve),
      log,
    });
    if (door !== "auto") door.open(house);
    return await serve(options, house, local, leaving);
  } finally {
    await local?.close(0);
    lock.release();
  }
}

async function serve(options: DaemonOptions, house: House, local: LocalServer, leaving: PromiseWithResolvers<Reason>): Promise<number> {
  const { stop, door, log, idleShutdownMs: windowMs } = options;
  const { activity } = house;
  const onStop = () => leaving.resolve({ bye: "stop", why: "signal" });
  if (stop.aborted) onStop();
  stop.addEventListener("abort", onStop, { once: true });

  const composed = await Promise.race([
    house.app.then(
      (app) => ({ app }),
      (error: unknown) => ({ error }),
    ),
    leaving.promise.then(() => undefined),
  ]);
  if (composed !== undefined && "error" in composed) {
    // The local server has told everybody who waited.
    return fail(options, composed.error);
  }
  void composed?.app.broken?.then((fault) => leaving.resolve({ bye: "stop", why: "fault", fault }));
  if (composed !== undefined)
    log.info("listening", { address: door === "auto" ? options.paths.socket : door.url, pid: process.pid, ready: true });
  using _log = door === "auto" ? boundLog() : undefined;
  using _garbage = collectAfterCalls(activity);
  using _idle =
    windowMs === undefined
      ? undefined
      : watchIdle({ windowMs, ...idleness(options, house, local), onIdle: () => leaving.resolve({ bye: "stop", why: "idle" }) });

  const reason = await leaving.promise;
  stop.removeEventListener("abort", onStop);
  log.info("stopping", { why: reason.why });
  local.dismiss(reason.bye);
  if (door !== "auto") door.dismiss();
  await activity.settled(ANSWER_WITHIN_MS);
  await local.close(0);
  if (door !== "auto") await door.close();
  // Nothing can be drained into a database that has stopped, and nothing of it can be closed.
  if (reason.fault !== undefined) return fail(options, reason.fault);
  const app =
    composed?.app ??
    (await within(
      ANSWER_WITHIN_MS,
      house.app.catch(() => undefined),
    ));
  if (app !== undefined) await drainAndClose(app, log);
  return 0;
}

function idleness({ beforeIdleStop, log }: DaemonOptions, { activity, app }: House, local: LocalServer) {
  const before = async () => {
    try {
      await beforeIdleStop?.(await app);
    } catch (error) {
      log.warn("the work that was due before an idle stop failed", { cause: causeChain(error) });
    }
  };
  return { bridges: () => local.bridges, idleMs: () => activity.idleMs(), before };
}

/** What the local socket answers besides tools. */
function answers(options: DaemonOptions, house: House, lock: OwnerLock, leave: (reason: Reason) => void) {
  return async (question: Question, askerVersion: string): Promise<unknown> => {
    switch (question) {
      case "status": {
        const { pid, version, address, since } = lock.record;
        const uptimeSecs = Math.round((performance.now() - house.startedAt) / 1000);
        return {
          pid,
          version,
          address,
          since,
          uptimeSecs,
          inFlight: house.activity.inFlight,
          served: house.activity.served,
          clients: house.local(),
        };
      }
      case "health":
        return await (await house.app).health();
      case "drain":
        if (options.door !== "auto")
          throw new MemoryError("refused", `This serve (pid ${process.pid}) was started by a person and is not ended for another program.`);
        lock.update({ heir: askerVersion });
        // After the answer: it must reach the asker before its connection ends.
        setTimeout(() => leave({ bye: "handover", why: "handover" }), 0);
        return { draining: true };
    }
  };
}

/** Keeps the log of a detached daemon small; a terminal, a pipe and the service manager's journal are not ours to cut. */
function boundLog(): Disposable {
  const STDERR = 2;
  const timer = setInterval(() => {
    try {
      const stat = fstatSync(STDERR);
      if (stat.isFile() && stat.size > LOG_LIMIT_BYTES) ftruncateSync(STDERR, 0);
    } catch {
      // A closed descriptor: nothing to bound.
    }
  }, LOG_LOOK_EVERY_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
