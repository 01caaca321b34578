/** cuba_reflexion: what the graph lacks, seeded as rows. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { tokenCounter } from "../../src/kernel/tokens.ts";
import { ANSWER_TOKENS } from "../../src/tools/fit.ts";
import { eachEngine } from "../support/engines.ts";
import { graphOver, type Reply } from "../support/graph.ts";
import { project, row, rows } from "../support/statements.ts";

eachEngine("cuba_reflexion", (engine) => {
  beforeEach(() => engine.db.reset());
  const db = () => engine.db;
  const analyze = (projectId?: string, args: Reply = { action: "analyze" }) =>
    graphOver(engine.db).caller(projectId === undefined ? { kind: "none" } : { kind: "project", id: projectId })("cuba_reflexion", args);
  const gapsOf = async (key: string, projectId?: string) => ((await analyze(projectId)).gaps as Record<string, Reply[]>)[key];

  const make = async (name: string, more: { type?: string; importance?: number; project?: string | null } = {}) =>
    String(
      (
        await row(
          db(),
          sql`insert into brain_entities (name, entity_type, importance, project_id)
              values (${name}::text, ${more.type ?? "concept"}::text, ${more.importance ?? 0.3}::float8, ${more.project ?? null}::uuid) returning id`,
        )
      ).id,
    );
  const link = (from: string, to: string, projectId: string | null = null) =>
    rows(
      db(),
      sql`insert into brain_relations (from_entity, to_entity, relation_type, project_id) values (${from}::uuid, ${to}::uuid, 'uses', ${projectId}::uuid)`,
    );
  const note = (entity: string, count: number, type = "fact", trust = "trusted") =>
    rows(
      db(),
      sql`insert into brain_observations (entity_id, content, observation_type, trust)
          select ${entity}::uuid, 'note ' || g || ' ' || ${type}::text, ${type}::text, ${trust}::text from generate_series(1, ${count}::int) as g`,
    );

  test("an empty database has no gaps, with or without an action", async () => {
    const empty = {
      action: "analyze",
      gaps: { isolated_entities: [], underconnected_high_importance: [], type_silos: [], observation_gaps: [], density_anomalies: [] },
      summary:
        "0 isolated entities, 0 important entities with few relations, 0 pairs of types without a relation, 0 entities with facts but no decision or lesson, 0 outliers.",
      recommendations: [],
      warnings: [],
    };
    expect(await analyze()).toEqual(empty);
    expect(await analyze(undefined, {})).toEqual(empty);
    expect(await graphOver(engine.db).refusal(analyze(undefined, { action: "fix" }))).toMatchObject({
      message: "Invalid action: fix. Use analyze",
    });
  });

  test("an entity without a relation is isolated", async () => {
    await make("A");
    const [b, c] = [await make("B", { importance: 0.9 }), await make("C")];
    expect(await gapsOf("isolated_entities")).toEqual([
      { name: "B", entity_type: "concept" },
      { name: "A", entity_type: "concept" },
      { name: "C", entity_type: "concept" },
    ]);
    await link(b, c);
    expect(await gapsOf("isolated_entities")).toEqual([{ name: "A", entity_type: "concept" }]);
    expect((await analyze()).recommendations).toContain("Link 'A' with what it belongs to (cuba_puente create): it has no relation.");
  });

  test("an important entity with one or two relations is underconnected, with three or none it is not", async () => {
    const [hub, lone, full, dull] = [
      await make("hub", { importance: 0.91 }),
      await make("lone", { importance: 0.9 }),
      await make("full", { importance: 0.8 }),
      await make("dull", { importance: 0.4 }),
    ];
    expect(lone).not.toBe(hub);
    const others = [await make("x"), await make("y"), await make("z")];
    await link(hub, full);
    await link(dull, others[0] ?? "");
    for (const other of others.slice(1)) await link(other, full);
    await link(hub, dull);
    expect(await gapsOf("underconnected_high_importance")).toEqual([{ name: "hub", importance: 0.91, degree: 2 }]);
    expect((await analyze()).recommendations).toContain("'hub' is important (0.91) and has 2 relations: is that all?");
  });

  test("two types without a relation in either direction are a silo", async () => {
    const [a, b] = [await make("a", { type: "technology" }), await make("b")];
    await make("c", { type: "person" });
    await link(b, a);
    expect(await gapsOf("type_silos")).toEqual([
      { type_a: "concept", type_b: "person" },
      { type_a: "person", type_b: "technology" },
    ]);
    expect((await analyze()).recommendations).toContain("Nothing links a concept with a person: is there no relation between them?");
  });

  test("more than three facts ask for a decision and a lesson; retired and withheld notes do not count", async () => {
    const of = async (name: string, facts: number, decisions: number, lessons: number) => {
      const id = await make(name);
      await note(id, facts);
      await note(id, decisions, "decision");
      await note(id, lessons, "lesson");
      return id;
    };
    await of("neither", 4, 0, 0);
    await of("no decision", 5, 0, 1);
    await of("no lesson", 6, 1, 0);
    await of("both", 4, 1, 1);
    const few = await of("few", 3, 0, 0);
    await note(few, 5, "superseded");
    await note(few, 5, "fact", "quarantined");
    expect(await gapsOf("observation_gaps")).toEqual([
      { name: "no lesson", facts: 6, decisions: 1, lessons: 0 },
      { name: "no decision", facts: 5, decisions: 0, lessons: 1 },
      { name: "neither", facts: 4, decisions: 0, lessons: 0 },
    ]);
    const advice = (await analyze()).recommendations as string[];
    for (const text of ["6 facts and no lesson", "5 facts and no decision", "4 facts and neither a decision nor a lesson"])
      expect(advice.some((line) => line.includes(text))).toBe(true);
  });

  test("one of fifty notes among twenty of two stands out, and relations do not multiply its notes", async () => {
    const big = await make("big");
    await note(big, 50);
    for (let i = 0; i < 20; i++) {
      const small = await make(`small ${i}`);
      await note(small, 2);
      if (i < 4) await link(big, small);
    }
    const found = await gapsOf("density_anomalies");
    expect(found).toMatchObject([{ name: "big", obs_count: 50, rel_count: 4 }]);
    // mean 90/21, population deviation 10.222; relations: mean 8/21, deviation 0.89 counted as 1.
    expect(found?.[0]).toMatchObject({ obs_zscore: 4.4721, rel_zscore: 3.619 });
  });

  test("what only withheld text speaks of, the decisions' entity and other projects stay out", async () => {
    const [mine, theirs] = [await project(db()), await project(db())];
    await note(await make("rumour"), 4, "fact", "quarantined");
    await make("architecture_decisions");
    expect(await gapsOf("isolated_entities")).toEqual([]);
    await make("yours", { project: theirs });
    const own = await make("own", { project: mine });
    const foreign = await make("foreign", { project: theirs });
    await engine.db.asOwner((connection) =>
      connection.script(
        `insert into brain_relations (from_entity, to_entity, relation_type, project_id) values ('${own}', '${foreign}', 'uses', '${mine}')`,
      ),
    );
    expect(await gapsOf("isolated_entities", mine)).toEqual([{ name: "own", entity_type: "concept" }]);
  });

  test("a large graph is cut, says how much there is, and stays inside an answer", async () => {
    await rows(
      db(),
      sql`insert into brain_entities (name, entity_type, importance)
          select repeat('界', 190) || lpad(g::text, 5, '0'), (array['concept', 'project', 'technology', 'person', 'pattern', 'config'])[1 + g % 6], 0.3 from generate_series(1, 300) as g`,
    );
    const answer = await analyze();
    expect(answer).toMatchObject({ truncated: true, total: { isolated_entities: 300, type_silos: 15 } });
    expect((answer.recommendations as string[]).length).toBeLessThanOrEqual(30);
    expect((await tokenCounter())(JSON.stringify(answer))).toBeLessThan(ANSWER_TOKENS);
  });

  test("it writes nothing", async () => {
    const before = await rows(db(), sql`select e.* from brain_entities as e where e.id = ${await make("A", { importance: 0.9 })}::uuid`);
    await analyze();
    expect(await rows(db(), sql`select e.* from brain_entities as e`)).toEqual(before);
  });
});
