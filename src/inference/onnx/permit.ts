/** A session serves one caller at a time; the others wait in the order they came, and leave when they give up. */
export interface Permit {
  /** @returns the function that hands it on; may be called twice. @throws the signal's reason when it fires first. */
  acquire(signal: AbortSignal): Promise<() => void>;
}

export function createPermit(): Permit {
  const line = new Set<() => void>();
  let taken = false;

  const handOn = () => {
    const [next] = line;
    if (next === undefined) taken = false;
    else {
      line.delete(next);
      next();
    }
  };
  const once = (): (() => void) => {
    let held = true;
    return () => {
      if (held) handOn();
      held = false;
    };
  };

  return {
    async acquire(signal) {
      signal.throwIfAborted();
      if (!taken) {
        taken = true;
        return once();
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const leave = () => {
        line.delete(resolve);
        reject(signal.reason);
      };
      line.add(resolve);
      signal.addEventListener("abort", leave, { once: true });
      try {
        await promise;
        return once();
      } finally {
        signal.removeEventListener("abort", leave);
      }
    },
  };
}
