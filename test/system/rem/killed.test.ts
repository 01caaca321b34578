/** A consolidation cycle on the embedded engine that is ended with `kill -9` in each of its phases: the database opens, the record says where, and the next cycle finishes the work. */
import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import path from "node:path";
import { sql } from "drizzle-orm";
import { phases } from "../../../src/services/rem/registry.ts";
import { openEmbedded } from "../../../src/store/pglite.ts";
import { brokenInvariants } from "../../../src/store/queries/invariants.ts";
import { cloneDirectory, testAssets } from "../../support/engines.ts";
import { ran, remOver } from "../../support/rem.ts";
import { rows } from "../../support/statements.ts";

/** Enough that the first phase takes several transactions. */
const ROWS = 400;

test(
  "killed in each phase, it does no harm and is made up for",
  async () => {
    const directory = await cloneDirectory();
    const open = async () => openEmbedded({ directory, assets: await testAssets(), nodeName: "reader" });
    const filled = await open();
    await filled.asOwner((owner) =>
      owner.script(`
        insert into brain_entities (name) select 'service ' || i from generate_series(1, 40) as i;
        insert into brain_relations (from_entity, to_entity, relation_type)
          select a.id, b.id, 'uses' from brain_entities as a join brain_entities as b on b.name = 'service ' || (1 + substr(a.name, 9)::int % 7) where a.id <> b.id;
        insert into brain_sessions (session_name, ended_at) select 's' || i, now() from generate_series(1, 3) as i;
        insert into brain_episodes (entity_id, content, created_at) select id, 'episode', now() - interval '30 days' from brain_entities;
        insert into brain_wm (content, created_at, expires_at) select 'note ' || i, now() - interval '2 days', now() - interval '1 day' from generate_series(1, 200) as i;
        insert into brain_observations (entity_id, content) select id, repeat('A long sentence about it. ', 200) from brain_entities limit 20;
        insert into brain_observations (entity_id, session_id, content)
          select e.id, s.id, 'worked on together' from brain_sessions as s join brain_entities as e on e.name in ('service 20', 'service 30') where s.session_name <> 's3';
        insert into brain_observations (entity_id, session_id, content)
          select e.id, s.id, 'worked on alone' from brain_sessions as s join brain_entities as e on e.name = 'service 31' where s.session_name = 's3';
        insert into brain_observations (entity_id, content, importance, last_accessed, last_decayed_at)
          select e.id, 'note ' || i, 0.8, now() - interval '30 days', now() - interval '30 days'
          from generate_series(1, ${ROWS}) as i join brain_entities as e on e.name = 'service ' || (i % 40 + 1);`),
    );
    await filled[Symbol.asyncDispose]();
    for (const { name } of phases) {
      const child = Bun.spawn([process.execPath, path.join(import.meta.dir, "cycler.ts"), directory, name], {
        stdout: "pipe",
        stderr: "inherit",
      });
      let text = "";
      const decoder = new TextDecoder();
      for await (const chunk of child.stdout) {
        text += decoder.decode(chunk, { stream: true });
        if (text === `stopped in ${name}\n`) child.kill("SIGKILL");
      }
      await child.exited;
      expect([text, child.signalCode]).toEqual([`stopped in ${name}\n`, "SIGKILL"]);
      const db = await open();
      const [last] = await rows(db, sql`select error from brain_rem_cycles order by started_at desc limit 1`);
      expect(String(last?.error)).toStartWith(`unfinished: in phase ${name} when`);
      expect([name, await db.asOwner(brokenInvariants)]).toEqual([name, []]);
      await db[Symbol.asyncDispose]();
    }
    const db = await open();
    expect((await ran(remOver(db))).error).toBeNull();
    expect(await db.asOwner(brokenInvariants)).toEqual([]);
    const [left] = await rows(
      db,
      sql`select (select count(*) from brain_wm)::int as notes, (select count(*) from brain_observations where lexical is null)::int as unprepared,
            (select count(*) from brain_relations where provenance = 'predicted')::int as predicted,
            (select count(distinct observation_id) from brain_observation_chunks)::int as chunked,
            (select count(*) from brain_node_metrics where pagerank_score is not null)::int as ranked,
            (select count(*) from brain_communities as c where not exists (select from brain_node_metrics as m where m.community_id = c.community_id))::int as empty`,
    );
    expect(left).toEqual({ notes: 0, unprepared: 0, predicted: 1, chunked: 20, ranked: 40, empty: 0 });
    const [faded] = await rows(
      db,
      sql`select count(*)::int as n from brain_observations where content like 'note %' and importance between 0.399 and 0.401`,
    );
    expect(faded?.n).toBe(ROWS);
    await db[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  },
  10 * 60_000,
);
