import { ok, ownerCheck, warn } from "../check.ts";

export default ownerCheck("audit_chain", async ({ auditKey }) =>
  auditKey.isSet
    ? ok("rows are chained with a key")
    : warn("no key: whoever may insert rows can forge the chain", "Set CUBA_AUDIT_KEY, and keep a copy away from the database."),
);
