#!/usr/bin/env node
/**
 * Runs a command with the Bun that package.json pins: `node scripts/with-bun.mjs run scripts/check.ts`.
 * A machine needs only Node >= 20 and npm: what is missing (Bun itself, then the packages of bun.lock) is brought first, once.
 * Plain JavaScript without dependencies, because it runs before anything is installed. Writes to stderr only: stdout belongs to the command.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const OLDEST_NODE = 20;
/** The npm package `bun` carries a placeholder of a few hundred bytes until its install script has run; the real one has some 100 MB. */
const SMALLEST_BUN_BYTES = 1_000_000;
/** Installing takes seconds, on a slow line minutes; a lock older than this belongs to nobody. */
const LOCK_PATIENCE_MS = 15 * 60_000;
const LOCK_POLL_MS = 200;
/** How long a command may outlive the npm that was told to stop. */
const PARENT_POLL_MS = 250;

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const lockfile = readFileSync(join(root, "bun.lock"), "utf8");
const pinned = manifest.devDependencies.bun;
const bunPackage = packageOfThisMachine();
const executable = process.platform === "win32" ? "bun.exe" : "bun";
const modules = join(root, "node_modules");
const privateHome = join(root, ".cache", `bun-${pinned}`);
const stampFile = join(modules, ".with-bun-stamp");

function say(text) {
  process.stderr.write(`with-bun: ${text}\n`);
}

function fail(text) {
  say(text);
  process.exit(1);
}

/** One package a platform; since Bun 1.4 the x64 ones serve processors with and without AVX2. */
function packageOfThisMachine() {
  const os = { linux: "linux", darwin: "darwin", win32: "windows", freebsd: "freebsd", android: "linux" }[process.platform];
  const cpu = { x64: "x64", arm64: "aarch64" }[process.arch];
  if (os === undefined || cpu === undefined) fail(`Bun does not exist for ${process.platform}-${process.arch}; nothing was installed`);
  let flavour = "";
  if (process.platform === "android") flavour = "-android";
  else if (process.platform === "linux" && process.report.getReport().header.glibcVersionRuntime === undefined) flavour = "-musl";
  return `@oven/bun-${os}-${cpu}${flavour}`;
}

function isPinnedBun(file) {
  if (!existsSync(file) || statSync(file).size < SMALLEST_BUN_BYTES) return false;
  const answer = spawnSync(file, ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return answer.status === 0 && answer.stdout.trim() === pinned;
}

/** With its install script run, the executable lies in `bun`; without (npm 11 asks first) in the package of the platform. */
function findBun(modulesFolder) {
  const places = [join(modulesFolder, "bun", "bin", "bun.exe"), join(modulesFolder, bunPackage, "bin", executable)];
  return places.find(isPinnedBun);
}

function npmCommand() {
  const besideNode = [
    process.env.npm_execpath,
    join(dirname(process.execPath), "node_modules", "npm", "bin", "npm-cli.js"),
    join(dirname(process.execPath), "..", "lib", "node_modules", "npm", "bin", "npm-cli.js"),
  ];
  const script = besideNode.find((file) => file?.endsWith("npm-cli.js") && existsSync(file));
  return script === undefined
    ? { command: "npm", first: [], shell: process.platform === "win32" }
    : { command: process.execPath, first: [script], shell: false };
}

/** Brings Bun alone into a private folder and checks its digest against bun.lock, so that both ways of installing end with the same bytes. */
function bringBun() {
  say(`bringing Bun ${pinned} by npm, once`);
  rmSync(privateHome, { recursive: true, force: true });
  mkdirSync(privateHome, { recursive: true });
  writeFileSync(join(privateHome, "package.json"), "{}\n");
  const { command, first, shell } = npmCommand();
  const quiet = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--no-update-notifier", "--loglevel=error"];
  const args = [...first, "install", ...quiet, "--prefix", shell ? `"${privateHome}"` : privateHome, `${bunPackage}@${pinned}`];
  const run = spawnSync(command, args, { cwd: privateHome, stdio: ["ignore", 2, 2], shell });
  if (run.status !== 0)
    fail(
      `npm could not bring ${bunPackage}@${pinned}: see the lines above. Once the npm registry can be reached, run the same command again`,
    );
  const tree = JSON.parse(readFileSync(join(privateHome, "node_modules", ".package-lock.json"), "utf8"));
  const brought = tree.packages[`node_modules/${bunPackage}`]?.integrity;
  if (brought === undefined || !lockfile.includes(`"${brought}"`)) {
    rmSync(privateHome, { recursive: true, force: true });
    fail(`${bunPackage}@${pinned} has another digest than bun.lock names (${brought ?? "none"}); it was removed and nothing was started`);
  }
  return findBun(join(privateHome, "node_modules")) ?? fail(`Bun ${pinned} arrived but does not run on this machine (${bunPackage})`);
}

function wantedStamp() {
  const parts = [pinned, bunPackage, lockfile, JSON.stringify([manifest.dependencies, manifest.devDependencies])];
  return createHash("sha256").update(parts.join("\n")).digest("hex");
}

function readyBun() {
  if (!existsSync(stampFile) || readFileSync(stampFile, "utf8") !== wantedStamp()) return undefined;
  return findBun(modules) ?? findBun(join(privateHome, "node_modules"));
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Two commands on a fresh clone at once: one installs, the other waits. A dead holder's lock is taken over. */
function locked(work) {
  const file = join(root, ".cache", "with-bun.lock");
  mkdirSync(dirname(file), { recursive: true });
  for (const until = Date.now() + LOCK_PATIENCE_MS; ; ) {
    try {
      const handle = openSync(file, "wx");
      writeSync(handle, String(process.pid));
      closeSync(handle);
      break;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const holder = existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
    if (holder > 0 && !isAlive(holder)) rmSync(file, { force: true });
    else if (Date.now() > until) fail(`another install (process ${holder}) holds ${file}; remove that file if it is not running`);
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_POLL_MS);
  }
  try {
    return work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** Installs what bun.lock names, exactly, where node_modules is missing or belongs to another bun.lock. */
function prepare() {
  const already = readyBun();
  if (already !== undefined) return already;
  const bun = findBun(modules) ?? findBun(join(privateHome, "node_modules")) ?? bringBun();
  say("installing the packages of bun.lock");
  // Without the summary: its last line, about a script that Bun does not run, reads like a fault and is none.
  const run = spawnSync(bun, ["install", "--frozen-lockfile", "--no-summary"], { cwd: root, stdio: ["ignore", 2, 2] });
  if (run.status !== 0) fail("bun install failed: see the lines above. Once the npm registry can be reached, run the same command again");
  // A part of the installation, so that the first start is as quick as the next one. Whoever starts without it makes it then.
  const made = spawnSync(bun, [join(root, "scripts", "template.ts"), "--prepare"], { cwd: root, stdio: ["ignore", 2, 2] });
  if (made.status !== 0) say("the empty database could not be made: see the lines above. The first start tries again");
  writeFileSync(stampFile, wantedStamp());
  const installed = findBun(modules);
  if (installed === undefined) return bun;
  rmSync(privateHome, { recursive: true, force: true });
  return installed;
}

/**
 * A signal to npm ends the shell that npm runs us in, and that shell tells nobody: the command would go on without anybody who could stop it.
 * Only under npm, because a command that a person left in the background outlives its shell on purpose.
 */
function whenNpmEnds(work) {
  if (!process.env.npm_lifecycle_event || process.platform === "win32") return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    work();
  }, PARENT_POLL_MS);
  timer.unref();
}

/** Not the `.env`, `bunfig.toml` and `tsconfig.json` of the directory somebody stands in: Bun would read the first and last, and run what the second preloads. */
const deafToTheProject = ["--no-env-file", `--config=${join(root, "bunfig.toml")}`, `--tsconfig-override=${join(root, "tsconfig.json")}`];

/** `run` alone: what else is asked of Bun (`test`, `add`, `x`) is about the directory it is in. */
const heard = (args) => (args[0] === "run" ? ["run", ...deafToTheProject, ...args.slice(1)] : args);

function run(bun, args) {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  // Before the command runs: a signal in between would end us and leave it.
  for (const signal of signals) {
    // From a terminal the whole process group has got the interrupt already; a second one would mean "at once" to the command.
    process.on(signal, () => (signal === "SIGINT" && process.stdin.isTTY ? undefined : child.kill(signal)));
  }
  const child = spawn(bun, heard(args), { stdio: "inherit" });
  whenNpmEnds(() => child.kill("SIGTERM"));
  child.on("error", (error) => fail(`could not start ${bun}: ${error.message}`));
  child.on("exit", (code, signal) => {
    for (const name of signals) process.removeAllListeners(name);
    if (signal === null) process.exitCode = code ?? 1;
    else if (process.platform === "win32") process.exitCode = 128 + constants.signals[signal];
    else process.kill(process.pid, signal);
  });
}

if (Number(process.versions.node.split(".")[0]) < OLDEST_NODE) fail(`Node ${OLDEST_NODE} or newer is needed, this is ${process.version}`);
run(readyBun() ?? locked(prepare), process.argv.slice(2));
