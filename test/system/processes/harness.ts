/** Bridges and daemons as processes of their own, each ended by its own pid. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readOwner } from "../../../src/daemon/owner-lock.ts";
import { processStart } from "../../../src/daemon/process-identity.ts";

/** How long anything may take before a test gives up: far beyond what is expected, since the machine may be busy. */
export const PATIENCE_MS = 30_000;

/** Waits until `holds`, looking often. Throws after the patience. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const limit = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > limit) throw new Error(`gave up waiting: ${what}`);
    await Bun.sleep(10);
  }
}

export interface Answer {
  readonly id: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: { readonly content?: readonly { readonly text: string }[]; readonly isError?: boolean } & Readonly<
    Record<string, unknown>
  >;
  readonly error?: { readonly code: number; readonly message: string };
}

export const textOf = (answer: Answer | undefined): string => answer?.result?.content?.[0]?.text ?? "";

export const request = (id: string | number, name: string, args: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args },
});

export interface Client {
  readonly pid: number;
  readonly exited: Promise<number>;
  /** All of stdout so far. */
  readonly raw: () => string;
  readonly errors: () => string;
  send(message: object | string): void;
  /** The answer to the request with this id. */
  answerTo(id: string | number): Promise<Answer>;
  call(name: string, args?: object): Promise<Answer>;
  /** Closes its input. */
  end(): void;
  kill(signal: NodeJS.Signals): void;
}

export interface House {
  readonly dir: string;
  client(options?: { readonly bridge?: readonly string[]; readonly daemon?: readonly string[] }): Client;
  /** Starts a daemon by hand. */
  daemon(...words: string[]): Bun.Subprocess<"ignore", "pipe", "pipe">;
  /** Pid of the owner whose record lies there; undefined where none does. */
  owner(): number | undefined;
  log(): string;
  /** Pids of every daemon process of this house that lives, found by its command line. */
  daemons(): number[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** A data directory with its processes; disposing it ends them all. */
export function createHouse(): House {
  const dir = mkdtempSync(join(tmpdir(), "mi-proc-"));
  const children: Bun.Subprocess[] = [];
  const daemons = () => processesWith(join(import.meta.dir, "daemon.ts"), dir);
  return {
    dir,
    client(options = {}) {
      const child = Bun.spawn(
        [process.execPath, join(import.meta.dir, "bridge.ts"), dir, ...(options.bridge ?? []), "--", ...(options.daemon ?? [])],
        {
          stdio: ["pipe", "pipe", "pipe"],
        },
      );
      children.push(child);
      return createClient(child);
    },
    daemon(...words) {
      const child = Bun.spawn([process.execPath, join(import.meta.dir, "daemon.ts"), dir, ...words], {
        stdio: ["ignore", "pipe", "pipe"],
      });
      children.push(child);
      return child;
    },
    owner: () => readOwner(join(dir, "daemon.lock"))?.pid,
    log: () => (existsSync(join(dir, "daemon.log")) ? readFileSync(join(dir, "daemon.log"), "utf8") : ""),
    daemons,
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill("SIGKILL");
      await Promise.all(children.map((child) => child.exited));
      for (const pid of daemons()) process.kill(pid, "SIGKILL");
      await until("every daemon of the test to end", () => daemons().length === 0);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Pids whose command line holds all the words. Zombies have none. */
export function processesWith(...words: string[]): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
        return words.every((word) => line.includes(word));
      } catch {
        return false;
      }
    })
    .map(Number);
}

export const lives = (pid: number): boolean => processStart(pid) !== undefined;

export function createClient(child: Bun.Subprocess<"pipe", "pipe", "pipe">): Client {
  let out = "";
  let errors = "";
  let next = 1;
  const collect = async (stream: ReadableStream<Uint8Array>, add: (text: string) => void) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) add(decoder.decode(chunk, { stream: true }));
  };
  const reading = [
    collect(child.stdout, (text) => {
      out += text;
    }),
    collect(child.stderr, (text) => {
      errors += text;
    }),
  ];
  const lines = () => out.split("\n").filter((line) => line !== "");
  const find = (id: string | number): Answer | undefined =>
    (out.endsWith("\n") ? lines() : lines().slice(0, -1))
      .map((line): Answer => JSON.parse(line))
      .find((message) => message.id === id && message.method === undefined);
  const client: Client = {
    pid: child.pid,
    exited: child.exited.then(async (code) => {
      await Promise.all(reading);
      return code;
    }),
    raw: () => out,
    errors: () => errors,
    send(message) {
      child.stdin.write(typeof message === "string" ? message : `${JSON.stringify(message)}\n`);
      child.stdin.flush();
    },
    async answerTo(id) {
      let found: Answer | undefined;
      await until(`an answer to ${id}; stderr: ${errors}`, () => {
        found = find(id);
        return found !== undefined || child.exitCode !== null;
      });
      if (found === undefined) throw new Error(`the bridge ended without an answer to ${id}: ${errors}`);
      return found;
    },
    async call(name, args = {}) {
      const id = `t${next++}`;
      client.send(request(id, name, args));
      return await client.answerTo(id);
    },
    end: () => void child.stdin.end(),
    kill: (signal) => child.kill(signal),
  };
  return client;
}
