import { ok, outsideCheck, warn } from "../check.ts";

export default outsideCheck("binary_freshness", async ({ processes }) => {
  const running = await processes();
  if (running === undefined) return ok("not known on this system");
  const stale = running.filter(({ isStale }) => isStale);
  if (stale.length === 0)
    return ok(running.length === 0 ? "no other process of ours runs" : `${running.length} running, each from the program on disk`);
  return warn(
    `still running a replaced program: ${stale.map(({ pid, program }) => `${pid} (${program})`).join(", ")}`,
    "Restart these clients, or serve.",
  );
});
