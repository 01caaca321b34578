/**
 * A process whose disk fills up while the embedded engine writes its log: `crashing.ts DIRECTORY`. Prints, as JSON lines, what a write before, the
 * write that meets the full disk, a write and a read after it say, whether the database says that it stopped, and that it could be closed.
 */
import { spyOn } from "bun:test";
import fs from "node:fs";
import { sql } from "drizzle-orm";
import { installedAssets } from "../../../src/store/embedded/assets.ts";
import { openEmbedded } from "../../../src/store/pglite.ts";
import { testScope } from "../../support/engines.ts";

const [directory = ""] = process.argv.slice(2);
const db = await openEmbedded({ directory, assets: await installedAssets(), nodeName: "crash", freeBytes: () => undefined });
const say = (what: string, value: unknown) => void process.stdout.write(`${JSON.stringify({ [what]: value })}\n`);
const said = async (work: Promise<unknown>) =>
  await work.then(
    () => "done",
    (error: Error) => error.message,
  );
const write = (name: string) =>
  db.write(testScope(), async (tx) => {
    await tx.run(sql`insert into brain_entities (name) values (${name}::text)`);
  });

say("before", await said(write("before")));
const real = fs.writeSync;
spyOn(fs, "writeSync").mockImplementation(((...args: Parameters<typeof real>) => {
  if (/\/pg_wal\/[0-9A-F]{24}$/.test(fs.readlinkSync(`/proc/self/fd/${args[0]}`)))
    throw Object.assign(new Error("full"), { code: "ENOSPC" });
  return real(...args);
}) as typeof real);
say("crash", await said(write("lost")));
say("after", await said(write("after")));
say("read", await said(db.read(testScope(), async (tx) => tx.run(sql`select 1`))));
say("stopped", String(await db.stopped));
say("closed", await said(Promise.resolve(db[Symbol.asyncDispose]())));
process.exit(0);
