/** One model's worker, seen from the main thread: a request, its answer, and the worker's death as an error instead of silence. */
import { workerEntry } from "./entry.ts";
import type { FromWorker, ToWorker } from "./messages.ts";

/** The worker ended by itself: an uncaught error, an exit, a missing file. */
export class WorkerDied extends Error {}

export interface WorkerClient {
  /**
   * One request at a time; the caller waits for the answer before the next.
   * @throws Error with the worker's reason where it could not do it; {@link WorkerDied} where it is gone.
   */
  ask(message: ToWorker): Promise<Exclude<FromWorker, { kind: "failed" }>>;
  /** False once the thread is gone. */
  readonly alive: boolean;
  /** Ends the thread; a call under way is abandoned. Returns when it is gone, after five seconds at most. */
  stop(): Promise<void>;
  /**
   * Frees the model first, then ends the thread. Left to the thread's end, the runtime's destructors have met a half-gone interpreter and taken the whole
   * process along (reports from Bun 1.3; not seen with 1.4.5, where both ways were tried).
   */
  retire(): Promise<void>;
}

/** A thread inside a native call ends when the call returns; nobody who shuts down waits longer than this for it. */
const LONGEST_STOP_MS = 5_000;

/** A small heap (`smol`) is collected more often: the worker holds the model outside it. */
export const spawnWorker = (): Worker => new Worker(workerEntry(), { smol: true, name: "model" });

export function createWorkerClient(spawn: () => Worker): WorkerClient {
  const worker = spawn();
  let waiting: { readonly resolve: (message: FromWorker) => void; readonly reject: (error: Error) => void } | undefined;
  let dead: string | undefined;
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();

  const die = (reason: string) => {
    dead ??= reason;
    waiting?.reject(new WorkerDied(dead));
    waiting = undefined;
  };
  worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
    const answered = waiting;
    waiting = undefined;
    answered?.resolve(data);
  });
  worker.addEventListener("error", (event) => die(event.message));
  worker.addEventListener("close", (event) => {
    die(`the worker of the model ended with code ${"code" in event ? String(event.code) : "unknown"}`);
    close();
  });
  // A process with nothing else to do may end; whoever waits for an answer keeps it alive.
  worker.unref();

  const ask: WorkerClient["ask"] = async (message) => {
    if (dead !== undefined) throw new WorkerDied(dead);
    const { promise, resolve, reject } = Promise.withResolvers<FromWorker>();
    waiting = { resolve, reject };
    worker.ref();
    worker.postMessage(message);
    try {
      const answer = await promise;
      if (answer.kind === "failed") throw new Error(answer.reason);
      return answer;
    } finally {
      worker.unref();
    }
  };
  const stop = async () => {
    if (dead === undefined) {
      worker.ref();
      worker.terminate();
    }
    await within(LONGEST_STOP_MS, closed);
  };
  return {
    ask,
    stop,
    get alive() {
      return dead === undefined;
    },
    async retire() {
      await within(
        LONGEST_STOP_MS,
        ask({ kind: "release" }).catch(() => undefined),
      );
      await stop();
    },
  };
}

/** Waits for `work`, but not longer than `ms`. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, late]);
  clearTimeout(timer);
}
