/** The npm and the pip package: they find and become the program, and add nothing of their own to what it reads and writes. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { VERSION } from "../../src/kernel/version.ts";

setDefaultTimeout(60_000);

const root = resolve(import.meta.dir, "../..");
const work = mkdtempSync(join(tmpdir(), "memory-industry-shims-"));
/** Ended with the tests, also when one of them fails half-way. */
const started: { kill(signal: NodeJS.Signals): void }[] = [];
afterAll(() => {
  for (const child of started) child.kill("SIGTERM");
  rmSync(work, { recursive: true, force: true });
});

/** A program that shows what it was given. `says` is what it answers to --version. */
function program(path: string, says = `memory-industry ${VERSION}`): string {
  mkdirSync(join(path, ".."), { recursive: true });
  const script = `#!/bin/sh
case "$1" in
  --version) echo "${says}" ;;
  arguments) shift; for one in "$@"; do echo "[$one]"; done ;;
  copy) cat; echo err >&2 ;;
  exit) exit "$2" ;;
  die) kill -KILL $$ ;;
  wait) trap 'echo terminated; exit 5' TERM; echo "pid $$"; while :; do sleep 0.05; done ;;
  until-end) echo "pid $$"; cat >/dev/null; echo gone >"$2" ;;
esac
`;
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  return path;
}

interface Shim {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const node = Bun.which("node");
const python = Bun.which("python3");
const system = { PATH: "/usr/bin:/bin", HOME: join(work, "home") };
const shims: Shim[] = [];
if (node !== null) shims.push({ name: "npm", command: [node, join(root, "npm-wrapper/bin/memory-industry.mjs")], env: system });
if (python !== null) {
  const env = { ...system, PYTHONPATH: join(root, "python-wrapper/src"), PYTHONDONTWRITEBYTECODE: "1" };
  shims.push({ name: "pip", command: [python, "-m", "memory_industry"], env });
}

const start = (shim: Shim, args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const child = Bun.spawn([...shim.command, ...args], {
    env: { ...shim.env, ...env },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    cwd: work,
  });
  started.push(child);
  return child;
};

async function run(shim: Shim, args: readonly string[], env: Readonly<Record<string, string>> = {}, input = "") {
  const child = start(shim, args, env);
  child.stdin.write(input);
  child.stdin.end();
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  await child.exited;
  return { stdout, stderr, exitCode: child.exitCode, signal: child.signalCode };
}

/** What a program writes, as it comes: the first line once it is there, then all of it. */
function follow(stream: ReadableStream<Uint8Array>) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const more = async () => {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: true });
    return !done;
  };
  return {
    async firstLine() {
      while (!text.includes("\n") && (await more()));
      return text.trim();
    },
    async all() {
      while (await more());
      return text;
    },
  };
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

if (process.platform === "win32") test.skip("shims: the stand-in program is a shell script", () => {});
else if (shims.length < 2) test.skip(`shims: ${node === null ? "node" : "python3"} is not on this machine`, () => {});

describe.each(process.platform === "win32" ? [] : shims.map((shim) => [shim.name, shim] as const))("the %s shim", (name, shim) => {
  const here = join(work, name);
  const binary = program(join(here, "local", "program"));
  const local = { MEMORY_INDUSTRY_BINARY: binary };

  test("passes arguments, input, output and exit code through", async () => {
    expect(await run(shim, ["arguments", "a b", "", "$HOME", "--version"], local)).toEqual({
      stdout: "[a b]\n[]\n[$HOME]\n[--version]\n",
      stderr: "",
      exitCode: 0,
      signal: null,
    });
    expect(await run(shim, ["copy"], local, '{"jsonrpc":"2.0"}\n')).toEqual({
      stdout: '{"jsonrpc":"2.0"}\n',
      stderr: "err\n",
      exitCode: 0,
      signal: null,
    });
    expect((await run(shim, ["exit", "7"], local)).exitCode).toBe(7);
  });

  test("hands a signal to the program, and ends as the program ends", async () => {
    const child = start(shim, ["wait"], local);
    const output = follow(child.stdout);
    await output.firstLine();
    child.kill("SIGTERM");
    expect(await output.all()).toContain("terminated");
    expect(await child.exited).toBe(5);
    expect((await run(shim, ["die"], local)).signal).toBe("SIGKILL");
  });

  test("killed without a chance to clean up, it leaves no program that waits for input", async () => {
    const mark = join(here, "gone");
    const child = start(shim, ["until-end", mark], local);
    const pid = Number((await follow(child.stdout).firstLine()).replace("pid ", ""));
    expect(isAlive(pid)).toBe(true);
    child.kill("SIGKILL");
    await child.exited;
    // Where the shim has become the program, the kill ended it; where it stands beside it, the end of its input does.
    for (let waited = 0; waited < 10_000 && isAlive(pid); waited += 20) await Bun.sleep(20);
    expect(isAlive(pid)).toBe(false);
  });

  test("says what is missing and how to get it, on stderr, with exit code 1", async () => {
    const { stdout, stderr, exitCode } = await run(shim, []);
    expect(stdout).toBe("");
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`The executable of version ${VERSION}`);
    expect(stderr).toContain(join(work, "home", ".cache", "memory-industry", "bin", VERSION, "memory-industry"));
    expect(stderr).toContain("MEMORY_INDUSTRY_BINARY");
  });

  test("refuses a MEMORY_INDUSTRY_BINARY that is not there, empty, or may not be run", async () => {
    const empty = join(here, "empty");
    writeFileSync(empty, "");
    const locked = join(here, "locked");
    writeFileSync(locked, "text");
    for (const [file, reason] of [
      [join(here, "nowhere"), "no such file"],
      [empty, "or it is empty"],
      [locked, "could not be started"],
    ] as const) {
      const { stdout, stderr, exitCode } = await run(shim, [], { MEMORY_INDUSTRY_BINARY: file });
      expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 1 });
      expect(stderr).toContain(reason);
      expect(stderr).toContain(file);
    }
  });

  test("starts the executable of its own version from the user's cache; an empty one counts as missing", async () => {
    const home = join(here, "home");
    const cached = join(home, ".cache", "memory-industry", "bin", VERSION, "memory-industry");
    program(cached);
    expect((await run(shim, ["exit", "9"], { HOME: home })).exitCode).toBe(9);
    writeFileSync(cached, "");
    expect((await run(shim, ["exit", "9"], { HOME: home })).exitCode).toBe(1);
  });

  test("takes one on PATH only if it says exactly this version", async () => {
    const right = join(here, "right");
    const wrong = join(here, "wrong");
    program(join(right, "memory-industry"));
    program(join(wrong, "memory-industry"), "memory-industry 99.0.0");
    const path = (...folders: string[]) => ({ PATH: [...folders, system.PATH].join(delimiter) });
    expect((await run(shim, ["exit", "4"], path(right))).exitCode).toBe(4);
    expect((await run(shim, ["exit", "4"], path(wrong))).exitCode).toBe(1);
    expect((await run(shim, ["exit", "4"], path(wrong, right))).exitCode).toBe(4);
  });

  test("does not run in circles when another shim is all there is on PATH", async () => {
    const folder = join(here, "circle");
    mkdirSync(folder);
    for (const other of shims) {
      const file = join(folder, other.name === "npm" ? "memory-industry" : "cuba-memorys");
      const settings = Object.entries(other.env).filter(([key]) => key.startsWith("PYTHON"));
      writeFileSync(
        file,
        `#!/bin/sh\n${settings.map(([key, value]) => `export ${key}='${value}'\n`).join("")}exec ${other.command.map((word) => `'${word}'`).join(" ")} "$@"\n`,
      );
      chmodSync(file, 0o755);
    }
    const { stdout, exitCode } = await run(shim, ["--version"], { PATH: `${folder}${delimiter}${system.PATH}` });
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 1 });
  });
});
