import { ok, ownerCheck, warn } from "../check.ts";

export default ownerCheck("configuration", async ({ configurationWarnings }) =>
  configurationWarnings.length === 0
    ? ok("every variable that is set can be used")
    : warn(configurationWarnings.join(" "), "docs/configuration.md lists what each variable accepts."),
);
