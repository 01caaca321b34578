import { isolatedShare } from "../../store/queries/diagnosis.ts";
import { databaseCheck, ok, warn } from "../check.ts";

/** From here on the graph adds little to search. */
const MOST_ISOLATED = 0.5;
/** Of fewer entities the share says nothing: a memory of the first day is no fault. */
const FEWEST_ENTITIES = 10;

export default databaseCheck("graph_connectivity", async ({ db, scope }) => {
  const { entities = 0, share = null } = (await db.read(scope, (tx) => tx.first(isolatedShare(undefined)))) ?? {};
  if (share === null) return ok("no entities yet");
  const detail = `${Math.round(share * 100)} % of the entities have no relation`;
  return share < MOST_ISOLATED || entities < FEWEST_ENTITIES ? ok(detail) : warn(detail, "Connect them with cuba_puente.");
});
