import { orQuery } from "../../store/queries/diagnosis.ts";
import { databaseCheck, fail, ok } from "../check.ts";

export default databaseCheck("recall/or_tsquery", async ({ db, scope }) => {
  const answer = await db.read(scope, (tx) => tx.first(orQuery(undefined)));
  return answer?.words?.includes("|") === true
    ? ok("questions of many words match any of them")
    : fail("the function cuba_or_tsquery is missing or wrong: long questions find nothing, silently", "memory-industry migrate");
});
