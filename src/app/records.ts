/** The services around what is recorded beside the graph, wired. */
import { createErrors } from "../services/errors.ts";
import type { Reminders } from "../services/reminders.ts";
import type { Database } from "../store/port.ts";

export interface RecordsParts {
  readonly db: Database;
  readonly reminders: Reminders;
}

export function composeRecords({ db, reminders }: RecordsParts) {
  return {
    errors: createErrors({ db, reminders }),
  };
}
