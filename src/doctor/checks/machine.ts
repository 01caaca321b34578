import { FEW_OPEN_FILES } from "../../store/embedded/open-files.ts";
import { ok, ownerCheck, warn } from "../check.ts";

export default ownerCheck("machine", async ({ machine, plan }) => {
  const { cgroupLimitMb, vramFreeMb } = plan.readings;
  const limit = cgroupLimitMb === undefined ? "no cgroup limit" : `cgroup limit ${cgroupLimitMb} MiB`;
  const card = vramFreeMb === undefined ? "no usable card" : `${vramFreeMb} MiB free on the card`;
  const files = machine.openFiles;
  const summary = `${machine.totalMb} MiB memory, ${machine.availableMb} MiB available, ${limit}, ${machine.cores} cores, ${card}${files === undefined ? "" : `, ${files} open files`}`;
  if (files === undefined || files >= FEW_OPEN_FILES) return ok(summary);
  return warn(
    summary,
    `Each client takes an open file, and so does each table: allow at least ${FEW_OPEN_FILES} ('ulimit -n 1024', LimitNOFILE= of a service).`,
  );
});
