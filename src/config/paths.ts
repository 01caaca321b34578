/** Directories of this user, per platform: pure over the environment. Nothing here touches a disk. */
import { posix, win32 } from "node:path";
import { MemoryError } from "../kernel/errors.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** What the rules depend on besides the environment. */
export interface Machine {
  readonly platform: "linux" | "darwin" | "win32" | (string & {});
  readonly workingDirectory: string;
}

export interface Paths {
  /** `HOME`, else `USERPROFILE`; undefined where neither is set. Never the working directory in its place. */
  readonly home: string | undefined;
  /** Embedded database (`db/`), owner lock, local socket, hook log. Owner only. */
  readonly dataDir: string | undefined;
  /** Models, extracted runtime, undo files. May be wiped at any time without loss of memories. */
  readonly cacheRoot: string | undefined;
  /** Cache of the earlier generation; an entry is read there when the new root lacks it. */
  readonly legacyCacheRoot: string | undefined;
  /** `llm.env`, `graph.env`, password and key files. Owner only. */
  readonly configDir: string | undefined;
  /** Where `memory-industry.env` of the service lies; another place than `configDir` on Windows only. */
  readonly serviceEnvDir: string | undefined;
  /** Undo files of destructive commands. */
  readonly undoDir: string | undefined;
  /** `XDG_RUNTIME_DIR`: private to the user, gone after logout. */
  readonly runtimeDir: string | undefined;
}

/** The two settings that move a directory. */
export interface PathSettings {
  readonly dataDir?: string | undefined;
  readonly undoDir?: string | undefined;
}

const PRODUCT = "memory-industry";
/** How the platforms that name directories after products write it. */
const PRODUCT_TITLE = "MemoryIndustry";
const LEGACY_PRODUCT = "cuba-memorys";

const set = (value: string | undefined): string | undefined => (value === undefined || value.trim() === "" ? undefined : value.trim());

/** The home directory of this user: `HOME`, then `USERPROFILE`. `HOMEDRIVE`+`HOMEPATH` may point at an unmounted share and do not count. */
export const homeOf = (env: Environment): string | undefined => set(env.HOME) ?? set(env.USERPROFILE);

/** Makes a path that a person typed absolute: `~/` is their home (a client's configuration file has no shell to expand it). */
export function expandPath(typed: string, home: string | undefined, machine: Machine): string {
  const paths = machine.platform === "win32" ? win32 : posix;
  if (home !== undefined && (typed === "~" || typed.startsWith("~/") || typed.startsWith("~\\"))) return paths.join(home, typed.slice(1));
  return paths.resolve(machine.workingDirectory, typed);
}

/** All directories. */
export function resolvePaths(env: Environment, machine: Machine, settings: PathSettings = {}): Paths {
  const paths = machine.platform === "win32" ? win32 : posix;
  const home = homeOf(env);
  const under = (base: string | undefined, ...parts: string[]) => (base === undefined ? undefined : paths.join(base, ...parts));
  // The XDG specification: a relative value is invalid and must be ignored.
  const absolute = (value: string | undefined) => (value !== undefined && paths.isAbsolute(value) ? value : undefined);
  const typed = (value: string | undefined) => (value === undefined ? undefined : expandPath(value, home, machine));

  const local = absolute(set(env.LOCALAPPDATA)) ?? under(home, "AppData", "Local");
  const roaming = absolute(set(env.APPDATA)) ?? under(home, "AppData", "Roaming");
  const onWindows = machine.platform === "win32";

  const standardData = onWindows
    ? under(local, PRODUCT_TITLE)
    : machine.platform === "darwin"
      ? under(home, "Library", "Application Support", PRODUCT_TITLE)
      : under(absolute(set(env.XDG_DATA_HOME)) ?? under(home, ".local", "share"), PRODUCT);
  const cacheRoot = under(home, ".cache", PRODUCT);
  const configDir = onWindows ? under(roaming, PRODUCT) : under(home, ".config", PRODUCT);
  return {
    home,
    dataDir: typed(settings.dataDir) ?? standardData,
    cacheRoot,
    legacyCacheRoot: under(home, ".cache", LEGACY_PRODUCT),
    configDir,
    serviceEnvDir: onWindows ? under(local, PRODUCT_TITLE) : configDir,
    undoDir: typed(settings.undoDir) ?? under(cacheRoot, "undo"),
    runtimeDir: absolute(set(env.XDG_RUNTIME_DIR)),
  };
}

/** How each directory can be set by hand, for the error below. */
const settingFor: Partial<Record<keyof Paths, string>> = { dataDir: "CUBA_DATA_DIR", undoDir: "CUBA_UNDO_DIR" };

/**
 * A directory that something is about to be written to.
 * @throws MemoryError `unavailable` where it is unknown because there is no home directory; nothing was written.
 */
export function requirePath(paths: Paths, which: keyof Paths): string {
  const found = paths[which];
  if (found !== undefined) return found;
  const setting = settingFor[which];
  throw new MemoryError(
    "unavailable",
    `No home directory: HOME and USERPROFILE are both unset, so there is no place to write to; nothing was written. Set HOME${setting === undefined ? "" : `, or ${setting} to a directory`}.`,
  );
}
