/** The compiled program as a bench drives it: JSON-RPC over the pipes of real processes, in a home of its own. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir, totalmem } from "node:os";
import { join } from "node:path";

export const executable = join(import.meta.dir, "..", "..", "dist", "memory-industry");

/** Ends with a sentence where there is nothing to measure. */
export function requireExecutable(): void {
  if (existsSync(executable)) return;
  console.error("dist/memory-industry is missing: npm run build");
  process.exit(2);
}

/** What every result begins with. */
export function printSetting(question: string, settings: string): void {
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: import.meta.dir, encoding: "utf8" }).trim();
  const memory = `${Math.round(totalmem() / 1e9)} GB`;
  console.log(`# ${question}`);
  console.log(
    `${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpus()[0]?.model ?? "?"}, ${memory}, load ${loadavg()[0]?.toFixed(1)}, commit ${commit}`,
  );
  console.log(`${settings}\n`);
}

export interface Home extends AsyncDisposable {
  readonly directory: string;
  readonly env: Record<string, string>;
  /** The daemon's pid, once one has started. */
  daemonPid(): number | undefined;
  /** Ends the daemon, where one runs, and waits until it is gone. */
  endDaemon(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** An empty home. Disposing ends its daemon by its own pid. */
export async function emptyHome(extra: Record<string, string> = {}): Promise<Home> {
  const directory = await mkdtemp(join(tmpdir(), "memory-industry-bench-"));
  const lock = join(directory, ".local", "share", "memory-industry", "daemon.lock");
  const daemonPid = () => {
    try {
      const { pid }: { pid?: unknown } = JSON.parse(readFileSync(lock, "utf8"));
      return typeof pid === "number" ? pid : undefined;
    } catch {
      return undefined; // not there, or being written by the next owner
    }
  };
  const isAlive = (pid: number) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  const endDaemon = async (signal: "SIGTERM" | "SIGKILL" = "SIGTERM") => {
    const pid = daemonPid();
    if (pid === undefined || !isAlive(pid)) return;
    process.kill(pid, signal);
    while (isAlive(pid)) await Bun.sleep(10);
  };
  return {
    directory,
    env: { HOME: directory, ...extra },
    daemonPid,
    endDaemon,
    async [Symbol.asyncDispose]() {
      await endDaemon();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export type Result = Readonly<Record<string, unknown>>;

export interface Client extends AsyncDisposable {
  readonly pid: number;
  request(method: string, params: Readonly<Record<string, unknown>>): Promise<Result>;
  /** The answer of a tool, parsed. @throws Error with its text where it refused. */
  call(name: string, args: Readonly<Record<string, unknown>>): Promise<Result>;
}

/** One editor window: a process that speaks MCP on stdio. */
export function openClient(home: Home): Client {
  const child = Bun.spawn([executable], { env: home.env, cwd: home.directory, stdin: "pipe", stdout: "pipe", stderr: "ignore" });
  const waiting = new Map<number, (message: Result) => void>();
  let lastId = 0;
  const reading = (async () => {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      rest += decoder.decode(chunk, { stream: true });
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const message: Result & { id?: number } = JSON.parse(line);
        if (typeof message.id === "number") waiting.get(message.id)?.(message);
      }
    }
  })();
  const request = (method: string, params: Readonly<Record<string, unknown>>) =>
    new Promise<Result>((resolve) => {
      const id = ++lastId;
      waiting.set(id, (message) => {
        waiting.delete(id);
        resolve(message);
      });
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      child.stdin.flush();
    });
  return {
    pid: child.pid,
    request,
    async call(name, args) {
      const { result } = (await request("tools/call", { name, arguments: args })) as {
        result: { content: { text: string }[]; isError?: boolean };
      };
      const text = result.content[0]?.text ?? "";
      if (result.isError) throw new Error(text);
      return JSON.parse(text);
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await child.exited;
      await reading;
    },
  };
}

/** Bytes of what the kernel calls a kB. */
const KERNEL_KB = 1024;

/** A figure of a process, MB; 0 where it is gone, or the system does not tell. */
function memoryMb(pid: number, what: "VmRSS" | "VmHWM"): number {
  try {
    const found = new RegExp(`^${what}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return Math.round((Number(found?.[1] ?? 0) * KERNEL_KB) / 1e6);
  } catch {
    return 0;
  }
}

/** Resident memory of a process, MB. */
export const residentMb = (pid: number): number => memoryMb(pid, "VmRSS");
/** The same at its peak so far. */
export const peakMb = (pid: number): number => memoryMb(pid, "VmHWM");

/** Processor time of a process so far, all its threads, milliseconds: what a call costs whoever else uses the machine. 0 where the system does not tell. */
export function processorMs(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const nanoseconds = threads.map((id) => Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, "utf8").split(" ")[0]));
    return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e6;
  } catch {
    return 0; // a thread that ended while it was read
  }
}

/** Value at share `q` of sorted times. */
export function quantile(times: readonly number[], q: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.round((sorted.length - 1) * q))] ?? Number.NaN;
}

export const spread = (times: readonly number[]): string =>
  `p50 ${quantile(times, 0.5).toFixed(1)} ms, p95 ${quantile(times, 0.95).toFixed(1)}, ${Math.min(...times).toFixed(1)}–${Math.max(...times).toFixed(1)} (n ${times.length})`;

/** Sentences that differ, of ordinary words, so that neither the duplicate gate nor a compressor makes them cheap. */
export function sentence(seed: number): string {
  const words =
    "queue worker gateway retry token session cache index schema backup deploy region latency budget parser driver socket thread buffer schedule ledger invoice customer payment webhook secret policy audit vector shard".split(
      " ",
    );
  let state = (seed * 2_654_435_761) >>> 0;
  const next = () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state;
  };
  return `The ${Array.from({ length: 12 }, () => words[next() % words.length]).join(" ")} value is ${seed}`;
}
