/** What is missing in the graph (`tools-cognition.md` §9): five questions, answered of one state of the database. Reads only. */
import type { CallContext } from "../kernel/context.ts";
import type { Database } from "../store/port.ts";
import { densityAnomalies, isolatedEntities, observationGaps, typeSilos, underconnectedEntities } from "../store/queries/gaps.ts";
import { DECISIONS_ENTITY } from "./decisions.ts";

/** The first rows of a list, and how many there are in all. */
export interface Gap<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

export interface GapReport {
  readonly isolated: Gap<{ readonly name: string; readonly entityType: string }>;
  readonly underconnected: Gap<{ readonly name: string; readonly importance: number; readonly degree: number }>;
  readonly silos: Gap<{ readonly typeA: string; readonly typeB: string }>;
  readonly observationGaps: Gap<{ readonly name: string; readonly facts: number; readonly decisions: number; readonly lessons: number }>;
  readonly anomalies: Gap<{
    readonly name: string;
    readonly observations: number;
    readonly relations: number;
    readonly observationScore: number;
    readonly relationScore: number;
  }>;
}

export interface Gaps {
  analyze(ctx: CallContext): Promise<GapReport>;
}

export const createGaps = ({ db }: { readonly db: Database }): Gaps => ({
  analyze: (ctx) =>
    db.read(ctx, async (tx) => {
      const asked = { scope: ctx.scope, except: DECISIONS_ENTITY };
      const gap = <Row extends { readonly total: number }>(rows: readonly Row[]): Gap<Row> => ({ rows, total: rows[0]?.total ?? 0 });
      return {
        isolated: gap(await tx.all(isolatedEntities(asked))),
        underconnected: gap(await tx.all(underconnectedEntities(asked))),
        silos: gap(await tx.all(typeSilos(asked))),
        observationGaps: gap(await tx.all(observationGaps(asked))),
        anomalies: gap(await tx.all(densityAnomalies(asked))),
      };
    }),
});
