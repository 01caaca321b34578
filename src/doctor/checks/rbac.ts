import { principalCount } from "../../store/queries/diagnosis.ts";
import { databaseCheck, fail, ok } from "../check.ts";

export default databaseCheck("rbac", async ({ db, scope, identifiesCallers }) => {
  const principals = (await db.read(scope, (tx) => tx.first(principalCount(undefined))))?.n ?? 0;
  if (principals === 0) return ok("no principals: one user, open by design");
  return identifiesCallers
    ? ok(`${principals} principals`)
    : fail(
        `${principals} principals exist and this server identifies no caller by them`,
        "Disable them, or wait for a version that maps tokens to principals.",
      );
});
