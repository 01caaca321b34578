import { invertedFacts } from "../../store/queries/diagnosis.ts";
import { databaseCheck, fail, ok } from "../check.ts";

export default databaseCheck("bitemporal", async ({ db, scope }) => {
  const inverted = (await db.read(scope, (tx) => tx.first(invertedFacts(undefined))))?.n ?? 0;
  return inverted === 0
    ? ok("no fact ends before it begins")
    : fail(`${inverted} facts end before they begin`, "Restore a backup, or correct valid_to by hand.");
});
