import { existingColumns } from "../../store/queries/diagnosis.ts";
import { databaseCheck, fail, ok } from "../check.ts";

const ANCHORS = ["brain_observations.last_decayed_at"];

export default databaseCheck("decay_anchor", async ({ db, scope }) => {
  const columns = await db.read(scope, (tx) => tx.all(existingColumns({ names: ANCHORS })));
  const missing = ANCHORS.filter((name) => !columns.some(({ column }) => column === name));
  return missing.length === 0
    ? ok("fading counts from the last time it was applied")
    : fail(`missing: ${missing.join(", ")}; each cycle would apply the whole fading again`, "memory-industry migrate");
});
