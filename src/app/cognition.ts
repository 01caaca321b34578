/** The services that weigh what is remembered: conflicts, verdicts, how far predictions can be believed, and what a text says; wired. */
import type { Embedder } from "../inference/port.ts";
import { createCalibration } from "../services/calibration.ts";
import { createContradictions } from "../services/conflicts/contradictions.ts";
import { createJudgments } from "../services/conflicts/judgments.ts";
import { createGaps } from "../services/gaps.ts";
import { createHypotheses } from "../services/hypotheses.ts";
import { createIngest, type IngestParts } from "../services/ingest/ingest.ts";
import { createTextReader } from "../services/ingest/paragraphs.ts";
import type { Judge } from "../services/judge/judge.ts";
import type { PaceOfCall } from "../services/pace.ts";
import type { Database } from "../store/port.ts";

export interface CognitionParts extends Pick<IngestParts, "observations" | "notes" | "ladder" | "nonce"> {
  readonly db: Database;
  readonly embedder: Pick<Embedder, "label">;
  readonly judge: Judge;
  readonly paceOf: PaceOfCall;
}

export const composeCognition = ({ db, embedder, judge, paceOf, ...rest }: CognitionParts) => ({
  calibration: createCalibration({ db }),
  contradictions: createContradictions({ db, embedder }),
  judgments: createJudgments({ db, embedder, judge }),
  gaps: createGaps({ db }),
  hypotheses: createHypotheses({ db }),
  ingest: createIngest({ db, judge, now: () => new Date(), ...rest }),
  textReader: createTextReader(paceOf),
});
