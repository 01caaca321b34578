import { auditPrivileges, roleFacts } from "../../store/queries/diagnosis.ts";
import { databaseCheck, fail, ok, warn } from "../check.ts";

export default databaseCheck("runtime_role", async ({ db, scope }) => {
  const [role, audit] = await db.read(scope, async (tx) => [
    await tx.first(roleFacts(undefined)),
    await tx.first(auditPrivileges(undefined)),
  ]);
  if (role === undefined) return warn("the role of this connection is unknown");
  const detail = role.name === role.login ? role.name : `${role.name} (logged in as ${role.login})`;
  if (role.superuser || role.bypasses)
    return role.appReady
      ? fail(`${detail} skips row security although cuba_app stands ready`, "Leave CUBA_APP_ROLE on, and restart.")
      : warn(`${detail} skips row security; cuba_app is not ready`, "Give the program a role that may create roles, once.");
  return audit?.changes === true
    ? fail(`${detail} may change the audit log`, "memory-industry migrate grants the rights anew.")
    : ok(detail);
});
