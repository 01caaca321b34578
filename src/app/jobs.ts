/** The timers of a process that owns the database: what happens without anybody asking. */
import type { Config } from "../config/load.ts";
import { causeChain } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Rem } from "../services/rem/cycle.ts";
import type { OwnerAccess } from "../store/connection.ts";
import type { Traits } from "../store/port.ts";
import { markIndexPages } from "../store/upkeep.ts";

/** From the end of one consolidation cycle to the start of the next (`tools-maintenance.md` §18.1). */
const CYCLE_EVERY_SECS = 4 * 3_600;
/** A cycle that came to its end so lately is enough: daemons that stop when idle start often. */
const RECENT_SECS = CYCLE_EVERY_SECS / 2;
/** After a cycle that could not run at all (database away) it is tried again, milliseconds. */
const RETRY_MS = 300_000;
/** What an idle stop waits for a cycle at most, milliseconds; what is left is done by the next one. */
const BEFORE_STOP_MS = 120_000;
/** How often the embedded index of words is looked after, milliseconds. */
const TEND_EVERY_MS = 60_000;
/** How often idle clients are forgotten, milliseconds. */
const SWEEP_EVERY_MS = 3_600_000;

export interface JobParts {
  readonly rem: Rem;
  readonly db: OwnerAccess & { readonly traits: Traits };
  readonly clients: { sweep(): Promise<void> };
  readonly config: Pick<Config, "settings">;
  /** False in a process that lives for one command: nothing is consolidated by the way. */
  readonly consolidates: boolean;
  /** Fires when the product closes. */
  readonly stopped: AbortSignal;
  readonly log: Logger;
  /** Milliseconds between cycles; tests shorten it. */
  readonly everyMs?: number;
}

export interface Jobs {
  /** Runs the cycle that is overdue, or waits for the one that runs, two minutes at most: a daemon that always ends within its first hours would have none. */
  beforeIdleStop(): Promise<void>;
}

/** Starts every timer; they end with `stopped`. None keeps the process alive. */
export function startJobs({ rem, db, clients, config, consolidates, stopped, log, everyMs = CYCLE_EVERY_SECS * 1_000 }: JobParts): Jobs {
  every(SWEEP_EVERY_MS, () => void sweepClients(clients, log), stopped);
  // A server has autovacuum; the embedded engine has this.
  if (!db.traits.concurrent) every(TEND_EVERY_MS, () => void tendIndex(db, log), stopped);

  const cycle = async () => {
    try {
      await rem.run({ signal: stopped, unlessWithinSecs: Math.min(RECENT_SECS, everyMs / 2_000) });
      return everyMs;
    } catch (cause) {
      if (!stopped.aborted) log.warn("the consolidation cycle could not run", { cause: causeChain(cause) });
      return Math.min(RETRY_MS, everyMs);
    }
  };
  const later = (ms: number) => {
    if (stopped.aborted) return;
    const timer = setTimeout(() => void cycle().then(later), ms);
    timer.unref();
    stopped.addEventListener("abort", () => clearTimeout(timer), { once: true });
  };
  if (consolidates) later(config.settings.REM_FIRST_DELAY_SECS.value * 1_000);

  return {
    async beforeIdleStop() {
      if (!consolidates) return;
      const limit = AbortSignal.timeout(BEFORE_STOP_MS);
      const timeUp = new Promise<void>((resolve) => limit.addEventListener("abort", () => resolve(), { once: true }));
      await Promise.race([rem.settled(), timeUp]);
      if (limit.aborted) return;
      await rem.run({ signal: AbortSignal.any([limit, stopped]), unlessWithinSecs: CYCLE_EVERY_SECS });
    },
  };
}

function every(ms: number, work: () => void, stopped: AbortSignal): void {
  const timer = setInterval(work, ms);
  timer.unref();
  stopped.addEventListener("abort", () => clearInterval(timer), { once: true });
}

async function sweepClients(clients: JobParts["clients"], log: Logger): Promise<void> {
  try {
    await clients.sweep();
  } catch (cause) {
    log.warn("idle clients were not forgotten", { cause: causeChain(cause) });
  }
}

async function tendIndex(db: OwnerAccess, log: Logger): Promise<void> {
  try {
    await db.asOwner(markIndexPages);
  } catch (cause) {
    log.warn("the index of words was not looked after", { cause: causeChain(cause) });
  }
}
