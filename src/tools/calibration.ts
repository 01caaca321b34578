import { z } from "zod";
import { action, defineTool } from "./define.ts";
import { choice, clamped, offset, uuid } from "./fields.ts";
import { fitRows, readOn } from "./fit.ts";
import { round } from "./numbers.ts";

const HISTORY_ROWS = 20;
const MOST_ROWS = 100;

const nothing = z.object({});

export default defineTool({
  name: "cuba_calibrar",
  group: "cognition",
  profile: "standard",
  title: "Calibration and source trust",
  describe:
    "Learn from outcomes how far verification levels and sources can be believed. resolve with the verify_id of a verification: outcome says whether the prediction was right (a claim called contradicted that is false is correct).",
  hints: { readOnly: false, destructive: false, openWorld: false },
  actions: {
    stats: action({
      input: nothing,
      run: async (ctx, _, { calibration }) => {
        const { levels, overall } = await calibration.stats(ctx);
        return {
          action: "stats",
          levels: levels.map(({ level, alpha, beta, pCorrect, resolved }) => ({
            grounding_level: level,
            alpha,
            beta,
            p_correct: round(pCorrect),
            total_resolved: resolved,
          })),
          overall: {
            total_predictions: overall.total,
            correct: overall.correct,
            incorrect: overall.incorrect,
            pending: overall.pending,
            ...(overall.unknown === 0 ? {} : { unknown: overall.unknown }),
          },
        };
      },
    }),
    history: action({
      input: z.object({ limit: clamped(1, MOST_ROWS, "history: most rows").default(HISTORY_ROWS), offset: offset.optional() }),
      run: async (ctx, a, { calibration }) => {
        const start = a.offset ?? 0;
        const found = await calibration.history(ctx, { limit: a.limit, offset: start });
        const rows = found.rows.map(({ id, claim, entityName, confidence, level, outcome, createdAt }) => ({
          id,
          claim,
          entity_name: entityName,
          confidence: round(confidence),
          grounding_level: level,
          outcome,
          created_at: createdAt,
        }));
        const page = await fitRows({ rows, total: found.total, offset: start, long: "claim" });
        return {
          action: "history",
          entries: page.rows,
          count: page.rows.length,
          ...readOn(page),
        };
      },
    }),
    resolve: action({
      input: z.object({
        verify_id: uuid("resolve: the id that a verification answered"),
        outcome: choice(["correct", "incorrect"], "resolve: was the prediction right"),
      }),
      run: async (ctx, { verify_id: id, outcome }, { calibration }) => {
        const { entity, sources } = await calibration.resolve(ctx, id.toLowerCase(), outcome);
        return { action: "resolve", verify_id: id.toLowerCase(), outcome, entity_name: entity, sources_credibility_updated: sources };
      },
    }),
    trust: action({
      input: nothing,
      run: async (ctx, _, { calibration }) => {
        const sources = await calibration.trust(ctx);
        return {
          action: "trust",
          sources: sources.map(({ source, alpha, beta, pCorrect, width, interval, resolved, updatedAt }) => ({
            source,
            alpha,
            beta,
            p_correct: round(pCorrect),
            credible_interval_width: round(width),
            interval_95: [round(interval.low), round(interval.high)],
            total_resolved: resolved,
            updated_at: updatedAt,
          })),
          interpretation:
            "p_correct is the expected share of right predictions that rested on a source; a source without outcomes stands at 0.5. It weighs no search result.",
        };
      },
    }),
    metrics: action({
      input: nothing,
      run: async (ctx, _, { calibration }) => {
        const { brier, ece, n, abstained, diagram } = await calibration.metrics(ctx);
        const common = { action: "metrics", brier: rounded(brier), ece: rounded(ece), n, abstained };
        if (n === 0)
          return { ...common, note: "No prediction is resolved yet: cuba_calibrar action=resolve with the verify_id of a verification." };
        return {
          ...common,
          reliability_diagram: diagram.map(({ low, high, n: inBin, accuracy, confidence, gap }) => ({
            bin_lo: low,
            bin_hi: high,
            n: inBin,
            accuracy: round(accuracy),
            confidence: round(confidence),
            gap: round(gap),
          })),
          interpretation:
            "Brier and ECE are 0 for predictions that are sure and right; always saying 0.5 gives a Brier score of 0.25. Contradicted counts as a prediction that the claim is false; unknown is no prediction.",
        };
      },
    }),
  },
});

const rounded = (value: number | undefined): number | null => (value === undefined ? null : round(value));
