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
    expect(page.observations.map(({ content }) => content)).toEqual(["served"]);
    expect(page.relations).toEqual([{ from: a, to: b, type: "uses", strength: 1 }]);
    const last = page.entities.at(-1)?.id ?? "";
    expect((await vault.page(inProject(p), last)).entities).toEqual([]);
    expect((await vault.page(testScope(), FIRST_ID)).entities.length).toBe(3);
  });

  test("a page ends where an entity with many observations would make it slow; the walk gives every entity once", async () => {
    const { db } = engine;
    await rows(db, sql`insert into brain_entities (name) select 'e' || i from generate_series(1, 120) as i returning id`);
    await rows(
      db,
      sql`insert into brain_observations (entity_id, content, lexical)
          select e.id, 'note ' || i, 'note' from brain_entities as e cross join generate_series(1, 600) as i where e.name in ('e1', 'e2', 'e3') returning id`,
    );
    const vault = createVault({ db });
    const names: string[] = [];
    let observations = 0;
    for (let after: string | undefined = FIRST_ID; after !== undefined; ) {
      const page = await vault.page(testScope(), after);
      expect(page.entities.length === 1 || page.observations.length <= 1_000).toBe(true);
      names.push(...page.entities.map(({ name }) => name));
      observations += page.observations.length;
      after = page.entities.at(-1)?.id;
    }
    expect([names.length, new Set(names).size, observations]).toEqual([120, 120, 1_800]);
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
