/** The services that weigh what is remembered: conflicts, verdicts and how far predictions can be believed, wired. */
import type { Embedder } from "../inference/port.ts";
import { createCalibration } from "../services/calibration.ts";
import { createContradictions } from "../services/conflicts/contradictions.ts";
import { createJudgments } from "../services/conflicts/judgments.ts";
import type { Judge } from "../services/judge/judge.ts";
import type { Database } from "../store/port.ts";

export interface CognitionParts {
  readonly db: Database;
  readonly embedder: Pick<Embedder, "label">;
  readonly judge: Judge;
}

export const composeCognition = ({ db, embedder, judge }: CognitionParts) => ({
  calibration: createCalibration({ db }),
  contradictions: createContradictions({ db, embedder }),
  judgments: createJudgments({ db, embedder, judge }),
});
