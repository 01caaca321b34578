/** What handlers may call. Each tool takes the two or three it needs; `app/compose.ts` builds them, tests bring their own. */
import type { Analytics } from "../services/analytics/analytics.ts";
import type { Artifacts } from "../services/artifacts.ts";
import type { Audit } from "../services/audit.ts";
import type { Calibration } from "../services/calibration.ts";
import type { CodeReferences } from "../services/codegraph/references.ts";
import type { Compaction } from "../services/compaction.ts";
import type { Contradictions } from "../services/conflicts/contradictions.ts";
import type { Judgments } from "../services/conflicts/judgments.ts";
import type { ContextWindow } from "../services/context.ts";
import type { Decisions } from "../services/decisions.ts";
import type { Entities } from "../services/entities/entities.ts";
import type { Episodes } from "../services/episodes.ts";
import type { Errors } from "../services/errors.ts";
import type { Feedback } from "../services/feedback.ts";
import type { Forgetting } from "../services/forgetting.ts";
import type { Gaps } from "../services/gaps.ts";
import type { Hypotheses } from "../services/hypotheses.ts";
import type { Ingest } from "../services/ingest/ingest.ts";
import type { TextReader } from "../services/ingest/paragraphs.ts";
import type { LibraryDocs } from "../services/library-docs/library-docs.ts";
import type { Maintenance } from "../services/maintenance/maintenance.ts";
import type { Observations } from "../services/observations/observations.ts";
import type { Procedures } from "../services/procedures.ts";
import type { Projects } from "../services/projects.ts";
import type { Relations } from "../services/relations/relations.ts";
import type { Search } from "../services/search/search.ts";
import type { Sessions } from "../services/sessions.ts";
import type { Status } from "../services/status.ts";
import type { Telemetry } from "../services/telemetry.ts";
import type { Triggers } from "../services/triggers.ts";
import type { WorkingMemory } from "../services/working-memory.ts";
import type { Tool } from "./define.ts";

export interface Services {
  readonly telemetry: Telemetry;
  readonly entities: Entities;
  readonly observations: Observations;
  readonly episodes: Episodes;
  readonly relations: Relations;
  readonly ingest: Ingest;
  readonly textReader: TextReader;
  readonly gaps: Gaps;
  readonly hypotheses: Hypotheses;
  readonly libraryDocs: LibraryDocs;
  readonly search: Search;
  /** Undefined where nothing compares memories with source code. */
  readonly references?: CodeReferences;
  readonly errors: Errors;
  readonly audit: Audit;
  readonly decisions: Decisions;
  readonly compaction: Compaction;
  readonly context: ContextWindow;
  readonly artifacts: Artifacts;
  readonly workingMemory: WorkingMemory;
  readonly calibration: Calibration;
  readonly contradictions: Contradictions;
  readonly judgments: Judgments;
  readonly procedures: Procedures;
  readonly maintenance: Maintenance;
  readonly feedback: Feedback;
  readonly analytics: Analytics;
  readonly forgetting: Forgetting;
  readonly triggers: Triggers;
  /** How long texts are shown. */
  readonly presentation: { readonly compactChars: number };
  readonly sessions: Sessions;
  readonly projects: Projects;
  readonly status: Status;
  /** Every tool there is, for the meta tools. */
  readonly catalogue: () => readonly Tool[];
}
