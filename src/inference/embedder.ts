/** The product's embedder: one model in one worker, loaded once and on demand, questions before passages. */
import { embeddingLabel } from "../domain/embedding-text.ts";
import type { TokenVectors } from "../domain/retrieval/abstention/word-match.ts";
import type { Clock } from "../kernel/deadline.ts";
import { type MemoryError, unavailable } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { INSTALL_COMMAND, type LocatedModel } from "./models/locate.ts";
import type { EmbeddingSettings } from "./models/settings.ts";
import { createLane, gaveUp, type Ticket } from "./onnx/lane.ts";
import { runtimeRemedy } from "./onnx/messages.ts";
import { createModelHost, NotReady, sentence } from "./onnx/model-host.ts";
import { type WorkerClient, WorkerDied } from "./onnx/worker-client.ts";
import type { Embedder, EmbedRole } from "./port.ts";
import { createQueryCache } from "./query-cache.ts";

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

/** The largest model of the catalogue loads in seconds and reads its longest text in some; what takes longer is stuck. */
const LIMITS = { loadMs: 300_000, textMs: 60_000 };

/**
 * @returns an embedder in the state `idle`, `missing` or `failed` (a model that must not be used); nothing is loaded yet.
 */
export async function createEmbedder(options: EmbedderOptions): Promise<Embedder> {
  const { limits = LIMITS } = options;
  const lane = createLane<Float32Array | TokenVectors>();
  const cache = createQueryCache(options.clock);
  const first = await options.find();
  const { settings } = first;
  const label = embeddingLabel(settings.name);
  const host = createModelHost<LocatedModel>({
    what: "embedding model",
    first,
    find: options.find,
    nameOf: (model) => model.settings.name,
    // Its name and width may not change under a running process.
    admit: (found) => (found.kind === "installed" && isAnother(settings, found.settings) ? refusedAsAnother(found) : found),
    request: ({ directory, graphFile, settings: { output, maxTokens } }) => ({
      task: "embed",
      directory,
      graphFile,
      dimensions: settings.dimensions,
      pooling: settings.pooling,
      output,
      maxTokens,
      threads: options.threads,
      runtimeDirectory: options.runtimeDirectory,
      runtimeLibrary: options.runtimeLibrary,
      derivedDirectory: options.derivedDirectory,
    }),
    log: options.log,
    spawn: options.spawn,
    loadMs: limits.loadMs,
  });
  let pumping: Promise<void> | undefined;

  const prefixOf = (role: EmbedRole) => (role === "query" ? settings.queryPrefix : settings.passagePrefix);
  const prefixed = (text: string, role: EmbedRole) => prefixOf(role) + text;
  const cacheKey = (text: string, found: LocatedModel) =>
    [label, settings.dimensions, settings.pooling, found.kind === "installed" ? found.fingerprint : "", prefixed(text, "query")].join("|");

  const failed = (reason: string) =>
    unavailable(
      `The embedding model ${settings.name} does not work: ${reason} Nothing was written. To mend it: ${runtimeRemedy(reason) ?? host.model.remedy ?? `run '${INSTALL_COMMAND}' again`}.`,
    );
  const explained = (error: unknown): unknown => {
    if (!(error instanceof NotReady)) return error;
    if (error.kind === "missing") return unavailable(error.message);
    return error.kind === "closing" ? closing() : failed(sentence(error.message));
  };

  async function serve(client: WorkerClient, ticket: Ticket<Float32Array | TokenVectors>): Promise<void> {
    const limit = setTimeout(() => void client.stop(), limits.textMs);
    try {
      const answer = await client.ask(
        ticket.wanted === "tokens"
          ? { kind: "tokens", prefix: prefixOf(ticket.role), text: ticket.text }
          : { kind: "embed", text: prefixed(ticket.text, ticket.role) },
      );
      if (answer.kind !== "vector" && answer.kind !== "tokens") throw new Error(`the worker answered '${answer.kind}'`);
      host.worked();
      if (answer.kind === "vector" && ticket.role === "query") cache.put(cacheKey(ticket.text, host.model), answer.vector);
      ticket.resolve(answer.kind === "vector" ? answer.vector : { pieces: answer.pieces, vectors: answer.vectors });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (error instanceof WorkerDied) host.died(reason);
      ticket.reject(failed(sentence(reason)));
    } finally {
      clearTimeout(limit);
    }
  }

  async function pump(): Promise<void> {
    while (lane.waiting > 0) {
      let client: WorkerClient;
      try {
        client = await host.ready();
      } catch (error) {
        lane.clear(explained(error));
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

  /** All texts of a call stand in line at once; whoever gives up takes all of them out. */
  async function inLine<T>(
    texts: readonly string[],
    signal: AbortSignal,
    enter: (text: string, call: AbortController) => T | Promise<T>,
  ): Promise<T[]> {
    if (host.isClosed) throw closing();
    if (signal.aborted) throw gaveUp(signal);
    const call = new AbortController();
    const onAbort = () => call.abort(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const pending = texts.map((text) => enter(text, call));
      if (lane.waiting > 0) wake();
      return await Promise.all(pending);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  return {
    label,
    dimensions: settings.dimensions,
    status: host.status,
    warm: host.warm,
    async embed(texts, role, signal) {
      const known = (text: string) => (role === "query" ? cache.get(cacheKey(text, host.model)) : undefined);
      const answers = await inLine(texts, signal, (text, call) => known(text) ?? lane.enter(text, role, call));
      return answers.flatMap((answer) => (answer instanceof Float32Array ? [answer] : []));
    },
    tokens:
      settings.pooling === "none"
        ? undefined
        : async (texts, role, signal) => {
            const answers = await inLine(texts, signal, (text, call) => lane.enter(text, role, call, "tokens"));
            return answers.flatMap((answer) => (answer instanceof Float32Array ? [] : [answer]));
          },
    close: () => host.close(pumping),
  };
}

const closing = (): MemoryError => unavailable("The embedding model is shutting down. Nothing was written. Ask again in a moment.");

const isAnother = (running: EmbeddingSettings, found: EmbeddingSettings) =>
  (["name", "dimensions", "pooling", "queryPrefix", "passagePrefix"] as const).some((key) => running[key] !== found[key]);

/** Vectors of two models in one process would carry one label. */
const refusedAsAnother = (found: Extract<LocatedModel, { kind: "installed" }>): LocatedModel => ({
  kind: "refused",
  settings: found.settings,
  stamp: found.stamp,
  reason: `the installed model is now ${found.settings.name} (${found.settings.dimensions} numbers), another than this process began with; restart it`,
});
