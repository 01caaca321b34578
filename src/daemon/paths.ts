/** Where the files of one daemon lie. Pure: nothing here touches a disk. */
import { posix, win32 } from "node:path";

export interface DaemonPlace {
  /** Data directory, absolute. */
  readonly dataDir: string;
  /** PostgreSQL in place of the embedded database; undefined = embedded. */
  readonly databaseUrl?: string | undefined;
  /** Private directory of the user that is gone after logout (`XDG_RUNTIME_DIR`), where there is one. */
  readonly runtimeDir?: string | undefined;
  /** The system's directory for temporary files: the last resort for a socket whose path is too long. */
  readonly temporaryDir: string;
  readonly platform: NodeJS.Platform;
  /** Number of the user, which keeps users apart in the temporary directory. */
  readonly uid: number | undefined;
}

export interface DaemonPaths {
  readonly dataDir: string;
  /** Record of the owner; on Unix also the file that the kernel locks. */
  readonly lock: string;
  /** Local socket, or the name of a pipe on Windows. */
  readonly socket: string;
  /** The socket's directory where it is not the data directory: to be made 0700, and used only if it is ours. */
  readonly socketDir: string | undefined;
  /** Standard error of a daemon that was started by a bridge. */
  readonly log: string;
  /** Locked together with the record where the database lies in the directory: it stays locked when somebody deletes the record. */
  readonly guardedDir: string | undefined;
}

/** Longest path of a Unix socket in bytes: `sun_path` less the closing NUL. */
const longestSocketPath = (platform: NodeJS.Platform) => (platform === "linux" ? 107 : 103);

/** Characters of a digest in a file name: 64 bits, no two databases of one person meet by chance. */
const DIGEST_CHARS = 16;

// Bun's own hasher: importing node:crypto costs a bridge 3.5 MB.
const digest = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, DIGEST_CHARS);

/** A database URL without its password: what tells two databases apart. Works also where a list of hosts is no valid URL. */
export function withoutPassword(url: string): string {
  const [, scheme = "", authority = "", rest = ""] = /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)(.*)$/is.exec(url.trim()) ?? [];
  const at = authority.lastIndexOf("@");
  const user = at === -1 ? "" : `${authority.slice(0, at).split(":")[0] ?? ""}@`;
  return `${scheme}${user}${authority.slice(at + 1)}${rest.replace(/([?&])password=[^&#]*&?/gi, "$1").replace(/[?&]$/, "")}`;
}

/** The files of the daemon of this data directory and database (`config-packaging.md` §6.3). */
export function daemonPaths(place: DaemonPlace): DaemonPaths {
  const { dataDir, databaseUrl, platform } = place;
  const paths = platform === "win32" ? win32 : posix;
  const suffix = databaseUrl === undefined ? "" : `-${digest(withoutPassword(databaseUrl))}`;
  const file = (ending: string) => paths.join(dataDir, `daemon${suffix}.${ending}`);
  const common = { dataDir, lock: file("lock"), log: file("log"), guardedDir: databaseUrl === undefined ? dataDir : undefined };
  if (platform === "win32") {
    // Windows paths do not tell cases apart, pipe names do.
    return { ...common, socket: `\\\\.\\pipe\\memory-industry-${digest(dataDir.toLowerCase() + suffix)}`, socketDir: undefined };
  }
  const beside = file("sock");
  const fits = (path: string) => Buffer.byteLength(path) <= longestSocketPath(platform);
  if (fits(beside)) return { ...common, socket: beside, socketDir: undefined };
  const name = `${digest(beside)}.sock`;
  const homes = [
    ...(place.runtimeDir === undefined ? [] : [paths.join(place.runtimeDir, "memory-industry")]),
    paths.join(place.temporaryDir, `memory-industry-${place.uid ?? "user"}`),
    `/tmp/memory-industry-${place.uid ?? "user"}`,
  ];
  const socketDir = homes.find((home) => fits(paths.join(home, name))) ?? `/tmp/memory-industry-${place.uid ?? "user"}`;
  return { ...common, socket: paths.join(socketDir, name), socketDir };
}
