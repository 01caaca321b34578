import { ok, ownerCheck } from "../check.ts";

export default ownerCheck("machine", async ({ machine }) =>
  ok(`${machine.totalMb} MB memory, ${machine.availableMb} MB available, ${machine.cores} cores`),
);
