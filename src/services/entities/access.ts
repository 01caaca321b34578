/** What a read of an entity does to it. A write caused by a read: it runs after the answer is built and never fails it. */
import { boostEntity, boostNeighbour } from "../../domain/strength/reinforcement.ts";
import type { CallContext } from "../../kernel/context.ts";
import { causeChain } from "../../kernel/errors.ts";
import type { Database, TxLimits } from "../../store/port.ts";
import { markAccessed, neighboursOf, saveImportances, saveStrength, strengthOf } from "../../store/queries/entities-access.ts";
import type { Background } from "../background.ts";

/** A read waits a second at most for other writers, then it gives its boost up. */
const LIMITS: TxLimits = { lockTimeoutMs: 1_000, byKey: true };

/** Rows marked as read in one transaction: an update of a row costs as much as storing it (14 indexes), and the embedded engine has one connection. */
const MARKED_ROWS = 10;

export interface EntityAccess {
  /** Strengthens the entity and its neighbours a little before it resolves, the observations that were shown behind it. Never throws. */
  record(ctx: CallContext, entityId: string, shownObservations: readonly string[]): Promise<void>;
}

export function createEntityAccess({ db, background }: { readonly db: Database; readonly background: Background }): EntityAccess {
  const mark = async ({ scope, principal }: CallContext, ids: readonly string[]) => {
    const ctx = { scope, principal, signal: new AbortController().signal };
    for (let at = 0; at < ids.length; at += MARKED_ROWS)
      await db.write(ctx, (tx) => tx.run(markAccessed({ ids: ids.slice(at, at + MARKED_ROWS), scope })), LIMITS);
  };

  return {
    async record(ctx, entityId, shownObservations) {
      const { scope } = ctx;
      try {
        await db.write(
          ctx,
          async (tx) => {
            const before = await tx.first(strengthOf({ id: entityId, scope }));
            if (before === undefined) return;
            await tx.run(saveStrength({ id: entityId, ...boostEntity(before, before.secondsSinceBoost) }));
            const neighbours = await tx.all(neighboursOf({ id: entityId, scope }));
            const boosted = neighbours.map(({ id, importance, strongest }) => ({ id, importance: boostNeighbour(importance, strongest) }));
            if (boosted.length > 0) await tx.run(saveImportances(boosted));
          },
          LIMITS,
        );
      } catch (cause) {
        ctx.log.warn("an access was not recorded", { entity: entityId, cause: causeChain(cause) });
      }
      if (shownObservations.length > 0) background.run("access of observations", () => mark(ctx, shownObservations));
    },
  };
}
