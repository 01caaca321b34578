import { ok, outsideCheck, warn } from "../check.ts";

/** A hook ends with 0 and says nothing, whatever happens: this is where it is told. */
export default outsideCheck("session_hook", async ({ hookFailures }) => {
  const failures = hookFailures();
  return failures.length === 0
    ? ok("no session began without its memories")
    : warn(failures.map(({ at, reason }) => `${at}: ${reason}`).join("; "), "memory-industry recall shows what a session would start with");
});
