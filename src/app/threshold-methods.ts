/** What `calibrate` asks of the owner of the memories. */
import { z } from "zod";
import { invalid } from "../kernel/errors.ts";
import type { OwnerMethod } from "../mcp/server.ts";
import { readDataset } from "../services/evaluation/dataset.ts";
import type { MeasuredRule, ThresholdMeasure, ThresholdReport } from "../services/search/gate/measure-threshold.ts";
import type { Database } from "../store/port.ts";
import { contextOf, scopeOf, textOf } from "./evaluation-methods.ts";

export interface ThresholdMethodParts {
  readonly db: Database;
  readonly thresholdMeasure: ThresholdMeasure;
}

const request = z.object({
  alpha: z.number().min(0).max(1),
  samples: z.int().positive(),
  project: z.string().optional(),
  lexicalOnly: z.boolean(),
  apply: z.boolean(),
});

export function thresholdMethods({ db, thresholdMeasure }: ThresholdMethodParts): [string, OwnerMethod][] {
  return [
    [
      "owner/calibrate",
      async ({ dataset, ...rest }, call) => {
        const { project, ...settings } = request.parse(rest);
        const { questions } = readDataset(await textOf(dataset), "keep");
        if (questions.length === 0) throw invalid("The dataset holds no question. Nothing was measured or written.");
        const scope = await scopeOf(db, project, call.signal, "refuse");
        return reportJson(await thresholdMeasure.run(contextOf(call, scope), { questions, ...settings }), project);
      },
    ],
  ];
}

const ruleJson = (measured: MeasuredRule | undefined) =>
  measured === undefined
    ? null
    : {
        threshold: measured.rule.threshold,
        weights: measured.rule.weights,
        bias: measured.rule.bias,
        answered: measured.answered,
        refused_answer_left_out: measured.refusedAbsent,
        refused_foreign: measured.refusedForeign ?? null,
      };

const reportJson = (r: ThresholdReport, project: string | undefined): Readonly<Record<string, unknown>> => ({
  project: project ?? null,
  embedding_model: r.model ?? null,
  embedding_dim: r.dimensions ?? null,
  fit_samples: r.fitSamples,
  theoretical_threshold: r.theoreticalThreshold ?? null,
  corpus: r.corpus ?? null,
  queries: r.queries ?? null,
  alpha: r.alpha,
  conformal_threshold: r.conformalThreshold ?? null,
  theoretical_rejects_corpus: r.theoreticalRejectsCorpus ?? null,
  corpus_rows: r.memories,
  calibration_queries: r.asked,
  foreign_queries: r.foreign,
  skipped_without_answer: r.gone,
  answers_guessed: r.guessed,
  guaranteed: r.guaranteed,
  meaning: ruleJson(r.matched ?? r.meaning),
  words: ruleJson(r.words),
  applied: r.applied,
});
