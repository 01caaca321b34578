/** Search with its abstention gate, and the measurement that the gate goes by. */

import { everydayQuestions } from "../domain/retrieval/abstention/everyday-questions.ts";
import type { FreshVectors } from "../services/search/arms/vector.ts";
import { createGate } from "../services/search/gate/gate.ts";
import { createThresholdMeasure, type ThresholdMeasure } from "../services/search/gate/measure-threshold.ts";
import { createSearch, type Search } from "../services/search/search.ts";
import type { OwnedDatabase } from "./bootstrap.ts";
import type { Models } from "./models.ts";

const clock = () => performance.now();

export function composeSearch(
  db: OwnedDatabase,
  models: Models,
  fresh: FreshVectors,
): { readonly search: Search; readonly thresholdMeasure: ThresholdMeasure; readonly forgetDistributions: () => void } {
  const { embedder, reranker, judge, rerank } = models;
  const { FUSION, ENTITY_FACTOID, OOD_THRESHOLD, OOD_FIT_LIMIT } = models.config.settings;
  const gate = createGate({ db, embedder, threshold: OOD_THRESHOLD.value, fitLimit: OOD_FIT_LIMIT.value, clock });
  return {
    search: createSearch({
      db,
      embedder,
      fresh,
      fusion: FUSION.value,
      entityLeg: ENTITY_FACTOID.value,
      rerank: {
        reranker,
        timeoutMs: rerank.timeoutMs,
        // Asked anew each time: a card that cannot be opened shows itself with the first question.
        get byDefault() {
          return rerank.byDefault;
        },
        get depth() {
          return rerank.depth;
        },
      },
      judge,
      gate,
    }),
    thresholdMeasure: createThresholdMeasure({ db, embedder, clock, everyday: everydayQuestions, onApplied: gate.forget }),
    forgetDistributions: gate.forget,
  };
}
