/** Measures of graphs in a worker, one at a time: two would take both cores of a small machine from whoever asks something. */
import { cancelled, MemoryError, timedOut } from "../../kernel/errors.ts";
import { workerEntryOf } from "../../kernel/worker-entry.ts";
import type { Measured, RunMeasure } from "./measures.ts";

const spawnWorker = (): Worker =>
  new Worker(workerEntryOf("services/analytics", new URL("./worker.ts", import.meta.url)), { smol: true, name: "graph" });

export function createMeasureRunner(spawn: () => Worker = spawnWorker): RunMeasure {
  let last: Promise<unknown> = Promise.resolve();

  return async (measure, graph, { remainingMs, signal }) => {
    const turn = Promise.withResolvers<void>();
    const before = last;
    last = turn.promise;
    const { promise: over, reject } = Promise.withResolvers<never>();
    const late = () => reject(timedOut("The graph is too large to be measured in the time of one call. Nothing was written."));
    const timer = Number.isFinite(remainingMs) ? setTimeout(late, remainingMs) : undefined;
    const stop = () => reject(cancelled());
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    let worker: Worker | undefined;
    try {
      await Promise.race([before, over]);
      worker = spawn();
      const { promise: answered, resolve, reject: fail } = Promise.withResolvers<Measured[typeof measure]>();
      worker.onmessage = ({ data }: MessageEvent<Measured[typeof measure]>) => resolve(data);
      worker.onerror = (event) => fail(new MemoryError("internal", `the thread that measures graphs failed: ${event.message}`));
      worker.postMessage({ measure, graph });
      return await Promise.race([answered, over]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      worker?.terminate();
      turn.resolve();
    }
  };
}
