/** cuba_hipotesis: what may have caused an effect. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { eachEngine } from "../support/engines.ts";
import { graphOver, type Reply } from "../support/graph.ts";
import { project, row, rows } from "../support/statements.ts";

eachEngine("cuba_hipotesis", (engine) => {
  beforeEach(() => engine.db.reset());
  const db = () => engine.db;
  const caller = (projectId?: string) =>
    graphOver(engine.db).caller(projectId === undefined ? { kind: "none" } : { kind: "project", id: projectId });
  const explain = (args: Reply, projectId?: string) => caller(projectId)("cuba_hipotesis", { action: "explain", effect: "E", ...args });
  const causes = async (args: Reply = {}, projectId?: string) =>
    ((await explain(args, projectId)).hypotheses as Reply[]).map(({ cause }) => cause);

  const idOf = async (name: string, projectId: string | null) =>
    String(
      (
        await row(
          db(),
          sql`insert into brain_entities (name, project_id) values (${name}::text, ${projectId}::uuid)
              on conflict on constraint uq_brain_entities_name_project do update set name = excluded.name returning id`,
        )
      ).id,
    );
  const link = async (from: string, type: string, to: string, strength = 1, more: { both?: boolean; project?: string } = {}) => {
    const projectId = more.project ?? null;
    await rows(
      db(),
      sql`insert into brain_relations (from_entity, to_entity, relation_type, strength, bidirectional, project_id)
          values (${await idOf(from, projectId)}::uuid, ${await idOf(to, projectId)}::uuid, ${type}::text, ${strength}::float8, ${more.both ?? false}::bool, ${projectId}::uuid)`,
    );
  };
  const weigh = (name: string, importance: number) =>
    rows(db(), sql`update brain_entities set importance = ${importance}::float8 where name = ${name}::text`);
  const chain = async () => {
    await link("A", "causes", "B", 0.8);
    await link("B", "causes", "E", 0.5);
    await weigh("A", 0.9);
    await weigh("B", 0.6);
  };

  test("ranks causes by path strength times importance and tells the path", async () => {
    await chain();
    expect(await explain({})).toEqual({
      action: "explain",
      effect: "E",
      hypotheses: [
        {
          cause: "A",
          entity_type: "concept",
          importance: 0.9,
          hops: 2,
          path_strength: 0.4,
          plausibility: 0.36,
          path: [
            { entity: "B", relation: "causes" },
            { entity: "A", relation: "causes" },
          ],
        },
        {
          cause: "B",
          entity_type: "concept",
          importance: 0.6,
          hops: 1,
          path_strength: 0.5,
          plausibility: 0.3,
          path: [{ entity: "B", relation: "causes" }],
        },
      ],
      count: 2,
      max_depth: 3,
      scoring: expect.stringContaining("path_strength × importance"),
      backend: "postgres",
      warnings: [],
    });
  });

  test("bounds are kept: depth 1 to 5, limit 1 to 50, and no action means explain", async () => {
    await chain();
    expect(await causes({ max_depth: 1 })).toEqual(["B"]);
    expect(await explain({ max_depth: 99 })).toMatchObject({ max_depth: 5 });
    expect(await explain({ max_depth: 0 })).toMatchObject({ max_depth: 1 });
    expect(await explain({ limit: -3 })).toMatchObject({ count: 1, truncated: true, total: 2, next: { limit: 50 } });
    expect(await caller()("cuba_hipotesis", { effect: "E" })).toMatchObject({ action: "explain", count: 2 });
    const { refusal } = graphOver(engine.db);
    expect((await refusal(caller()("cuba_hipotesis", { action: "explain" }))).field).toBe("effect");
    expect((await refusal(explain({ effect: " " }))).field).toBe("effect");
  });

  test("a fault in a dependency explains the effect; the dependent is no cause", async () => {
    await link("E", "depends_on", "D");
    expect(await causes()).toEqual(["D"]);
    expect(await causes({ effect: "D" })).toEqual([]);
  });

  test("related_to counts half and both ways, bidirectional edges both ways, other relations not at all", async () => {
    await link("E", "related_to", "R");
    await link("E", "causes", "C", 1, { both: true });
    await link("E", "uses", "U");
    await link("I", "implements", "E");
    expect((await explain({})).hypotheses).toMatchObject([
      { cause: "C", path_strength: 1 },
      { cause: "R", path_strength: 0.5 },
    ]);
  });

  test("a cycle ends, and of several ways to a cause the strongest counts once", async () => {
    await link("A", "causes", "E", 0.3);
    await link("E", "causes", "A");
    await link("B", "causes", "E");
    await link("A", "causes", "B", 0.9);
    expect((await explain({})).hypotheses).toMatchObject([
      { cause: "B", hops: 1 },
      { cause: "A", hops: 2, path_strength: 0.9 },
    ]);
  });

  test("an unknown effect is a note, an old name is the surviving entity", async () => {
    expect(await explain({ effect: "Nobody" })).toMatchObject({
      effect: "Nobody",
      hypotheses: [],
      count: 0,
      note: expect.stringContaining("not known here"),
    });
    await chain();
    await caller()("cuba_alma", { action: "update", name: "E", new_name: "Effect" });
    expect(await explain({})).toMatchObject({ effect: "Effect", count: 2 });
  });

  test("another project's namesake is not walked, and what only withheld text speaks of is no cause", async () => {
    const [mine, theirs] = [await project(db()), await project(db())];
    await link("Theirs", "causes", "E", 1, { project: theirs });
    await link("Mine", "causes", "E", 1, { project: mine });
    await link("Rumour", "causes", "E", 1, { project: mine });
    await rows(
      db(),
      sql`insert into brain_observations (entity_id, content, trust, project_id)
          select id, 'a rumour', 'quarantined', project_id from brain_entities where name = 'Rumour'`,
    );
    expect(await causes({}, mine)).toEqual(["Mine"]);
  });

  test("a hub of three hundred causes answers with the best and says how many there are", async () => {
    const hub = await idOf("E", null);
    await rows(
      db(),
      sql`with made as (insert into brain_entities (name) select 'cause ' || g from generate_series(1, 300) as g returning id)
          insert into brain_relations (from_entity, to_entity, relation_type) select id, ${hub}::uuid, 'causes' from made`,
    );
    expect(await explain({})).toMatchObject({ count: 10, truncated: true, total: 300, next: { limit: 50 } });
  });

  test("it writes nothing", async () => {
    await chain();
    const state = () =>
      rows(
        db(),
        sql`select e.importance, e.access_count, r.strength, r.last_traversed from brain_entities as e left join brain_relations as r on r.from_entity = e.id order by e.name`,
      );
    const before = await state();
    await explain({});
    expect(await state()).toEqual(before);
  });
});
