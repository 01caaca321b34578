/**
 * A process that runs one consolidation cycle on an embedded database and stops for ever in one phase, after the first transaction that the phase has
 * committed, or at its end where it commits none: `cycler.ts DIRECTORY PHASE`. It says so on a line, and is killed there.
 */
import { phases } from "../../../src/services/rem/registry.ts";
import { installedAssets } from "../../../src/store/embedded/assets.ts";
import { openEmbedded } from "../../../src/store/pglite.ts";
import type { Database } from "../../../src/store/port.ts";
import { ran, remOver } from "../../support/rem.ts";

const [directory = "", target = ""] = process.argv.slice(2);
const opened = await openEmbedded({ directory, assets: await installedAssets(), nodeName: "cycler" });
let running = "";
const stopInTarget = async () => {
  if (running !== target) return;
  process.stdout.write(`stopped in ${target}\n`);
  await new Promise(() => {});
};
const db: Database = {
  ...opened,
  async write(ctx, work, limits) {
    const result = await opened.write(ctx, work, limits);
    await stopInTarget();
    return result;
  },
};
const watched = phases.map((phase) => ({
  ...phase,
  run: async (...given: Parameters<typeof phase.run>) => {
    running = phase.name;
    const outcome = await phase.run(...given);
    await stopInTarget();
    running = "";
    return outcome;
  },
}));
await ran(remOver(db, { phases: watched }));
process.stdout.write("done\n");
await opened[Symbol.asyncDispose]();
