/** A moment by which a piece of work must have answered. Clock injected, so tests need not wait. */
export interface Deadline {
  /** Milliseconds left, never negative; Infinity where there is no limit. */
  remainingMs(): number;
  /** A shorter deadline: `fraction` (0–1) of what is left now. */
  share(fraction: number): Deadline;
  /** The nearer of this one and `ms` milliseconds from now. */
  atMost(ms: number): Deadline;
}

/** Monotonic milliseconds. */
export type Clock = () => number;
const monotonic: Clock = () => performance.now();

/** A deadline `ms` milliseconds from now. */
export function deadlineIn(ms: number, clock: Clock = monotonic): Deadline {
  const endsAt = clock() + ms;
  return {
    remainingMs: () => Math.max(0, endsAt - clock()),
    share: (fraction) => deadlineIn(Math.max(0, endsAt - clock()) * fraction, clock),
    atMost: (limitMs) => deadlineIn(Math.min(limitMs, Math.max(0, endsAt - clock())), clock),
  };
}

/** Time that long work keeps free at the end of a call for its answer, milliseconds. */
export const ANSWER_RESERVE_MS = 1_500;

/** No limit: background work that is bounded elsewhere. */
export const noDeadline: Deadline = {
  remainingMs: () => Number.POSITIVE_INFINITY,
  share: () => noDeadline,
  atMost: (ms) => (Number.isFinite(ms) ? deadlineIn(ms) : noDeadline),
};

/** Longest delay a JavaScript timer takes; a longer one fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** An abort signal that fires when the deadline passes (never, where there is none) or when `parent` fires. Dispose it to free the timer. */
export function signalUntil(deadline: Deadline, parent?: AbortSignal): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const left = deadline.remainingMs();
  const timer = Number.isFinite(left)
    ? setTimeout(() => controller.abort(new DOMException("deadline passed", "TimeoutError")), Math.min(left, LONGEST_TIMER_MS))
    : undefined;
  const onParent = () => controller.abort(parent?.reason);
  if (parent?.aborted) onParent();
  else parent?.addEventListener("abort", onParent, { once: true });
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      clearTimeout(timer);
      parent?.removeEventListener("abort", onParent);
    },
  };
}

/** `work`, or the signal's reason when that comes first; `work` then goes on for nobody and its failure is nobody's either. */
export async function beforeAbort<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
