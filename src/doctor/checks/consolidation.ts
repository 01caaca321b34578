import { llmCallsToday, recentCycles } from "../../store/queries/rem-cycles.ts";
import { parked } from "../../store/queries/rem-reading.ts";
import { databaseCheck, ok, warn } from "../check.ts";

/** A cycle comes every four hours while a daemon runs, and before an idle one stops. */
const STALE_HOURS = 5;
const MS_PER_HOUR = 3_600_000;

/** Three states that must be told apart: it never ran; it ran and found nothing to do; it ran and its language model gave up. */
export default databaseCheck("consolidation", async ({ db, scope }) => {
  const { last, calls, waiting } = await db.read(scope, async (tx) => ({
    last: await tx.first(recentCycles({ limit: 1 })),
    calls: (await tx.first(llmCallsToday()))?.count ?? 0,
    waiting: await tx.first(parked()),
  }));
  if (last === undefined)
    return ok("no cycle has run yet; the first comes five minutes after a daemon starts, or with 'memory-industry rem'");
  const hours = (Date.now() - Date.parse(last.finishedAt)) / MS_PER_HOUR;
  const spent = `${calls} questions to a language model today`;
  const given = (waiting?.entities ?? 0) + (waiting?.observations ?? 0);
  const parkedRows = given === 0 ? "" : `; ${given} rows that a model failed on 8 times are left out`;
  const said = `last cycle ended ${last.finishedAt} after ${last.durationMs} ms; ${spent}${parkedRows}`;
  if (last.error !== null) return warn(`${said}; ${last.error}`, "memory-industry rem runs one now and prints what each phase did");
  if (last.relationScanFailed > 0 || last.extractionFailed > 0)
    return warn(
      `${said}; its language model failed on ${last.relationScanFailed + last.extractionFailed} rows`,
      "memory-industry llm status",
    );
  return hours > STALE_HOURS
    ? ok(`${said}; none since: a cycle runs while a daemon does, every 4 hours and before it stops when idle`)
    : ok(said);
});
