/** Consolidation forgets what faded and nothing else: mixed memories through many cycles, a clock that jumps, and every maintenance action. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { eachEngine, testScope } from "../../support/engines.ts";
import { graphOver, type Reply } from "../../support/graph.ts";
import { only, ran, remOver } from "../../support/rem.ts";
import { rows } from "../../support/statements.ts";

const SLOW_MS = 120_000;
const everything = testScope({ scope: { kind: "everything" } });

eachEngine("what consolidation may not touch", (engine) => {
  beforeEach(() => engine.db.reset());
  const read = (statement: ReturnType<typeof sql>) => rows(engine.db, statement, everything);
  const zafra = (args: Reply) => graphOver(engine.db).caller()("cuba_zafra", args);
  const cycle = () => ran(remOver(engine.db, { phases: only("decay", "episodes", "autolink", "words", "duplicates", "purge") }));
  const days = (count: number) => sql`${count}::float8 * interval '1 day'`;

  const kept = () =>
    read(sql`
      select 'note ' || id as row, importance, content, observation_type as type from brain_observations where observation_type in ('decision', 'lesson') or trust = 'quarantined'
      union all select 'error ' || id, synapse_weight, error_message || coalesce(solution, ''), resolved::text from brain_errors
      union all select 'recipe ' || id, success_count, steps::text, name from brain_procedures
      order by 1`);
  const notes = () => read(sql`select id, importance, observation_type as type, trust from brain_observations order by id`);

  test(
    "many cycles are one; decisions, lessons, open errors, recipes and unreviewed rows stay; a clock that jumps floors nothing; what goes was planned",
    async () => {
      await read(sql`insert into brain_entities (name) select 'subject ' || n from generate_series(1, 20) as n`);
      await read(sql`
        insert into brain_observations (entity_id, content, observation_type, importance, trust, created_at, last_accessed, last_decayed_at)
        select e.id, 'note number ' || n || ' about its own matter', t.type, 0.1 + (n % 9) * 0.1, case when n % 25 = 0 then 'quarantined' else 'trusted' end, at, at, at
        from generate_series(1, 240) as n
        cross join lateral (select now() - (n * 400 / 240.0) * interval '1 day' as at) as w
        cross join lateral (select case when n <= 20 then 'decision' when n <= 40 then 'lesson'
          else (array['fact', 'preference', 'context', 'tool_usage', 'error', 'solution'])[1 + n % 6] end as type) as t
        join brain_entities as e on e.name = 'subject ' || (1 + n % 20)`);
      await read(
        sql`insert into brain_errors (error_type, error_message, created_at) select 'T', 'open trouble ' || n, now() - ${days(300)} from generate_series(1, 10) as n`,
      );
      await read(
        sql`insert into brain_procedures (name, created_at) select 'recipe ' || n, now() - ${days(300)} from generate_series(1, 10) as n`,
      );
      const before = await kept();

      await cycle();
      const once = await notes();
      for (let again = 0; again < 20; again++) await cycle();
      expect(await notes()).toEqual(once);
      expect(await kept()).toEqual(before);
      expect(once.length).toBe(240);

      // A year ahead for one cycle, then a day before where it was.
      const shift = async (by: number) => {
        await read(
          sql`update brain_observations set last_accessed = last_accessed - ${days(by)}, last_decayed_at = last_decayed_at - ${days(by)}`,
        );
        await read(sql`update brain_calibration set value = value - ${by}::float8 * 86400 where key = 'decay_ran_at'`);
      };
      const floor = async () => Number((await read(sql`select count(*)::int as n from brain_observations where importance <= 0.01`))[0]?.n);
      const floored = await floor();
      const strong = once.filter((row) => row.type === "fact" && row.trust === "trusted" && Number(row.importance) > 0.02);
      expect(strong.length).toBeGreaterThan(1);
      await shift(365);
      await cycle();
      for (const row of strong) {
        const now = (await notes()).find((each) => each.id === row.id);
        // A month's worth and no more.
        expect(Number(now?.importance)).toBeCloseTo(Number(row.importance) / 2, 2);
      }
      expect(await floor()).toBeLessThan(floored + 60);
      await shift(-366);
      const ahead = await notes();
      await cycle();
      expect(await notes()).toEqual(ahead);
      expect(await kept()).toEqual(before);

      const plan = await zafra({ action: "prune", threshold: 0.05 });
      expect(await notes()).toEqual(ahead);
      const done = await zafra({ action: "prune", threshold: 0.05, confirm: true, scope: "all" });
      expect(Number(done.pruned)).toBeGreaterThan(0);
      expect([done.pruned, done.by_type]).toEqual([plan.would_prune, plan.by_type]);
      expect((await notes()).length).toBe(240 - Number(done.pruned));
      await zafra({ action: "merge" });
      await zafra({ action: "summarize", entity_name: "subject 3", compressed_summary: "all of subject 3" });
      expect(await kept()).toEqual(before);
      // What was retired says for what, and can be put back.
      const retired = await read(
        sql`select superseded_from as was, superseded_by is not null as followed from brain_observations where observation_type = 'superseded'`,
      );
      expect(retired.length).toBeGreaterThan(0);
      for (const row of retired) expect([typeof row.was, row.followed]).toEqual(["string", true]);
      const listed = await read(sql`select action from brain_audit_log`);
      expect(listed).toEqual([{ action: "prune.observations" }]);
    },
    SLOW_MS,
  );
});
