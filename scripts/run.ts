/** Starting programs from scripts: the repository root, the pinned Bun, output to the terminal and to a string at once. */
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dir, "..");

/** A JavaScript program of node_modules, run by the Bun that runs this script (none needs to be on PATH). */
export const bunx = (program: string, ...args: string[]): string[] => [process.execPath, join(root, "node_modules", program), ...args];

export interface Ended {
  readonly exitCode: number;
  /** stdout and stderr in the order in which they came. */
  readonly output: string;
  readonly timedOut: boolean;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The program is killed after this long. */
  readonly limitMs: number;
  /** Keep the output to ourselves; the caller shows what matters. */
  readonly quiet?: boolean;
  /** Receives the output as it comes, in pieces that may end inside of a line. */
  readonly onText?: (text: string) => void;
}

/** What runs now; ended with us, so that a stopped test run leaves nothing and can still clean up after itself. */
const running = new Set<{ kill(signal: NodeJS.Signals): void }>();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    stopped = true;
    for (const child of running) child.kill("SIGKILL");
  });
}
let stopped = false;

/** Runs a program to its end, showing its output as it comes. Ends by itself only: a program over its limit is killed and reported as timed out. */
export async function run(command: readonly string[], options: RunOptions): Promise<Ended> {
  const child = Bun.spawn([...command], {
    cwd: root,
    env: { ...process.env, ...options.env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  running.add(child);
  if (stopped) child.kill("SIGKILL");
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    child.kill("SIGKILL");
  }, options.limitMs);
  const pieces: string[] = [];
  const follow = async (stream: ReadableStream<Uint8Array>, shownOn: NodeJS.WriteStream) => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      const text = decoder.decode(bytes, { stream: true });
      pieces.push(text);
      options.onText?.(text);
      if (options.quiet !== true) shownOn.write(bytes);
    }
  };
  // A grandchild that outlives the program keeps the pipes open, so the end of the program counts and not the end of its output.
  const followed = Promise.all([follow(child.stdout, process.stdout), follow(child.stderr, process.stderr)]);
  const exitCode = await child.exited;
  running.delete(child);
  await Promise.race([followed, Bun.sleep(LAST_OUTPUT_MS)]);
  clearTimeout(timer);
  return { exitCode, output: pieces.join(""), timedOut };
}

/** What a program wrote just before its end arrives within this time, even on a busy machine. */
const LAST_OUTPUT_MS = 2_000;
