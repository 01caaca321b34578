/**
 * A process that runs one consolidation cycle on an embedded database and says each phase on a line as it begins: `cycler.ts DIRECTORY`.
 */
import { phases } from "../../../src/services/rem/registry.ts";
import { installedAssets } from "../../../src/store/embedded/assets.ts";
import { openEmbedded } from "../../../src/store/pglite.ts";
import { ran, remOver } from "../../support/rem.ts";

const [directory = ""] = process.argv.slice(2);
const db = await openEmbedded({ directory, assets: await installedAssets(), nodeName: "cycler" });
const spoken = phases.map((phase) => ({
  ...phase,
  run: async (ctx: Parameters<typeof phase.run>[0], parts: Parameters<typeof phase.run>[1]) => {
    process.stdout.write(`${phase.name}\n`);
    return await phase.run(ctx, parts);
  },
}));
await ran(remOver(db, { phases: spoken }));
process.stdout.write("done\n");
await db[Symbol.asyncDispose]();
