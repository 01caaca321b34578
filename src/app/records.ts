/** The services around what is recorded beside the graph, wired. */
import type { Embedder } from "../inference/port.ts";
import { createArtifacts, type Publish } from "../services/artifacts.ts";
import { createAudit } from "../services/audit.ts";
import { createCompaction } from "../services/compaction.ts";
import { createContextWindow } from "../services/context.ts";
import { createDecisions } from "../services/decisions.ts";
import { createErrors } from "../services/errors.ts";
import type { Identity } from "../services/identity/identity.ts";
import type { NoteStore } from "../services/observations/store.ts";
import type { PaceOfCall } from "../services/pace.ts";
import { createProcedures } from "../services/procedures.ts";
import type { Reminders } from "../services/reminders.ts";
import type { FreshVectors } from "../services/search/arms/vector.ts";
import { createTriggers } from "../services/triggers.ts";
import { createWorkingMemory } from "../services/working-memory.ts";
import type { Database } from "../store/port.ts";

export interface RecordsParts {
  readonly db: Database;
  readonly embedder: Embedder;
  readonly identity: Pick<Identity, "sessionKey">;
  readonly reminders: Reminders;
  readonly notes: NoteStore;
  /** Computes vectors behind the answers. */
  readonly queue: { poke(): void } & FreshVectors;
  /** Tells viewers what happened, after the commit. */
  readonly publish: Publish;
  readonly paceOf: PaceOfCall;
  /** Key of the audit chain, read at each call. */
  readonly auditKey: () => string | undefined;
}

export function composeRecords({ db, embedder, identity, reminders, notes, queue, publish, paceOf, auditKey }: RecordsParts) {
  const workingMemory = createWorkingMemory({ db, identity });
  return {
    artifacts: createArtifacts({ db, publish, paceOf }),
    audit: createAudit({ db, key: auditKey, now: () => new Date() }),
    compaction: createCompaction({ db, identity }),
    workingMemory,
    context: createContextWindow({ db, workingMemory }),
    decisions: createDecisions({ db, notes, queue }),
    errors: createErrors({ db, reminders }),
    triggers: createTriggers({ db, now: () => new Date() }),
    procedures: createProcedures({ db, embedder, queue }),
  };
}
