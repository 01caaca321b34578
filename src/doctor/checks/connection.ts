import { runtimeRole } from "../../store/queries/status.ts";
import { databaseCheck, fail, ok } from "../check.ts";

export default databaseCheck("connection", async ({ db, scope }) => {
  const startedAt = performance.now();
  const role = await db.read(scope, (tx) => tx.first(runtimeRole({})));
  return role === undefined ? fail("the database gives no answer") : ok(`answers in ${(performance.now() - startedAt).toFixed(1)} ms`);
});
