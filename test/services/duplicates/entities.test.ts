/** Entities that are one: what is found, what a merge moves, and that nothing is lost by it. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { createEntityDuplicates } from "../../../src/services/duplicates/entities.ts";
import { createCalls, paceBehind } from "../../../src/services/pace.ts";
import { keysToEntities } from "../../../src/store/queries/entity-duplicates.ts";
import { brokenInvariants } from "../../../src/store/queries/invariants.ts";
import { colliding } from "../../support/colliding.ts";
import { eachEngine, testScope } from "../../support/engines.ts";
import { graphOver } from "../../support/graph.ts";
import { project, row, rows } from "../../support/statements.ts";

const everything = testScope({ scope: { kind: "everything" } });

eachEngine("entities that are one", (engine) => {
  beforeEach(() => engine.db.reset());
  const paceOf = paceBehind(createCalls());
  const duplicates = () => createEntityDuplicates({ db: engine.db, queue: { poke: () => {} }, paceOf });
  const add = (name: string, content: string, projectId?: string) =>
    graphOver(engine.db).caller(projectId === undefined ? { kind: "none" } : { kind: "project", id: projectId })("cuba_cronica", {
      action: "add",
      entity_name: name,
      content,
    });
  const create = async (name: string, projectId: string | null = null) =>
    String(
      (
        await row(
          engine.db,
          sql`insert into brain_entities (name, name_key, project_id) values (${name}::text, ${(await import("../../../src/domain/names.ts")).nameKey(name)}::text, ${projectId}::uuid) returning id`,
        )
      ).id,
    );
  const observe = (id: string, content: string) =>
    rows(
      engine.db,
      sql`insert into brain_observations (entity_id, content, project_id) select e.id, ${content}::text, e.project_id from brain_entities as e where e.id = ${id}::uuid returning id`,
    );
  const names = async () => (await rows(engine.db, sql`select name from brain_entities order by name`)).map(({ name }) => name);

  test("case and separators make no other thing; C, C++ and C#, 1.0 and 10, and two projects do", async () => {
    const p = await project(engine.db);
    for (const name of ["Mapupita-Web", "mapupita_web", "C", "C++", "C#", "1.0", "10", "--"]) await create(name);
    await create("Mapupita-Web", p);
    await observe(await create("MAPUPITA.WEB"), "the one that is written about");
    const { exact, likely } = await duplicates().report(everything);
    expect(exact.map(({ loser, winner }) => `${loser.name} > ${winner.name}`).sort()).toEqual([
      "Mapupita-Web > MAPUPITA.WEB",
      "mapupita_web > MAPUPITA.WEB",
    ]);
    const alike = likely.map(({ a, b }) => [a.name, b.name].sort().join(" ~ "));
    expect(alike).toContain("C ~ C++");
    expect(alike).toContain("Mapupita-Web ~ Mapupita-Web");
    await duplicates().fold(
      everything,
      exact.map(({ loser, winner }) => ({ loser: loser.id, winner: winner.id })),
    );
    expect(await names()).toEqual(["--", "1.0", "10", "C", "C#", "C++", "MAPUPITA.WEB", "Mapupita-Web"]);
  });

  test("a read that collides and runs again shows nothing twice", async () => {
    for (const name of ["Mapupita-Web", "mapupita_web", "Mapupita Webs"]) await create(name);
    const { exact, likelyTotal } = await createEntityDuplicates({ db: colliding(engine.db), queue: { poke: () => {} }, paceOf }).report(
      everything,
    );
    expect([exact.length, likelyTotal]).toEqual([1, 2]);
  });

  test("of thousands of pairs the most alike are shown, and all are counted", async () => {
    const made = Array.from({ length: 60 }, (_, at) => `host of the northern datacenter ${10 + at}`);
    // Looked at last, and more alike than any other pair.
    for (const name of [...made, "the gateway of every payment service", "every payment service gateway of the"]) await create(name);
    const { likely, likelyTotal } = await duplicates().report(everything);
    expect([likely.length, likelyTotal]).toEqual([100, (60 * 59) / 2 + 1]);
    expect(likely[0]?.similarity).toBe(1);
    expect([likely[0]?.a.name, likely[0]?.b.name].sort()).toEqual([
      "every payment service gateway of the",
      "the gateway of every payment service",
    ]);
    expect(likely.every(({ similarity }, at) => at === 0 || similarity <= (likely[at - 1]?.similarity ?? 0))).toBe(true);
  });

  test("everything that hangs on the one that goes hangs on the other afterwards, and the old name leads there, for writes too", async () => {
    const [loser, winner, third] = [await create("api-server"), await create("API gateway"), await create("broker")];
    await observe(loser, "listens on 8080");
    await observe(winner, "is behind the load balancer");
    await rows(
      engine.db,
      sql`update brain_observations set embedding = array_fill(0.1, array[384])::vector, embedding_model = 'm' returning id`,
    );
    await rows(engine.db, sql`insert into brain_episodes (entity_id, content) values (${loser}::uuid, 'was deployed') returning id`);
    await rows(
      engine.db,
      sql`insert into brain_facts (subject, predicate, object, subject_entity_id) values ('api-server', 'fact', 'listens', ${loser}::uuid) returning fact_id`,
    );
    await rows(
      engine.db,
      sql`insert into brain_entity_aliases (entity_id, alias_text) values (${loser}::uuid, 'backend') returning alias_id`,
    );
    for (const [from, to, strength] of [
      [loser, third, 0.9],
      [winner, third, 0.4],
      [winner, loser, 1],
    ] as const)
      await rows(
        engine.db,
        sql`insert into brain_relations (from_entity, to_entity, relation_type, strength) values (${from}::uuid, ${to}::uuid, 'uses', ${strength}::float8) returning id`,
      );
    const fold = await duplicates().named(testScope(), { loser: "api-server", winner: "API gateway" });
    const [before] = await duplicates().snapshot(everything, [loser]);
    expect(Reflect.get(Object(before), "observations")).toHaveLength(1);
    expect(Reflect.get(Object(before), "relations")).toHaveLength(2);
    const done = await duplicates().fold(everything, [{ loser: fold.loser.id, winner: fold.winner.id }]);
    expect(done).toEqual({ merged: [{ loser: "api-server", winner: "API gateway", observations: 1 }], skipped: [] });

    expect(
      await rows(engine.db, sql`select content, entity_id, embedding is null as waits from brain_observations order by content`),
    ).toEqual([
      { content: "is behind the load balancer", entity_id: winner, waits: false },
      { content: "listens on 8080", entity_id: winner, waits: true },
    ]);
    expect(await rows(engine.db, sql`select from_entity, to_entity, strength from brain_relations`)).toEqual([
      { from_entity: winner, to_entity: third, strength: 0.9 },
    ]);
    expect(await rows(engine.db, sql`select entity_id from brain_episodes`)).toEqual([{ entity_id: winner }]);
    expect(await rows(engine.db, sql`select subject, subject_entity_id from brain_facts`)).toEqual([
      { subject: "API gateway", subject_entity_id: winner },
    ]);
    expect(await rows(engine.db, sql`select alias_text from brain_entity_aliases order by alias_text`)).toEqual([
      { alias_text: "api-server" },
      { alias_text: "backend" },
    ]);
    expect(await rows(engine.db, sql`select old_id, new_id from brain_sync_id_aliases`)).toEqual([{ old_id: loser, new_id: winner }]);
    expect(await rows(engine.db, sql`select count(*)::int as n from brain_tombstones where row_id::text = ${loser}::text`)).toEqual([
      { n: 1 },
    ]);
    await add("api-server", "was moved to port 9090");
    expect(await names()).toEqual(["API gateway", "broker"]);
    expect(await engine.db.asOwner(brokenInvariants)).toEqual([]);
  });

  test("no key to an entity is forgotten", async () => {
    expect((await engine.db.read(everything, (tx) => tx.all(keysToEntities()))).map(({ column }) => column)).toEqual([
      "brain_entity_aliases.entity_id",
      "brain_episodes.entity_id",
      "brain_facts.subject_entity_id",
      "brain_node_metrics.node_id",
      "brain_observations.entity_id",
      "brain_relations.from_entity",
      "brain_relations.to_entity",
    ]);
  });

  test("what a person names must be there, be two, and lie in one project", async () => {
    const p = await project(engine.db, "shop");
    await create("a", p);
    await create("b");
    const named = (loser: string, winner: string) => duplicates().named(everything, { loser, winner });
    await expect(named("nobody", "b")).rejects.toThrow("'nobody' not found");
    await expect(named("b", "b")).rejects.toThrow("one entity already");
    await expect(named("a", "b")).rejects.toThrow("an entity lies in one project");
    await create("b", p);
    await expect(named("a", "b")).rejects.toThrow("several projects");
  });

  test("a chain of folds ends in one; what is gone meanwhile is left out", async () => {
    const [a, b, c] = [await create("a"), await create("b"), await create("c")];
    for (const id of [a, b, c]) await observe(id, `about ${id}`);
    const done = await duplicates().fold(everything, [
      { loser: a, winner: b },
      { loser: b, winner: c },
      { loser: a, winner: c },
    ]);
    expect([done.merged.length, done.skipped]).toEqual([2, [a]]);
    expect(await rows(engine.db, sql`select old_id, new_id from brain_sync_id_aliases order by created_at, old_id`)).toEqual(
      expect.arrayContaining([
        { old_id: a, new_id: c },
        { old_id: b, new_id: c },
      ]),
    );
    expect((await row(engine.db, sql`select count(*)::int as n from brain_observations where entity_id = ${c}::uuid`)).n).toBe(3);
  });
});
