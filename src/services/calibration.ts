/** What became of verifications: how far each level and each source can be believed (`tools-cognition.md` §14). */
import {
  type Belief,
  beliefInterval,
  beliefWidth,
  brierScore,
  calibrationError,
  expectedShare,
  type Outcome,
  posterior,
  type ReliabilityBin,
  reliabilityDiagram,
  resolvedCount,
} from "../domain/strength/reliability.ts";
import type { CallContext } from "../kernel/context.ts";
import { notFound } from "../kernel/errors.ts";
import type { Database, RowOf } from "../store/port.ts";
import {
  closePrediction,
  creditSources,
  outcomesByLevel,
  predictions,
  resolvedOutcomes,
  sourceTrust,
} from "../store/queries/predictions.ts";

export interface LevelRecord extends Belief {
  readonly level: string;
  readonly pCorrect: number;
  readonly resolved: number;
}

export interface CalibrationStats {
  /** Levels with a resolved prediction, most reliable first. */
  readonly levels: readonly LevelRecord[];
  readonly overall: {
    readonly total: number;
    readonly correct: number;
    readonly incorrect: number;
    readonly pending: number;
    readonly unknown: number;
  };
}

export interface SourceRecord extends Belief {
  readonly source: string;
  readonly pCorrect: number;
  /** Two standard deviations. */
  readonly width: number;
  readonly interval: { readonly low: number; readonly high: number };
  readonly resolved: number;
  readonly updatedAt: string;
}

export interface CalibrationMetrics {
  /** Undefined while nothing is resolved. */
  readonly brier: number | undefined;
  readonly ece: number | undefined;
  readonly n: number;
  /** Resolved answers of the level `unknown`: they predicted nothing. */
  readonly abstained: number;
  readonly diagram: readonly ReliabilityBin[];
}

type PredictionRow = RowOf<typeof predictions>;

export interface Calibration {
  stats(ctx: CallContext): Promise<CalibrationStats>;
  /** Newest first. */
  history(
    ctx: CallContext,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ readonly rows: readonly PredictionRow[]; readonly total: number }>;
  /** Closes a prediction and credits the sources of its deciding evidence, in one transaction. @throws MemoryError `not_found` */
  resolve(
    ctx: CallContext,
    id: string,
    outcome: "correct" | "incorrect",
  ): Promise<{ readonly entity: string | null; readonly sources: number }>;
  trust(ctx: CallContext): Promise<readonly SourceRecord[]>;
  metrics(ctx: CallContext): Promise<CalibrationMetrics>;
}

/**
 * Probability that the prediction is right. The stored confidence is the share of support: near 0 for `contradicted`, whose prediction is that the claim is
 * false. 0.05, contradicted → 0.95.
 */
const probabilityOf = ({ confidence, level }: { confidence: number; level: string }): number =>
  level === "contradicted" ? 1 - confidence : confidence;

export function createCalibration({ db }: { readonly db: Database }): Calibration {
  return {
    async stats(ctx) {
      const rows = await db.read(ctx, (tx) => tx.all(outcomesByLevel({ scope: ctx.scope })));
      const sum = (key: "correct" | "incorrect" | "pending" | "unknown") => rows.reduce((total, row) => total + row[key], 0);
      const [correct, incorrect, pending, unknown] = [sum("correct"), sum("incorrect"), sum("pending"), sum("unknown")];
      const levels = rows
        .filter((row) => row.correct + row.incorrect + row.unknown > 0)
        .map(({ level, ...row }): LevelRecord => {
          const belief = posterior(row.correct, row.incorrect);
          return { level, ...belief, pCorrect: expectedShare(belief), resolved: resolvedCount(belief) };
        })
        .sort((a, b) => b.pCorrect - a.pCorrect || (a.level < b.level ? -1 : 1));
      return { levels, overall: { total: correct + incorrect + pending + unknown, correct, incorrect, pending, unknown } };
    },

    async history(ctx, page) {
      const rows = await db.read(ctx, (tx) => tx.all(predictions({ scope: ctx.scope, ...page })));
      // Behind the last page no row carries the total.
      return { rows, total: rows[0]?.total ?? page.offset };
    },

    async resolve(ctx, id, outcome) {
      return await db.write(ctx, async (tx) => {
        const closed = await tx.first(closePrediction({ id, outcome, scope: ctx.scope }));
        if (closed === undefined) {
          throw notFound("prediction", id, {
            where: "or already resolved (within current project scope)",
            next: "Nothing was written. cuba_calibrar action=history lists predictions with their ids.",
          });
        }
        const credited =
          closed.evidenceIds.length === 0 ? [] : await tx.all(creditSources({ ids: closed.evidenceIds, isCorrect: outcome === "correct" }));
        return { entity: closed.entityName, sources: credited.length };
      });
    },

    async trust(ctx) {
      const rows = await db.read(ctx, (tx) => tx.all(sourceTrust()));
      return rows.map(
        (row): SourceRecord => ({
          ...row,
          pCorrect: expectedShare(row),
          width: beliefWidth(row),
          interval: beliefInterval(row),
          resolved: resolvedCount(row),
        }),
      );
    },

    async metrics(ctx) {
      const rows = await db.read(ctx, (tx) => tx.all(resolvedOutcomes({ scope: ctx.scope })));
      const outcomes = rows
        .filter(({ level }) => level !== "unknown")
        .map((row): Outcome => ({ probability: probabilityOf(row), isCorrect: row.isCorrect }));
      return {
        brier: brierScore(outcomes),
        ece: calibrationError(outcomes),
        n: outcomes.length,
        abstained: rows.length - outcomes.length,
        diagram: reliabilityDiagram(outcomes),
      };
    },
  };
}
