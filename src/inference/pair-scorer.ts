/**
 * Pairs of texts through one model in one worker, under one deadline over load, waiting and inference (`retrieval.md` §4.5). The model is loaded before the
 * permit is taken, so a cold load never looks like a busy model; a native run cannot be stopped, so the deadline is looked at between passes, and a run
 * that is given up keeps the permit until it is over.
 */
import { beforeAbort, signalUntil } from "../kernel/deadline.ts";
import { cancelled } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { capitalised } from "../kernel/text.ts";
import type { LocatedPair, PairModel } from "./models/locate-pair.ts";
import { type BatchRules, planBatches } from "./onnx/batches.ts";
import { type PairPlacement, runtimeRemedy } from "./onnx/messages.ts";
import { createModelHost, NotReady, sentence } from "./onnx/model-host.ts";
import { createPermit } from "./onnx/permit.ts";
import { type WorkerClient, WorkerDied } from "./onnx/worker-client.ts";
import type { Answer, CallLimits, ModelState, NoAnswerCode } from "./port.ts";

export interface PairScorerOptions {
  /** In sentences: `reranker`, `entailment model`. */
  readonly what: string;
  readonly find: () => Promise<LocatedPair>;
  /** Logits that a pair must give; undefined takes what comes. */
  readonly labels?: number;
  readonly threads: number;
  readonly rules: Omit<BatchRules, "maxTokens">;
  readonly placement: PairPlacement;
  readonly runtimeDirectory?: string | undefined;
  readonly runtimeLibrary?: string | undefined;
  readonly derivedDirectory?: string | undefined;
  readonly log: Logger;
  /** Starts the worker; tests bring one that misbehaves. */
  readonly spawn?: (() => Worker) | undefined;
  /** Milliseconds after which a load or one pass counts as stuck; tests shorten them. */
  readonly limits?: { readonly loadMs: number; readonly runMs: number };
}

/** A gigabyte from a slow disk takes a minute; the slowest pass we know (16 pairs, a large model, two threads) some 35 s. */
const LIMITS = { loadMs: 300_000, runMs: 180_000 };

/** Whoever asked is gone when the product closes; a pass of a large model is not waited for. */
const CLOSE_GRACE_MS = 1_000;

export interface ScoredRow {
  /** Place in the list that was given. */
  readonly row: number;
  /** f32 [labels] */
  readonly logits: Float32Array;
  readonly isCut: boolean;
}

export interface PairScorer {
  status(): ModelState;
  warm(): void;
  /** The loaded model is not to be used; another look is taken when its files are replaced. */
  refuse(reason: string): void;
  /** The model as last seen; undefined where none is installed. */
  readonly model: PairModel | undefined;
  /**
   * Logits for each pair, or why there are none.
   * @param onRows hears of each finished pass, so that what was paid for is not lost when the time runs out.
   */
  run(
    pairs: readonly (readonly [string, string])[],
    limits: CallLimits,
    onRows?: (rows: readonly ScoredRow[], model: PairModel) => void,
  ): Promise<Answer<ScoredRow>>;
  close(): Promise<void>;
}

const none = (code: NoAnswerCode, reason: string): Answer<never> => ({ kind: "none", code, reason });

/** In the state `idle`, `missing` or `failed`; nothing is loaded yet. */
export async function createPairScorer(options: PairScorerOptions): Promise<PairScorer> {
  const { what, limits = LIMITS } = options;
  const host = createModelHost<LocatedPair>({
    what,
    first: await options.find(),
    find: options.find,
    nameOf: (model) => model.name,
    request: ({ directory, graphFile, maxTokens, padId, remark, name }) => {
      if (remark !== undefined) options.log.warn(remark, { model: name });
      return {
        task: "pairs",
        directory,
        graphFile,
        maxTokens,
        padId,
        labels: options.labels,
        placement: options.placement,
        threads: options.threads,
        runtimeDirectory: options.runtimeDirectory,
        runtimeLibrary: options.runtimeLibrary,
        derivedDirectory: options.derivedDirectory,
      };
    },
    log: options.log,
    spawn: options.spawn,
    loadMs: limits.loadMs,
  });
  const permit = createPermit();
  let trouble: string | undefined;

  /** What a person should hear of later: not that others were asking, or that a call had no time. */
  const noted = (answer: Answer<ScoredRow>): Answer<ScoredRow> => {
    if (answer.kind === "answered") trouble = undefined;
    else if (answer.code === "timeout" || answer.code === "inference_error") trouble = answer.reason;
    return answer;
  };
  const running = new Set<Promise<unknown>>();

  /** Asks the worker; one that never comes back is ended. Whoever gives up waiting does not end the request. */
  async function ask(client: WorkerClient, message: Parameters<WorkerClient["ask"]>[0]) {
    const limit = setTimeout(() => void client.stop(), limits.runMs);
    try {
      return await client.ask(message);
    } catch (error) {
      if (error instanceof WorkerDied) host.died(error.message);
      throw error;
    } finally {
      clearTimeout(limit);
    }
  }

  async function runBatches(loaded: WorkerClient, pairs: readonly (readonly [string, string])[], call: Call): Promise<Answer<ScoredRow>> {
    // The batch before this one may have taken the worker along.
    const client = loaded.alive ? loaded : await host.ready();
    const encoded = await ask(client, { kind: "encode", pairs });
    if (encoded.kind !== "encoded") throw new Error(`the worker answered '${encoded.kind}'`);
    const { lengths, cut } = encoded;
    const done: ScoredRow[] = [];
    for (const { rows, length, size } of planBatches(lengths, { ...options.rules, maxTokens: call.model.maxTokens })) {
      if (call.signal.aborted) break;
      const answer = await ask(client, { kind: "run", rows, length, size });
      if (answer.kind !== "logits") throw new Error(`the worker answered '${answer.kind}'`);
      const scored = rows.map((row, at) => ({
        row,
        logits: answer.logits.subarray(at * answer.labels, (at + 1) * answer.labels),
        isCut: cut[row] === true,
      }));
      done.push(...scored);
      call.finished = done.length;
      call.onRows?.(scored, call.model);
    }
    host.worked();
    return done.length === pairs.length
      ? { kind: "answered", values: done.sort((a, b) => a.row - b.row) }
      : outOfTime(what, done.length, pairs.length);
  }

  return {
    status() {
      const status = host.status();
      return trouble === undefined || status.state === "missing" || status.state === "failed" ? status : { ...status, trouble };
    },
    warm: host.warm,
    refuse: host.refuse,
    get model() {
      return host.model.kind === "installed" ? host.model : undefined;
    },
    async run(pairs, { deadline, signal }, onRows) {
      if (signal.aborted && !isTimeout(signal)) throw cancelled();
      if (signal.aborted || deadline.remainingMs() <= 0) {
        return none("no_budget", `The ${what} was not asked: the time for it was used up before. Ask again.`);
      }
      using limit = signalUntil(deadline, signal);
      let client: WorkerClient;
      try {
        client = await beforeAbort(limit.signal, host.ready());
      } catch (error) {
        if (limit.signal.aborted)
          return noted(
            given(
              limit.signal,
              none("timeout", `The ${what} was still loading when the time of this call was over; it goes on loading. Ask again.`),
            ),
          );
        if (!(error instanceof NotReady)) throw error;
        return notReady(what, error, host.status());
      }
      const { model } = host;
      if (model.kind !== "installed") return none("no_model", `The ${what} was taken away while it was asked.`);
      let release: () => void;
      try {
        release = await permit.acquire(limit.signal);
      } catch {
        return given(limit.signal, none("busy", `The ${what} was busy with an earlier batch until the time of this call was over.`));
      }
      const call: Call = { model, signal: limit.signal, onRows, finished: 0 };
      const work = runBatches(client, pairs, call).finally(() => {
        release();
        running.delete(work);
      });
      running.add(work);
      try {
        return noted(await beforeAbort(limit.signal, work));
      } catch (error) {
        if (limit.signal.aborted) return noted(given(limit.signal, outOfTime(what, call.finished, pairs.length)));
        const reason = sentence(error instanceof Error ? error.message : String(error));
        return noted(none("inference_error", `The ${what} failed: ${reason}`));
      }
    },
    close: () => host.close(Promise.allSettled(running), CLOSE_GRACE_MS),
  };
}

interface Call {
  readonly model: PairModel;
  readonly signal: AbortSignal;
  readonly onRows: ((rows: readonly ScoredRow[], model: PairModel) => void) | undefined;
  finished: number;
}

const isTimeout = (signal: AbortSignal): boolean => signal.reason instanceof DOMException && signal.reason.name === "TimeoutError";

/** The answer of a call that ended early: time is an outcome, a client that cancelled is none. @throws MemoryError `cancelled` */
function given(signal: AbortSignal, outcome: Answer<never>): Answer<never> {
  if (!isTimeout(signal)) throw cancelled();
  return outcome;
}

const outOfTime = (what: string, done: number, all: number): Answer<never> =>
  none("timeout", `The ${what} had read ${done} of ${all} texts when the time of this call was over.`);

function notReady(what: string, error: NotReady, status: ModelState): Answer<never> {
  if (error.kind === "missing") {
    const isDisabled = status.state === "missing" && status.isDisabledByPlan === true;
    return none(isDisabled ? "disabled_by_plan" : "no_model", capitalised(sentence(error.message)));
  }
  const remedy = runtimeRemedy(error.message);
  return none(
    "load_failed",
    `The ${what} does not load: ${sentence(error.message)}${remedy === undefined ? "" : ` To mend it: ${remedy}.`}`,
  );
}
