/**
 * Finds the memory-industry executable of exactly this version and becomes it. This package holds no executable.
 * Nothing is written to stdout here: it carries the JSON-RPC of the server.
 */
import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { homedir, constants as system } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
export const version = JSON.parse(readFileSync(join(here, "package.json"), "utf8")).version;

const windows = process.platform === "win32";
const NAMES = windows ? ["memory-industry.exe", "cuba-memorys.exe"] : ["memory-industry", "cuba-memorys"];
const EXECUTABLE = NAMES[0];
/** Set while a shim asks what it found on PATH for its version: if that is another shim, it must not look on PATH itself. */
const INSIDE = "MEMORY_INDUSTRY_SHIM";
const VERSION_TIMEOUT_MS = 10_000;

/** An empty file is what an interrupted download leaves behind, and counts as missing. */
const isThere = (file) => existsSync(file) && statSync(file).isFile() && statSync(file).size > 0;

/** Where an executable of this version lies when it was fetched: inside this package, else in the user's cache. */
export function privatePlaces(env = process.env) {
  const home = env.HOME || env.USERPROFILE || homedir();
  return [join(here, "vendor", EXECUTABLE), join(home, ".cache", "memory-industry", "bin", version, EXECUTABLE)];
}

/** One on PATH serves only if it says this version: the server migrates the database, another version would rewrite the schema. */
function onPath(env) {
  if (env[INSIDE] !== undefined) return undefined;
  const self = realpathSync(here);
  for (const folder of (env.PATH ?? "").split(delimiter).filter(Boolean)) {
    for (const file of NAMES.map((name) => join(folder, name)).filter(isThere)) {
      if (realpathSync(file).startsWith(self)) continue;
      const asked = spawnSync(file, ["--version"], { encoding: "utf8", timeout: VERSION_TIMEOUT_MS, env: { ...env, [INSIDE]: "1" } });
      if (asked.status === 0 && asked.stdout.trim().split(/\s+/).at(-1) === version) return file;
    }
  }
  return undefined;
}

/** The executable, or the reason why there is none. */
export function locate(env = process.env) {
  const named = env.MEMORY_INDUSTRY_BINARY;
  if (named && isThere(named) && realpathSync(named).startsWith(realpathSync(here))) {
    return { missing: `MEMORY_INDUSTRY_BINARY names ${named}, which is this starter and not the program.` };
  }
  if (named)
    return isThere(named)
      ? { file: named }
      : { missing: `MEMORY_INDUSTRY_BINARY names ${named}, and there is no such file (or it is empty).` };
  const file = privatePlaces(env).find(isThere) ?? onPath(env);
  if (file !== undefined) return { file };
  const places = privatePlaces(env).map((place) => `  ${place}`);
  return {
    missing: [
      `The executable of version ${version} for ${process.platform}-${process.arch} is not on this machine. Looked at:`,
      ...places,
      `  PATH (one that says version ${version})`,
      "Build it from the repository with 'npm run build' and set MEMORY_INDUSTRY_BINARY to dist/memory-industry, or put it at one of these places.",
    ].join("\n"),
  };
}

/** Runs it with these arguments in place of this process; ends with its exit code, or with exit code 1 and the reason on stderr. */
export async function start(args) {
  const { file, missing } = locate();
  if (file === undefined) {
    process.stderr.write(`memory-industry: ${missing}\n`);
    process.exitCode = 1;
    return;
  }
  become(file, args);
  await accompany(file, args);
}

/** Node aborts when it cannot replace itself; a file that may not be run gets its plain error from `spawn` instead. */
function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Newer versions of Node on POSIX can replace this process by the program: no second process in memory, no signal to forward. */
function become(file, args) {
  if (windows || typeof process.execve !== "function" || !isExecutable(file)) return;
  const warn = process.emitWarning;
  // It is marked experimental and would say so on stderr at each start.
  process.emitWarning = () => undefined;
  try {
    process.execve(file, [file, ...args]);
  } catch {
    process.emitWarning = warn;
  }
}

/** The program as a child that cannot outlive us: its stdin is a pipe from us, so it reads the end of input when we are gone, however we went. */
function accompany(file, args) {
  return new Promise((resolve) => {
    const terminal = process.stdin.isTTY === true;
    const signals = windows ? ["SIGINT", "SIGBREAK"] : ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"];
    // Before the program runs: a signal in between would end us and leave it.
    for (const signal of signals) {
      // A terminal interrupts the whole process group, the program included; a second interrupt would mean "at once" to it.
      process.on(signal, () => (terminal && signal === "SIGINT" ? undefined : child.kill(signal)));
    }
    const child = spawn(file, args, { stdio: [terminal ? "inherit" : "pipe", "inherit", "inherit"] });
    if (child.stdin !== null) {
      // The program may end before it has read everything; that is its business.
      child.stdin.on("error", () => undefined);
      process.stdin.pipe(child.stdin);
    }
    child.on("error", (error) => {
      process.stderr.write(`memory-industry: ${file} could not be started: ${error.message}\n`);
      process.exitCode = 1;
      process.stdin.unref?.();
      resolve();
    });
    child.on("exit", (code, signal) => {
      process.stdin.unpipe();
      process.stdin.destroy();
      for (const name of signals) process.removeAllListeners(name);
      process.exitCode = code ?? 128 + (system.signals[signal] ?? 0);
      if (signal !== null && !windows) process.kill(process.pid, signal);
      resolve();
    });
  });
}
