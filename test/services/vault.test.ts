import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { createVault } from "../../src/services/vault.ts";
import { FIRST_ID } from "../../src/store/queries/windows.ts";
import { eachEngine, inProject, testScope } from "../support/engines.ts";
import { entity, observation, project, rows } from "../support/statements.ts";

eachEngine("memories for files", (engine) => {
  beforeEach(() => engine.db.reset());

  test("only what search may serve, of the caller's project, page by page", async () => {
    const { db } = engine;
    const [p, q] = [await project(db), await project(db)];
    const [a, b] = [await entity(db, p, "a"), await entity(db, p, "b")];
    await entity(db, q, "elsewhere");
    await observation(db, a, { content: "served", project: p });
    for (const [content, change] of [
      ["withheld", sql`trust = 'quarantined'`],
      ["retired", sql`observation_type = 'superseded'`],
    ] as const) {
      const id = await observation(db, a, { content, project: p });
      await rows(db, sql`update brain_observations set ${change} where id = ${id}::uuid returning id`);
    }
    await rows(
      db,
      sql`insert into brain_relations (from_entity, to_entity, relation_type, project_id) values (${a}::uuid, ${b}::uuid, 'uses', ${p}::uuid) returning id`,
    );
    const vault = createVault({ db });
    const page = await vault.page(inProject(p), FIRST_ID);
    expect(page.entities.map(({ name, observations }) => [name, observations]).sort()).toEqual([
      ["a", 1],
      ["b", 0],
    ]);
    expect((await vault.observations(inProject(p), undefined)).map(({ content }) => content)).toEqual(["served"]);
    expect(page.relations).toEqual([{ from: a, to: b, type: "uses", strength: 1 }]);
    const last = page.entities.at(-1)?.id ?? "";
    expect((await vault.page(inProject(p), last)).entities).toEqual([]);
    expect((await vault.page(testScope(), FIRST_ID)).entities.length).toBe(3);
  });

  test("a page of observations ends inside of an entity with many; the walk gives every row once, in order", async () => {
    const { db } = engine;
    await rows(db, sql`insert into brain_entities (name) select 'e' || i from generate_series(1, 6) as i returning id`);
    // Three to an instant, so that pages end between rows of one time.
    await rows(
      db,
      sql`insert into brain_observations (entity_id, content, lexical, created_at)
          select e.id, 'note ' || i, 'note', timestamptz '2026-05-04 03:02:01.000001+00' + (i / 3) * interval '1 microsecond'
          from brain_entities as e cross join lateral generate_series(1, case e.name when 'e1' then 2500 when 'e2' then 999 else 3 end) as i
          where e.name <> 'e3' returning id`,
    );
    const vault = createVault({ db });
    const found: string[] = [];
    for (
      let page = await vault.observations(testScope(), undefined);
      page.length > 0;
      page = await vault.observations(testScope(), page.at(-1))
    ) {
      expect(page.length).toBeLessThanOrEqual(1_000);
      found.push(...page.map(({ id }) => id));
    }
    const wanted = await rows(db, sql`select id from brain_observations order by entity_id, created_at desc, id`);
    expect(found).toEqual(wanted.map(({ id }) => String(id)));
    expect(found).toHaveLength(2_500 + 999 + 3 * 3);
    const names: string[] = [];
    for (let page = await vault.page(testScope(), FIRST_ID); page.entities.length > 0; ) {
      names.push(...page.entities.map(({ name }) => name));
      page = await vault.page(testScope(), page.entities.at(-1)?.id ?? "");
    }
    expect(names.sort()).toEqual(["e1", "e2", "e3", "e4", "e5", "e6"]);
  });

  test("procedures come with the bound that ranks them", async () => {
    await rows(
      engine.db,
      sql`insert into brain_procedures (name, trigger_context, steps, success_count, failure_count) values ('deploy', 'before a release', '[{"do":"build"}]', 8, 2) returning id`,
    );
    const [recipe] = await createVault({ db: engine.db }).recipes(testScope(), FIRST_ID);
    expect(recipe).toMatchObject({ name: "deploy", successes: 8, failures: 2, steps: [{ do: "build" }] });
    expect(recipe?.reliability).toBeCloseTo(0.4902, 4);
  });
});
