/** How a starting process comes to own its data directory, or learns that somebody else does. */
import { MemoryError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { linkTo } from "../transports/daemon-link.ts";
import type { Hello } from "../transports/frames.ts";
import { acquireOwnerLock, type OwnerLock, type OwnerRecord } from "./owner-lock.ts";
import type { DaemonPaths } from "./paths.ts";
import { prepareDataDir } from "./private-directory.ts";

export interface OwnershipRequest {
  readonly paths: DaemonPaths;
  readonly version: string;
  /** `auto`, `alone`, or the address a `serve` listens on. */
  readonly address: string;
  /** Milliseconds to wait for an owner that is on its way out. */
  readonly waitMs: number;
  readonly stop: AbortSignal;
  readonly log: Logger;
}

/** `served`: a living daemon answers on the socket, so an auto-started one is not needed. */
export type Ownership = { readonly kind: "owned"; readonly lock: OwnerLock } | { readonly kind: "served" } | { readonly kind: "stopped" };

/** A draining owner ends within 30 s (`cli-daemon.md` §4.9). */
export const OWNER_LEAVES_WITHIN_MS = 40_000;

const LOOK_EVERY_MS = 50;
const PROBE_LIMIT_MS = 2_000;

/**
 * Takes the lock; waits for an owner that goes. An auto-started daemon yields to any that answers; a `serve` asks an auto-started one to make room.
 * @throws MemoryError `conflict` naming pid and address of the owner that stays
 */
export async function takeOwnership(request: OwnershipRequest): Promise<Ownership> {
  const { paths, log } = request;
  prepareDataDir(paths.dataDir);
  const until = performance.now() + request.waitMs;
  let asked = false;
  for (;;) {
    if (request.stop.aborted) return { kind: "stopped" };
    const got = await acquireOwnerLock({ paths, version: request.version, address: request.address });
    if (got.kind === "owned") {
      const { previous } = got.lock;
      if (previous !== undefined)
        log.warn("took over the data directory of a dead owner", { pid: previous.pid, version: previous.version, since: previous.since });
      return got;
    }
    if (request.address === "auto") {
      if (await answers(request)) return { kind: "served" };
    } else {
      if (stays(got.owner, request.address)) throw owned(got.owner, paths.dataDir);
      if (!asked && request.address !== "alone") asked = await makeRoom(request);
    }
    if (performance.now() > until) throw owned(got.owner, paths.dataDir);
    await Bun.sleep(LOOK_EVERY_MS);
  }
}

/** True for an owner that does not go for us: a person's `serve`, or for a single process any daemon. */
function stays(owner: OwnerRecord | undefined, asker: string): boolean {
  if (owner === undefined) return false;
  return asker === "alone" ? owner.address !== "alone" : owner.address !== "auto";
}

async function answers({ paths, version }: OwnershipRequest): Promise<boolean> {
  const found = await linkTo(paths.socket, helloOf(version), PROBE_LIMIT_MS);
  if (found.kind !== "linked") return false;
  // A daemon that is being told to go still answers those who came before.
  found.link.abort();
  return true;
}

/** Asks an auto-started daemon to drain and hand over. True where it agreed. */
async function makeRoom({ paths, version, log }: OwnershipRequest): Promise<boolean> {
  const found = await linkTo(paths.socket, helloOf(version), PROBE_LIMIT_MS);
  if (found.kind !== "linked") return false;
  try {
    await found.link.ask("drain", version);
    log.info("the auto-started daemon makes room", { pid: found.link.welcome.pid });
    return true;
  } catch (error) {
    log.debug("the running daemon did not agree to make room", { reason: error instanceof Error ? error.message : String(error) });
    return false;
  } finally {
    found.link.abort();
  }
}

const helloOf = (version: string): Hello => ({
  kind: "cli",
  version,
  connection: "",
  label: undefined,
  project: undefined,
  syncDir: undefined,
  profile: undefined,
  directory: undefined,
  settings: {},
});

function owned(owner: OwnerRecord | undefined, dataDir: string): MemoryError {
  const who =
    owner === undefined
      ? "another process"
      : `process ${owner.pid} (version ${owner.version}, ${addressWords(owner.address)}, since ${owner.since})`;
  return new MemoryError(
    "conflict",
    `The data directory ${dataDir} belongs to ${who}, which is alive; nothing was started or written. Use that one, end that process first, or set CUBA_DATA_DIR to another directory.`,
  );
}

const addressWords = (address: string) =>
  address === "auto"
    ? "a daemon started by a bridge"
    : address === "alone"
      ? "started with MEMORY_INDUSTRY_DAEMON=off"
      : `listening on ${address}`;
