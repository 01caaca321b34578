import { isolatedShare } from "../../store/queries/diagnosis.ts";
import { databaseCheck, ok, warn } from "../check.ts";

/** From here on the graph adds little to search. */
const MOST_ISOLATED = 0.5;

export default databaseCheck("graph_connectivity", async ({ db, scope }) => {
  const share = (await db.read(scope, (tx) => tx.first(isolatedShare(undefined))))?.share;
  if (share === undefined || share === null) return ok("no entities yet");
  const detail = `${Math.round(share * 100)} % of the entities have no relation`;
  return share < MOST_ISOLATED ? ok(detail) : warn(detail, "Connect them with cuba_puente.");
});
