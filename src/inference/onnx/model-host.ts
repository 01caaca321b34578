/** One model in one worker: found, loaded on demand, restarted when it dies, given up when it fails too often, found again when it is replaced. */
import type { Logger } from "../../kernel/logger.ts";
import type { ModelState } from "../port.ts";
import { hasCurrentCompact } from "../tokenizer/load.ts";
import { type LoadRequest, runtimeRemedy } from "./messages.ts";
import { createWorkerClient, spawnWorker, type WorkerClient } from "./worker-client.ts";

/** What a look at the disk found. `missing`: nothing installed, no fault. `refused`: installed, and not to be used as it stands. `remedy`: as in {@link ModelState}. */
export type Located =
  | { readonly kind: "installed"; readonly directory: string; readonly stamp: string; readonly remedy?: string | undefined }
  | { readonly kind: "missing"; readonly reason: string; readonly isDisabledByPlan?: boolean; readonly remedy?: string | undefined }
  | { readonly kind: "refused"; readonly reason: string; readonly stamp: string; readonly remedy?: string | undefined };

export type Installed<L extends Located> = Extract<L, { kind: "installed" }>;

/** Why there is no model to ask. The reason is a sentence without a path. */
export class NotReady extends Error {
  readonly kind: "missing" | "failed" | "closing";
  constructor(kind: NotReady["kind"], reason: string) {
    super(reason);
    this.kind = kind;
  }
}

export interface ModelHostOptions<L extends Located> {
  /** For the log: `embedding model`. */
  readonly what: string;
  readonly first: L;
  /** Asked again where no model was there or it failed, so that `models …` takes effect without a restart. */
  readonly find: () => Promise<L>;
  readonly nameOf: (model: L) => string;
  readonly request: (model: Installed<L>) => LoadRequest;
  /** Turns a model that this process must not switch to into a refusal. */
  readonly admit?: (found: L) => L;
  readonly log: Logger;
  readonly spawn?: (() => Worker) | undefined;
  /** Milliseconds after which a load counts as stuck. */
  readonly loadMs: number;
}

export interface ModelHost<L extends Located> {
  /** The model as last seen. */
  readonly model: L;
  /**
   * The loaded model's worker. One load at a time, whoever asks; it belongs to nobody, so a caller that gives up does not end it.
   * @throws NotReady
   */
  ready(): Promise<WorkerClient>;
  /** A request came back: earlier failures are forgotten. */
  worked(): void;
  /** The worker is gone; the next {@link ready} starts another. */
  died(reason: string): void;
  /** What is loaded is not to be used: it is unloaded, and not tried again until a file of the model is replaced. */
  refuse(reason: string): void;
  /** Reading it never loads anything. */
  status(): ModelState;
  /** Starts loading in the background; never throws. */
  warm(): void;
  readonly isClosed: boolean;
  /**
   * Refuses new work, waits for `pending`, gives up a load that nobody waits for, frees the model.
   * @param graceMs how long `pending` may take; after it the thread is ended under the run.
   */
  close(pending?: Promise<unknown>, graceMs?: number): Promise<void>;
}

/** Loads and crashes in a row before we stop trying with the same files. */
const MOST_FAILURES = 3;

/** In the state `idle`, `missing` or `failed` (a model that must not be used); nothing is loaded yet. */
export function createModelHost<L extends Located>(options: ModelHostOptions<L>): ModelHost<L> {
  const { log, what, nameOf } = options;
  const spawn = options.spawn ?? spawnWorker;
  let model = options.first;
  let worker: WorkerClient | undefined;
  let starting: WorkerClient | undefined;
  let loading: Promise<WorkerClient> | undefined;
  let failures = 0;
  let displaced: string | undefined;
  let failure: string | undefined = model.kind === "refused" ? model.reason : undefined;
  let closed = false;

  /** A model that was installed, repaired or replaced since the last look. */
  async function lookAgain(): Promise<void> {
    const before = model.kind === "missing" ? undefined : model.stamp;
    const found = await options.find();
    if (found.kind === "missing" ? model.kind === "missing" : found.stamp === before) return;
    model = options.admit?.(found) ?? found;
    failures = 0;
    failure = model.kind === "refused" ? model.reason : undefined;
  }

  async function load(): Promise<WorkerClient> {
    if (model.kind === "missing" || failure !== undefined) await lookAgain();
    const installed: L = model;
    if (installed.kind === "missing") throw new NotReady("missing", installed.reason);
    if (!isInstalled(installed) || failures >= MOST_FAILURES) throw new NotReady("failed", failure ?? "it failed too often.");
    const request = options.request(installed);
    const limit = setTimeout(() => void starting?.stop(), options.loadMs);
    try {
      if (!(await hasCurrentCompact(request))) {
        // In a worker of its own: the 100 MB that making a vocabulary takes go with that thread.
        starting = createWorkerClient(spawn);
        await starting.ask({ kind: "prepare", load: request });
        await starting.stop();
      }
      starting = createWorkerClient(spawn);
      const answer = await starting.ask({ kind: "load", load: request });
      if (answer.kind === "loaded") {
        const { tokenizerMs, sessionMs, tokenizer, remark } = answer;
        const times = { tokenizerMs: Math.round(tokenizerMs), sessionMs: Math.round(sessionMs) };
        log.info(`${what} loaded`, { model: nameOf(installed), tokenizer, ...times });
        if (remark !== undefined) log.error(remark, { model: nameOf(installed) });
        displaced = remark;
      }
      failure = undefined;
      return starting;
    } catch (error) {
      await starting?.stop();
      if (closed) throw new NotReady("closing", "it is shutting down.");
      failures++;
      failure = withoutPath(error, request.directory);
      log.warn(`${what} does not load`, { model: nameOf(installed), reason: failure, failures });
      throw new NotReady("failed", failure);
    } finally {
      clearTimeout(limit);
      starting = undefined;
    }
  }

  function ready(): Promise<WorkerClient> {
    if (worker?.alive) return Promise.resolve(worker);
    worker = undefined;
    loading ??= load()
      .then((client) => {
        worker = client;
        return client;
      })
      .finally(() => {
        loading = undefined;
      });
    return loading;
  }

  return {
    get model() {
      return model;
    },
    get isClosed() {
      return closed;
    },
    ready,
    worked() {
      failures = 0;
    },
    died(reason) {
      worker = undefined;
      failures++;
      failure = reason;
      log.error(`${what}: its worker died`, { model: nameOf(model), reason, failures });
    },
    refuse(reason) {
      log.error(`${what} is refused`, { model: nameOf(model), reason });
      failures = MOST_FAILURES;
      failure = reason;
      void worker?.retire();
      worker = undefined;
    },
    status() {
      if (model.kind === "missing") {
        const { reason, remedy, isDisabledByPlan } = model;
        return {
          state: "missing",
          reason,
          ...(remedy === undefined ? {} : { remedy }),
          ...(isDisabledByPlan === true ? { isDisabledByPlan } : {}),
        };
      }
      const name = nameOf(model);
      const remedy = (failure === undefined ? undefined : runtimeRemedy(failure)) ?? model.remedy;
      const mending = remedy === undefined ? {} : { remedy };
      const there = { model: name, ...(displaced === undefined ? {} : { displaced }), ...mending };
      if (worker?.alive === true) return { state: "ready", ...there };
      if (loading !== undefined) return { state: "loading", ...there };
      if (failure !== undefined) return { state: "failed", model: name, reason: failure, ...mending };
      return { state: "idle", ...there };
    },
    warm() {
      if (!closed) ready().catch(() => undefined);
    },
    async close(pending, graceMs) {
      closed = true;
      const isDone = await settledWithin(pending, graceMs);
      // A load that nobody waits for is given up.
      await starting?.stop();
      const client = worker ?? (await loading?.catch(() => undefined));
      worker = undefined;
      await (isDone ? client?.retire() : client?.stop());
    },
  };
}

/** Waits for `work`, at most `ms`. @returns whether it came to an end. */
async function settledWithin(work: Promise<unknown> | undefined, ms: number | undefined): Promise<boolean> {
  if (ms === undefined) {
    await work;
    return true;
  }
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  try {
    return await Promise.race([Promise.resolve(work).then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A codec of types: the compiler does not narrow a generic union by its `kind`. */
const isInstalled = <L extends Located>(model: L): model is Installed<L> => model.kind === "installed";

/** Reasons end with a full stop, so that the next sentence can follow. */
export const sentence = (reason: string): string => (/[.!?]$/.test(reason) ? reason : `${reason}.`);

/** Failure texts reach clients; where the model lies is nobody's business there. */
const withoutPath = (error: unknown, directory: string) =>
  (error instanceof Error ? error.message : String(error)).replaceAll(directory, "<model directory>");
