/** Variables of the consolidation cycle (REM), part of the one table in `variables.ts`. */
import { countOrAuto, integer, onOff, seconds } from "../kernel/kinds.ts";

/** A day; a first cycle later than that is meant by nobody. */
const DAY_SECS = 86_400;

export const consolidationVariables = {
  REM_FIRST_DELAY_SECS: {
    is: seconds(0, DAY_SECS),
    group: "consolidation",
    default: 300,
    doc: "first cycle after the start; then one every 4 hours",
  },
  REM_AUTOLINK: {
    is: onOff,
    group: "consolidation",
    default: "on",
    doc: "relate entities that turn up in the same sessions more often than by chance",
  },
  REM_BACKFILL_LIMIT: {
    is: integer(0, 1_000_000),
    group: "consolidation",
    default: 100,
    doc: "missing vectors, and long texts without chunks, that one cycle makes up; 0 skips both",
  },
  REM_RELATION_BATCH: {
    is: countOrAuto,
    group: "consolidation",
    default: 0,
    doc: "entities without relations that a chosen language model is asked about in one cycle; auto is 5, 20 while 50 wait; 0 is off",
  },
  REM_EXTRACTION_BATCH: {
    is: countOrAuto,
    group: "consolidation",
    default: 0,
    doc: "memories that a chosen language model extracts facts from in one cycle, always into quarantine; auto is 5; 0 is off",
  },
  REM_SCAN_TIMEOUT_SECS: {
    is: seconds(1, 3_600),
    group: "consolidation",
    default: 90,
    doc: "longest time of one question to the language model of a cycle",
  },
  LLM_DAILY_CAP: {
    is: integer(0, 1_000_000),
    group: "consolidation",
    default: 200,
    doc: "most questions that cycles put to a language model in one UTC day; 0 is none",
  },
} as const;
