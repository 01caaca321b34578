/** The product's embedder: one model in one worker, loaded once and on demand, questions before passages. */
import { embeddingLabel } from "../domain/embedding-text.ts";
import type { Clock } from "../kernel/deadline.ts";
import { type MemoryError, unavailable } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { INSTALL_COMMAND, type LocatedModel } from "./models/locate.ts";
import type { EmbeddingSettings } from "./models/settings.ts";
import { createLane, gaveUp, type Ticket } from "./onnx/lane.ts";
import type { LoadRequest } from "./onnx/messages.ts";
import { createWorkerClient, spawnWorker, type WorkerClient, WorkerDied } from "./onnx/worker-client.ts";
import type { Embedder, EmbedRole, ModelState } from "./port.ts";
import { createQueryCache } from "./query-cache.ts";
import { hasCurrentCompact } from "./tokenizer/load.ts";

export interface EmbedderOptions {
  /**
   * Finds the model; asked once at the start and again where none was there or it failed, so that `models embed` takes effect without a restart.
   * `() => locateEmbeddingModel(places)`
   */
  readonly find: () => Promise<LocatedModel>;
  /** Threads of one inference; 1–4 (`CUBA_EMBED_INTRA_THREADS`). */
  readonly threads: number;
  /** `<cache>/onnxruntime/<version>`: where the compiled program keeps the extracted native library. */
  readonly runtimeDirectory?: string | undefined;
  /** `ORT_DYLIB_PATH`: a runtime library of the same version to use instead. */
  readonly runtimeLibrary?: string | undefined;
  /** Where a vocabulary is kept that cannot lie beside a read-only model. */
  readonly derivedDirectory?: string | undefined;
  readonly log: Logger;
  readonly clock?: Clock;
  /** Starts the worker; tests bring one that misbehaves. */
  readonly spawn?: () => Worker;
  /** Milliseconds after which a load or one text counts as stuck; tests shorten them. */
  readonly limits?: { readonly loadMs: number; readonly textMs: number };
}

/** Loads and crashes in a row before we stop trying with the same files. */
const MOST_FAILURES = 3;
/** The largest model of the catalogue loads in seconds and reads its longest text in some; what takes longer is stuck. */
const LIMITS = { loadMs: 300_000, textMs: 60_000 };

/**
 * @returns an embedder in the state `idle`, `missing` or `failed` (a model that must not be used); nothing is loaded yet.
 */
export async function createEmbedder(options: EmbedderOptions): Promise<Embedder> {
  const { log, limits = LIMITS } = options;
  const lane = createLane();
  const cache = createQueryCache(options.clock);
  let model = await options.find();
  const { settings } = model;
  const label = embeddingLabel(settings.name);
  let worker: WorkerClient | undefined;
  let starting: WorkerClient | undefined;
  let loading: Promise<WorkerClient> | undefined;
  let pumping: Promise<void> | undefined;
  let failures = 0;
  let failure: string | undefined = model.kind === "refused" ? model.reason : undefined;
  let closed = false;

  const prefixed = (text: string, role: EmbedRole) => (role === "query" ? settings.queryPrefix : settings.passagePrefix) + text;
  const cacheKey = (text: string, found: LocatedModel) =>
    [label, settings.dimensions, settings.pooling, found.kind === "installed" ? found.fingerprint : "", prefixed(text, "query")].join("|");

  const failed = (reason: string) =>
    unavailable(
      `The embedding model ${settings.name} does not work: ${reason} Nothing was written. 'memory-industry doctor' shows more; '${INSTALL_COMMAND}' downloads the model again.`,
    );

  /** A model that was installed, repaired or replaced since the last look; its name and width may not change under a running process. */
  async function lookAgain(): Promise<void> {
    const before = model.kind === "missing" ? undefined : model.stamp;
    const found = await options.find();
    if (found.kind === "missing" ? model.kind === "missing" : found.stamp === before) return;
    model = found.kind === "installed" && isAnother(settings, found.settings) ? refusedAsAnother(found) : found;
    failures = 0;
    failure = model.kind === "refused" ? model.reason : undefined;
  }

  async function load(): Promise<WorkerClient> {
    if (model.kind === "missing" || failure !== undefined) await lookAgain();
    if (model.kind === "missing") throw unavailable(model.reason);
    if (model.kind === "refused" || failures >= MOST_FAILURES) throw failed(sentence(failure ?? "it failed too often."));
    const request: LoadRequest = {
      directory: model.directory,
      graphFile: model.graphFile,
      dimensions: settings.dimensions,
      pooling: settings.pooling,
      output: model.settings.output,
      maxTokens: model.settings.maxTokens,
      threads: options.threads,
      runtimeDirectory: options.runtimeDirectory,
      runtimeLibrary: options.runtimeLibrary,
      derivedDirectory: options.derivedDirectory,
    };
    const spawn = options.spawn ?? spawnWorker;
    const limit = setTimeout(() => void starting?.stop(), limits.loadMs);
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
        const { tokenizerMs, sessionMs, tokenizer } = answer;
        log.info("embedding model loaded", {
          model: settings.name,
          tokenizer,
          tokenizerMs: Math.round(tokenizerMs),
          sessionMs: Math.round(sessionMs),
        });
      }
      failure = undefined;
      return starting;
    } catch (error) {
      await starting?.stop();
      if (closed) throw closing();
      failures++;
      failure = withoutPath(error, request.directory);
      log.warn("embedding model does not load", { model: settings.name, reason: failure, failures });
      throw failed(sentence(failure));
    } finally {
      clearTimeout(limit);
      starting = undefined;
    }
  }

  /** One load at a time, whoever asks; it belongs to nobody, so a caller that gives up does not end it. */
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

  async function serve(client: WorkerClient, ticket: Ticket): Promise<void> {
    const limit = setTimeout(() => void client.stop(), limits.textMs);
    try {
      const answer = await client.ask({ kind: "embed", text: prefixed(ticket.text, ticket.role) });
      if (answer.kind !== "vector") throw new Error(`the worker answered '${answer.kind}'`);
      failures = 0;
      if (ticket.role === "query") cache.put(cacheKey(ticket.text, model), answer.vector);
      ticket.resolve(answer.vector);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (error instanceof WorkerDied) {
        worker = undefined;
        failures++;
        failure = reason;
        log.error("embedding worker died", { model: settings.name, reason, failures });
      }
      ticket.reject(failed(sentence(reason)));
    } finally {
      clearTimeout(limit);
    }
  }

  async function pump(): Promise<void> {
    while (lane.waiting > 0) {
      let client: WorkerClient;
      try {
        client = await ready();
      } catch (error) {
        lane.clear(error);
        return;
      }
      const ticket = lane.next();
      if (ticket !== undefined) await serve(client, ticket);
    }
  }

  function wake(): void {
    pumping ??= pump().finally(() => {
      pumping = undefined;
      if (lane.waiting > 0) wake();
    });
  }

  return {
    label,
    dimensions: settings.dimensions,
    status: () => stateOf(model, failure, worker?.alive === true, loading !== undefined),
    warm() {
      if (!closed) ready().catch(() => undefined);
    },
    async embed(texts, role, signal) {
      if (closed) throw closing();
      if (signal.aborted) throw gaveUp(signal);
      const call = new AbortController();
      const onAbort = () => call.abort(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        const pending = texts.map((text) => {
          const known = role === "query" ? cache.get(cacheKey(text, model)) : undefined;
          return known ?? lane.enter(text, role, call);
        });
        if (lane.waiting > 0) wake();
        return await Promise.all(pending);
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    },
    async close() {
      closed = true;
      await pumping;
      // A load that nobody waits for is given up.
      await starting?.stop();
      const client = worker ?? (await loading?.catch(() => undefined));
      worker = undefined;
      await client?.retire();
    },
  };
}

const closing = (): MemoryError => unavailable("The embedding model is shutting down. Nothing was written. Ask again in a moment.");

/** Reasons end with a full stop, so that the next sentence can follow. */
const sentence = (reason: string) => (/[.!?]$/.test(reason) ? reason : `${reason}.`);

function stateOf(model: LocatedModel, failure: string | undefined, loaded: boolean, loading: boolean): ModelState {
  if (model.kind === "missing") return { state: "missing", reason: model.reason };
  const { name } = model.settings;
  if (loaded) return { state: "ready", model: name };
  if (loading) return { state: "loading", model: name };
  if (failure !== undefined) return { state: "failed", model: name, reason: failure };
  return { state: "idle", model: name };
}

const isAnother = (running: EmbeddingSettings, found: EmbeddingSettings) =>
  (["name", "dimensions", "pooling", "queryPrefix", "passagePrefix"] as const).some((key) => running[key] !== found[key]);

/** Vectors of two models in one process would carry one label. */
const refusedAsAnother = (found: Extract<LocatedModel, { kind: "installed" }>): LocatedModel => ({
  kind: "refused",
  settings: found.settings,
  stamp: found.stamp,
  reason: `the installed model is now ${found.settings.name} (${found.settings.dimensions} numbers), another than this process began with; restart it`,
});

/** Failure texts reach clients; where the model lies is nobody's business there. */
const withoutPath = (error: unknown, directory: string) =>
  (error instanceof Error ? error.message : String(error)).replaceAll(directory, "<model directory>");

/** An embedder for where there is nothing to load: its state is `missing`, and embedding says what to do. */
export function createNoEmbedder(reason: string, { name, dimensions }: Pick<EmbeddingSettings, "name" | "dimensions">): Embedder {
  return {
    label: embeddingLabel(name),
    dimensions,
    status: () => ({ state: "missing", reason }),
    warm: () => undefined,
    embed: () => Promise.reject(unavailable(`${sentence(reason)} Nothing was written. Install a model with '${INSTALL_COMMAND}'.`)),
    close: () => Promise.resolve(),
  };
}
