/** What a scope holds, in numbers, and its most important entities (`tools-maintenance.md` §5.5). */
import type { CallContext, Scope } from "../../kernel/context.ts";
import type { Database, RowOf } from "../../store/port.ts";
import { maintenanceCounts, topEntities, topEntityCount } from "../../store/queries/maintenance.ts";
import type { Page } from "../observations/observations.ts";

export type TopEntity = RowOf<typeof topEntities>;

export interface Counts {
  readonly entities: number;
  readonly observations: number;
  readonly superseded: number;
}

export interface Overview {
  counts(ctx: CallContext): Promise<Counts>;
  /** Most important first. */
  top(ctx: CallContext, page: Page): Promise<{ readonly rows: readonly TopEntity[]; readonly total: number }>;
}

const nothing: Counts = { entities: 0, observations: 0, superseded: 0 };

export interface OverviewParts {
  readonly db: Database;
  /** Who asks for the numbers wants to see the memory as it is: what is remembered of it for the abstention gate is dropped (§5.5). */
  readonly onCounted: () => void;
}

export function createOverview({ db, onCounted }: OverviewParts): Overview {
  return {
    async counts(ctx) {
      const found = await db.read(ctx, async (tx) => (await tx.first(maintenanceCounts({ scope: ctx.scope }))) ?? nothing);
      onCounted();
      return found;
    },
    top: (ctx, page) =>
      db.read(ctx, async (tx) => ({
        rows: await tx.all(topEntities({ scope: ctx.scope, ...page })),
        total: (await tx.first(topEntityCount({ scope: ctx.scope })))?.count ?? 0,
      })),
  };
}

/** True where an active project limits what a call sees. */
export const isProjectScoped = (scope: Scope): boolean => scope.kind === "project";
