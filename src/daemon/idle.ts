/** When a daemon that nobody uses ends itself (`cli-daemon.md` §4.9). */

/** How often idleness is looked at. A shorter window is looked at more often, so that it means what it says. */
const LOOK_EVERY_MS = 30_000;
const LOOKS_PER_WINDOW = 4;
const SHORTEST_LOOK_MS = 50;

export interface IdleOptions {
  readonly windowMs: number;
  /** Bridges connected now: a silent one keeps the daemon alive. */
  readonly bridges: () => number;
  /** Milliseconds since the last request; 0 while one is in flight. */
  readonly idleMs: () => number;
  /** Work that is due before the end (a consolidation cycle); whoever comes while it runs keeps the daemon alive. */
  readonly before?: (() => Promise<void>) | undefined;
  /** Called once. */
  readonly onIdle: () => void;
}

export function watchIdle(options: IdleOptions): Disposable {
  const { windowMs, bridges, idleMs } = options;
  const every = Math.max(SHORTEST_LOOK_MS, Math.min(LOOK_EVERY_MS, windowMs / LOOKS_PER_WINDOW));
  // A bridge that leaves is the end of a use, too: without this the daemon would end at the next look after a long, silent connection.
  let lastBridge = performance.now();
  let leaving = false;
  const isIdle = () => bridges() === 0 && idleMs() >= windowMs && performance.now() - lastBridge >= windowMs;
  const look = async () => {
    if (bridges() > 0) lastBridge = performance.now();
    if (leaving || !isIdle()) return;
    leaving = true;
    await options.before?.();
    leaving = false;
    if (!isIdle()) return;
    clearInterval(timer);
    options.onIdle();
  };
  const timer = setInterval(() => void look(), every);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
