import { ok, ownerCheck } from "../check.ts";

export default ownerCheck("machine", async ({ machine, plan }) => {
  const { cgroupLimitMb, vramFreeMb } = plan.readings;
  const limit = cgroupLimitMb === undefined ? "no cgroup limit" : `cgroup limit ${cgroupLimitMb} MB`;
  const card = vramFreeMb === undefined ? "no usable card" : `${vramFreeMb} MB free on the card`;
  return ok(`${machine.totalMb} MB memory, ${machine.availableMb} MB available, ${limit}, ${machine.cores} cores, ${card}`);
});
