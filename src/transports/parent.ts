/** A client that dies without closing our input: the pipe stays open where another of its children holds the other end, and we would stay for ever. */

/** How often the parent is looked at. */
const LOOK_EVERY_MS = 5_000;

/** A launcher that starts us and ends is no dead client; one whose client also says nothing for this long is. */
const QUIET_MS = 60_000;

export interface ParentWatch extends Disposable {
  /** Fires when the parent is gone and the input has been quiet since. */
  readonly gone: AbortSignal;
  /** Something came in. */
  heard(): void;
}

export interface ParentWatchOptions {
  readonly parentOf: () => number;
  readonly lookEveryMs?: number;
  readonly quietMs?: number;
}

export function watchParent(options: ParentWatchOptions = { parentOf: () => process.ppid }): ParentWatch {
  const { parentOf, lookEveryMs = LOOK_EVERY_MS, quietMs = QUIET_MS } = options;
  const controller = new AbortController();
  const parent = parentOf();
  let quietSince = performance.now();
  const timer = setInterval(() => {
    if (parentOf() === parent) quietSince = performance.now();
    else if (performance.now() - quietSince >= quietMs) controller.abort();
  }, lookEveryMs);
  return {
    gone: controller.signal,
    heard() {
      quietSince = performance.now();
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
