import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import path from "node:path";
import { sql } from "drizzle-orm";
import { openEmbedded } from "../../../src/store/pglite.ts";
import { cloneDirectory, testAssets } from "../../support/engines.ts";
import { rows } from "../../support/statements.ts";

/** A process that turns in a loop hears no signal but this one. */
const LOOPS_AFTER_MS = 60_000;

test.skipIf(process.platform !== "linux")(
  "a disk that fills up under the log ends the engine with a sentence, and what was acknowledged is there afterwards",
  async () => {
    const directory = await cloneDirectory();
    const child = Bun.spawn([process.execPath, path.join(import.meta.dir, "crashing.ts"), directory], {
      stdout: "pipe",
      stderr: "inherit",
      timeout: LOOPS_AFTER_MS,
      killSignal: "SIGKILL",
    });
    const told = Object.assign(
      {},
      ...(await child.stdout.text())
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    );
    expect(await child.exited).toBe(0);
    expect(told).toMatchObject({ before: "done", closed: "done", stopped: expect.stringContaining("Aborted") });
    expect(told.crash).toStartWith("The embedded database stopped by a fault");
    expect(told.crash).toContain("The connection broke while the change was being confirmed: read before you write it again.");
    for (const what of ["after", "read"]) expect(told[what]).toMatch(/^The embedded database stopped by a fault.* Nothing was written\.$/);

    const db = await openEmbedded({ directory, assets: await testAssets(), nodeName: "reader" });
    expect(await rows(db, sql`select name from brain_entities order by name`)).toEqual([{ name: "before" }]);
    await db[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  },
  2 * LOOPS_AFTER_MS,
);
