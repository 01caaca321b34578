/** A consolidation cycle that is ended with `kill -9` in the middle of a phase: the database opens, the record says where, and the next cycle finishes the work. */
import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import path from "node:path";
import { sql } from "drizzle-orm";
import { openEmbedded } from "../../../src/store/pglite.ts";
import { brokenInvariants } from "../../../src/store/queries/invariants.ts";
import { cloneDirectory, testAssets } from "../../support/engines.ts";
import { ran, remOver } from "../../support/rem.ts";
import { rows } from "../../support/statements.ts";

/** Enough that the first phase takes many transactions. */
const ROWS = 2_000;

test(
  "killed in a phase, it does no harm and is made up for",
  async () => {
    const directory = await cloneDirectory();
    const open = async () => openEmbedded({ directory, assets: await testAssets(), nodeName: "reader" });
    const filled = await open();
    await filled.asOwner((owner) =>
      owner.script(`
        insert into brain_entities (name) select 'service ' || i from generate_series(1, 40) as i;
        insert into brain_observations (entity_id, content, importance, last_accessed, last_decayed_at)
          select e.id, 'note ' || i, 0.8, now() - interval '30 days', now() - interval '30 days'
          from generate_series(1, ${ROWS}) as i join brain_entities as e on e.name = 'service ' || (i % 40 + 1);`),
    );
    await filled[Symbol.asyncDispose]();
    for (const phase of ["decay", "words", "duplicates"]) {
      const child = Bun.spawn([process.execPath, path.join(import.meta.dir, "cycler.ts"), directory], {
        stdout: "pipe",
        stderr: "inherit",
      });
      let text = "";
      const decoder = new TextDecoder();
      for await (const chunk of child.stdout) {
        text += decoder.decode(chunk, { stream: true });
        if (text.split("\n").includes(phase)) child.kill("SIGKILL");
      }
      expect(await child.exited).not.toBe(0);
      const db = await open();
      const [last] = await rows(db, sql`select error from brain_rem_cycles order by started_at desc limit 1`);
      expect(String(last?.error)).toContain("unfinished: in phase");
      expect(await db.asOwner(brokenInvariants)).toEqual([]);
      await db[Symbol.asyncDispose]();
    }
    const db = await open();
    expect((await ran(remOver(db))).error).toBeNull();
    const [faded] = await rows(db, sql`select count(*)::int as n from brain_observations where importance between 0.399 and 0.401`);
    expect(faded?.n).toBe(ROWS);
    await db[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  },
  10 * 60_000,
);
