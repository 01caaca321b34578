/**
 * Deleting what has faded (`tools-maintenance.md` §5.2): a plan first, then the deletion of what was seen, with a file that brings it back.
 */
import { type CallContext, projectOf } from "../../kernel/context.ts";
import { invalid } from "../../kernel/errors.ts";
import type { Database } from "../../store/port.ts";
import { prunable, prunableCounts, pruneSeen } from "../../store/queries/maintenance.ts";
import { observationsWithParts } from "../../store/queries/undo.ts";
import type { Audit } from "../audit.ts";

/** Rows that one call deletes: they go in one transaction, and each takes its slices, words and facts along. */
const MOST_PRUNED = 1_000;
/** Rows read at once for the undo file. */
const PAGE_ROWS = 100;
/** Rows of no project. */
const GLOBAL = "(global)";

export interface PruneCounts {
  readonly total: number;
  readonly byProject: readonly { readonly project: string; readonly observations: number }[];
  readonly byType: readonly { readonly type: string; readonly observations: number }[];
}

export interface Pruned extends PruneCounts {
  /** Rows below the threshold that the next call deletes. */
  readonly remaining: number;
  /** File that brings them back; undefined where nothing was deleted. */
  readonly undoFile: string | undefined;
}

/** Writes what is about to be deleted to a file, and answers its path. @throws MemoryError where it cannot: then nothing is deleted */
export type KeepUndo = (kind: string, content: Readonly<Record<string, unknown>>) => Promise<string>;

export interface Pruning {
  plan(ctx: CallContext, threshold: number): Promise<PruneCounts>;
  /** @param everywhere the caller means every project; needed where none is active. @throws MemoryError `invalid` without it */
  prune(ctx: CallContext, threshold: number, everywhere: boolean): Promise<Pruned>;
}

export interface PruningParts {
  readonly db: Database;
  readonly audit: Pick<Audit, "record">;
  readonly keepUndo: KeepUndo;
}

interface Row {
  readonly project: string | null;
  readonly observationType: string;
  readonly count: number;
}

/** Sums by project and by type, largest first. */
function counted(rows: readonly Row[]): PruneCounts {
  const sums = (keyOf: (row: Row) => string) => {
    const found = new Map<string, number>();
    for (const row of rows) found.set(keyOf(row), (found.get(keyOf(row)) ?? 0) + row.count);
    return [...found].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  };
  return {
    total: rows.reduce((sum, row) => sum + row.count, 0),
    byProject: sums((row) => row.project ?? GLOBAL).map(([project, observations]) => ({ project, observations })),
    byType: sums((row) => row.observationType).map(([type, observations]) => ({ type, observations })),
  };
}

export function createPruning({ db, audit, keepUndo }: PruningParts): Pruning {
  const plan = async (ctx: CallContext, threshold: number) =>
    counted(await db.read(ctx, (tx) => tx.all(prunableCounts({ threshold, scope: ctx.scope }))));

  return {
    plan,

    async prune(ctx, threshold, everywhere) {
      const { scope } = ctx;
      if (scope.kind !== "project" && !everywhere)
        throw invalid(
          'No project is active, so this would delete in every project. Nothing was deleted. Pass scope: "all" to mean that, or choose a project with cuba_jornada start project=….',
          { field: "scope" },
        );
      const seen = await db.read(ctx, (tx) => tx.all(prunable({ threshold, scope, limit: MOST_PRUNED })));
      if (seen.length === 0) return { ...counted([]), remaining: 0, undoFile: undefined };
      const observations: unknown[] = [];
      for (let at = 0; at < seen.length; at += PAGE_ROWS) {
        const ids = seen.slice(at, at + PAGE_ROWS).map(({ id }) => id);
        observations.push(...(await db.read(ctx, (tx) => tx.all(observationsWithParts({ ids })))));
      }
      const undoFile = await keepUndo("prune", { observations });
      const gone = await db.write(ctx, async (tx) => {
        const rows = await tx.all(pruneSeen({ seen, threshold, scope }));
        await audit.record(tx, "prune.observations", { pruned: rows.length, threshold, project_id: projectOf(scope) });
        return rows;
      });
      ctx.log.warn("observations were pruned", { pruned: gone.length, threshold, undoFile });
      const left = await plan(ctx, threshold);
      return { ...counted(gone.map((row) => ({ ...row, count: 1 }))), remaining: left.total, undoFile };
    },
  };
}
