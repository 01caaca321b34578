/** The fact mirror (`tools-graph.md` §3.11, `data-model.md` §9.1): facts follow their observations, in the same transaction. */

import { causeChain } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Tx } from "../store/port.ts";
import { closeFacts, mirrorFacts, replaceFacts } from "../store/queries/facts.ts";

/** Why a fact no longer holds; stored beside it. */
export type ClosingReason = "corrected" | "superseded" | "quarantined" | "conflict resolved";

export interface FactMirror {
  /**
   * A current fact for each trusted, live observation among these: when it is stored, and when it is promoted. Under a savepoint: a mirror
   * that fails is logged and never fails the write.
   */
  append(tx: Tx, observationIds: readonly string[], log: Logger): Promise<void>;
  /** The facts of these observations end now: they were retired, or lost their trust. `successor` is the observation in their place. */
  close(tx: Tx, observationIds: readonly string[], reason: ClosingReason, successor?: string): Promise<void>;
  /** The observation says something else now: its fact ends, a new one begins. Call it after the text has changed. */
  replace(tx: Tx, observationId: string, reason: ClosingReason): Promise<void>;
}

/** @param enabled `CUBA_BITEMPORAL`. Off stops new facts; those that are there still end with their observations. */
export function createFactMirror({ enabled }: { readonly enabled: boolean }): FactMirror {
  const close: FactMirror["close"] = async (tx, observationIds, reason, successor) => {
    if (observationIds.length > 0) await tx.run(closeFacts({ observationIds, reason, successor: successor ?? null }));
  };
  return {
    async append(tx, observationIds, log) {
      if (!enabled || observationIds.length === 0) return;
      try {
        await tx.savepoint((inner) => inner.run(mirrorFacts(observationIds)));
      } catch (cause) {
        log.warn("observations were stored without their facts", { count: observationIds.length, cause: causeChain(cause) });
      }
    },
    close,
    async replace(tx, observationId, reason) {
      if (enabled) await tx.run(replaceFacts({ observationId, reason }));
      else await close(tx, [observationId], reason);
    },
  };
}
