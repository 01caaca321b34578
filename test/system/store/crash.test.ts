/**
 * What the embedded database acknowledged is there after `kill -9`, at any moment. `MEMORY_INDUSTRY_CRASH_WRITES` sets how many acknowledged
 * writes are gathered in all (default 400; 10000 for the real proof).
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import path from "node:path";
import { sql } from "drizzle-orm";
import { openEmbedded } from "../../../src/store/pglite.ts";
import { brokenInvariants } from "../../../src/store/queries/invariants.ts";
import { cloneDirectory, testAssets } from "../../support/engines.ts";
import { rows } from "../../support/statements.ts";

const WANTED = Number(process.env.MEMORY_INDUSTRY_CRASH_WRITES ?? 400);
const KILLS = 4;

let directory = "";
beforeAll(async () => {
  directory = await cloneDirectory();
}, 60_000);
afterAll(() => rmSync(directory, { recursive: true, force: true }), 60_000);

/** Lets a writer run until `enough` writes are acknowledged, kills it, and answers what it had said by then. */
async function killedWriter(enough: number): Promise<string[]> {
  const child = Bun.spawn([process.execPath, path.join(import.meta.dir, "writer.ts"), directory, "1000000", "4"], {
    stdout: "pipe",
    stderr: "inherit",
  });
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true });
    if (text.split("\n").length - 2 >= enough) child.kill("SIGKILL"); // more may arrive that was said before it died
  }
  await child.exited;
  return text.split("\n").slice(1, -1); // without "ready" and what was cut
}

test(
  `${WANTED} acknowledged writes survive ${KILLS} kills`,
  async () => {
    const acknowledged: string[] = [];
    for (let kill = 1; kill <= KILLS; kill++) {
      acknowledged.push(...(await killedWriter(Math.ceil(WANTED / KILLS))));
      const db = await openEmbedded({ directory, assets: await testAssets(), nodeName: "reader" });
      const found = await rows(
        db,
        sql`select e.name from brain_entities as e join brain_observations as o on o.entity_id = e.id and o.content = e.name`,
      );
      const names = new Set(found.map((row) => row.name));
      expect(acknowledged.filter((name) => !names.has(name))).toEqual([]);
      // Both rows of a write or none.
      expect(await rows(db, sql`select count(*) as n from brain_entities`)).toEqual([{ n: String(names.size) }]);
      expect(await db.asOwner(brokenInvariants)).toEqual([]);
      await db[Symbol.asyncDispose]();
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(WANTED);
  },
  20 * 60_000,
);
