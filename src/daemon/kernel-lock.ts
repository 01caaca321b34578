/**
 * A lock that the kernel holds for as long as the process lives, and gives back at its death however it dies.
 * Unix: flock(2) through bun:ffi. Windows: the first instance of a named pipe, which is exclusive for the same time. `docs/decisions/0050-owner-lock.md`.
 */
import { closeSync, constants, fstatSync, openSync, statSync } from "node:fs";
import { MemoryError } from "../kernel/errors.ts";

const LOCK_EX = 2;
const LOCK_NB = 4;

/** EWOULDBLOCK: 11 on Linux, 35 on macOS. */
const WOULD_BLOCK: readonly number[] = [11, 35];

type Flock = (descriptor: number, operation: number) => number;
interface Native {
  readonly flock: Flock;
  readonly errno: () => number;
}

let native: Native | undefined;

async function loadNative(): Promise<Native> {
  if (native !== undefined) return native;
  const { dlopen, read } = await import("bun:ffi");
  const mac = process.platform === "darwin";
  const errnoAt = mac ? "__error" : "__errno_location";
  let failure: unknown;
  for (const library of mac
    ? ["libSystem.B.dylib"]
    : ["libc.so.6", "libc.so", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`]) {
    try {
      const { symbols } = dlopen(library, {
        flock: { args: ["i32", "i32"], returns: "i32" },
        [errnoAt]: { args: [], returns: "ptr" },
      });
      const { flock, [errnoAt]: where } = symbols;
      if (flock === undefined || where === undefined) continue;
      native = {
        flock: (descriptor, operation) => Number(flock(descriptor, operation)),
        errno: () => {
          const address = where();
          return typeof address === "number" && address !== 0 ? read.i32(address) : 0;
        },
      };
      return native;
    } catch (error) {
      failure = error;
    }
  }
  throw new MemoryError(
    "unavailable",
    "The system's library has no flock, so the data directory cannot be locked; nothing was written. With DATABASE_URL set, MEMORY_INDUSTRY_DAEMON=off needs no lock.",
    { cause: failure },
  );
}

export interface KernelLock {
  /** Descriptor of the locked file; undefined on Windows. */
  readonly descriptor: number | undefined;
  unlock(): void;
}

/**
 * Locks a file (made 0600 where there is none) or an existing directory; `held` where a living process has it.
 * @throws MemoryError `unavailable` where the file system cannot lock or the file cannot be opened
 */
export async function tryLockFile(path: string, kind: "file" | "directory"): Promise<KernelLock | "held"> {
  const { flock, errno } = await loadNative();
  for (;;) {
    const descriptor = open(path, kind);
    if (flock(descriptor, LOCK_EX | LOCK_NB) !== 0) {
      const failure = errno();
      closeSync(descriptor);
      if (WOULD_BLOCK.includes(failure)) return "held";
      throw new MemoryError(
        "unavailable",
        `The file system of ${path} cannot lock files (errno ${failure}); nothing was written. Put the data directory on a local disk (CUBA_DATA_DIR).`,
      );
    }
    // The file may have been deleted by its last owner between open and lock: a lock on what has no name would be worth nothing.
    if (isSameFile(descriptor, path)) return { descriptor, unlock: () => closeSync(descriptor) };
    closeSync(descriptor);
  }
}

/** Takes the pipe name; `held` where a living process has it. Windows only. */
export function tryLockPipe(name: string): KernelLock | "held" {
  try {
    const listener = Bun.listen({ unix: name, socket: { data() {}, open: (socket) => void socket.end() } });
    return { descriptor: undefined, unlock: () => listener.stop(true) };
  } catch {
    return "held";
  }
}

function open(path: string, kind: "file" | "directory"): number {
  const flags = kind === "directory" ? constants.O_RDONLY : constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
  try {
    return openSync(path, flags, 0o600);
  } catch (error) {
    throw new MemoryError(
      "unavailable",
      `${path} cannot be opened; nothing was written. Check who owns it, or set CUBA_DATA_DIR to another directory.`,
      { cause: error },
    );
  }
}

/** True while the open file is still the one of that name. */
export function isSameFile(descriptor: number, path: string): boolean {
  try {
    const ours = fstatSync(descriptor);
    const named = statSync(path);
    return ours.ino === named.ino && ours.dev === named.dev;
  } catch {
    return false;
  }
}
