/** Entities that are one: what is found, what a merge moves, and that nothing is lost by it. */
import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { createEntityDuplicates } from "../../../src/services/duplicates/entities.ts";
import { createUnmerge } from "../../../src/services/duplicates/unmerge.ts";
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
  const unmerge = () => createUnmerge({ db: engine.db, queue: { poke: () => {} } });
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

  test("a name that only withheld text speaks of is no proposal, nor do withheld rows decide who stays", async () => {
    const withhold = (id: string, content: string, trust = "quarantined") =>
      rows(
        engine.db,
        sql`insert into brain_observations (entity_id, content, trust) values (${id}::uuid, ${content}::text, ${trust}::text) returning id`,
      );
    const [dashed, spaced, stranger] = [await create("Payment-Web"), await create("payment web"), await create("PAYMENT.WEB")];
    const [likely, another] = [await create("Payment Webs"), await create("Payments Web")];
    await observe(dashed, "is written in Go");
    for (const at of [1, 2]) await withhold(spaced, `planted ${at}`);
    await observe(spaced, "listens on 8080");
    await observe(spaced, "is behind the gateway");
    // A stranger's notes on a trusted name weigh nothing: two served rows against one, not three against four.
    for (const at of [1, 2, 3]) await withhold(dashed, `planted ${at}`);
    await withhold(stranger, "merge me");
    await withhold(likely, "merge me too");
    await rows(
      engine.db,
      sql`insert into brain_episodes (entity_id, content, trust) values (${another}::uuid, 'seen', 'quarantined') returning id`,
    );
    const proposed = async () => {
      const { exact, likely: pairs, likelyTotal } = await duplicates().report(everything);
      const folds = exact.map(({ loser, winner }) => `${loser.name} (${loser.observations}) > ${winner.name} (${winner.observations})`);
      return { folds, likely: pairs.map(({ a, b }) => [a.name, b.name].sort().join(" ~ ")).sort(), likelyTotal };
    };
    expect(await proposed()).toEqual({ folds: ["Payment-Web (1) > payment web (2)"], likely: [], likelyTotal: 0 });
    await rows(engine.db, sql`update brain_observations set trust = 'trusted' where content = 'merge me too' returning id`);
    expect(await proposed()).toEqual({
      folds: ["Payment-Web (1) > payment web (2)"],
      likely: ["Payment Webs ~ Payment-Web", "Payment Webs ~ payment web"],
      likelyTotal: 2,
    });
    // What moves is all of it.
    const done = await duplicates().fold(everything, [{ loser: dashed, winner: spaced }]);
    expect(done.merged).toEqual([{ loser: "Payment-Web", winner: "payment web", observations: 4 }]);
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
    const [before] = await duplicates().snapshot(everything, [{ loser, winner }]);
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

  test("a merge is taken apart again: all that moved goes back, what came since stays, the second time does nothing", async () => {
    const [loser, winner, third] = [await create("api-server"), await create("API gateway"), await create("broker")];
    const [moves] = await observe(loser, "listens on 8080");
    await observe(winner, "is behind the load balancer");
    await rows(engine.db, sql`insert into brain_episodes (entity_id, content) values (${loser}::uuid, 'was deployed') returning id`);
    await rows(
      engine.db,
      sql`insert into brain_facts (subject, predicate, object, subject_entity_id) values ('api-server', 'fact', 'listens', ${loser}::uuid) returning fact_id`,
    );
    for (const [id, alias] of [
      [loser, "backend"],
      [loser, "gw"],
      [winner, "gw"],
    ])
      await rows(
        engine.db,
        sql`insert into brain_entity_aliases (entity_id, alias_text) values (${id}::uuid, ${alias}::text) returning alias_id`,
      );
    for (const [from, to, strength] of [
      [loser, third, 0.9],
      [winner, third, 0.4],
      [third, loser, 0.3],
      [winner, loser, 1],
    ] as const)
      await rows(
        engine.db,
        sql`insert into brain_relations (from_entity, to_entity, relation_type, strength) values (${from}::uuid, ${to}::uuid, 'uses', ${strength}::float8) returning id`,
      );
    const relations = () => rows(engine.db, sql`select id, from_entity, to_entity, strength from brain_relations order by id`);
    const before = { names: await names(), relations: await relations() };
    const folds = [{ loser, winner }];
    const entities = await duplicates().snapshot(everything, folds);
    await duplicates().fold(everything, folds);
    await add("api-server", "was written under the old name since");
    const snapshot = JSON.parse(JSON.stringify({ folds, entities }));

    expect(await unmerge().undo(everything, snapshot)).toEqual({
      restored: [{ name: "api-server", from: "API gateway", observations: 1 }],
      skipped: [],
    });
    expect(await names()).toEqual(before.names);
    // An edge that both had keeps the greater strength at the one that stayed.
    expect(await relations()).toEqual(
      before.relations.map((each) => (each.from_entity === winner && each.to_entity === third ? { ...each, strength: 0.9 } : each)),
    );
    expect(
      await rows(engine.db, sql`select id, entity_id, embedding is null as waits from brain_observations where content like 'listens%'`),
    ).toEqual([{ id: moves?.id, entity_id: loser, waits: true }]);
    expect(await rows(engine.db, sql`select entity_id from brain_observations where content like 'was written%'`)).toEqual([
      { entity_id: winner },
    ]);
    expect(await rows(engine.db, sql`select entity_id from brain_episodes`)).toEqual([{ entity_id: loser }]);
    expect(
      await rows(engine.db, sql`select subject, subject_entity_id from brain_facts where predicate = 'fact' and object = 'listens'`),
    ).toEqual([{ subject: "api-server", subject_entity_id: loser }]);
    expect(
      await rows(engine.db, sql`select entity_id, alias_text from brain_entity_aliases order by alias_text, entity_id = ${winner}::uuid`),
    ).toEqual([
      { entity_id: loser, alias_text: "backend" },
      { entity_id: loser, alias_text: "gw" },
      { entity_id: winner, alias_text: "gw" },
    ]);
    expect(await rows(engine.db, sql`select 1 as one from brain_sync_id_aliases`)).toEqual([]);
    expect(await rows(engine.db, sql`select 1 as one from brain_tombstones where row_id = ${loser}::uuid`)).toEqual([]);
    expect(await engine.db.asOwner(brokenInvariants)).toEqual([]);

    expect(await unmerge().undo(everything, snapshot)).toEqual({ restored: [], skipped: ["api-server"] });
    await add("api-server", "lands on itself again");
    expect(await rows(engine.db, sql`select entity_id from brain_observations where content like 'lands%'`)).toEqual([
      { entity_id: loser },
    ]);
  });

  test("what was deleted since a merge is not said to have come back", async () => {
    const [loser, winner] = [await create("api-server"), await create("API gateway")];
    const [gone] = await observe(loser, "listens on 8080");
    await observe(loser, "speaks HTTP/2");
    const folds = [{ loser, winner }];
    const snapshot = JSON.parse(JSON.stringify({ folds, entities: await duplicates().snapshot(everything, folds) }));
    await duplicates().fold(everything, folds);
    await rows(engine.db, sql`delete from brain_observations where id = ${String(gone?.id)}::uuid returning id`);
    expect(await unmerge().undo(everything, snapshot)).toEqual({
      restored: [{ name: "api-server", from: "API gateway", observations: 1 }],
      skipped: [],
    });
  });

  test("a chain of merges is taken apart as a whole", async () => {
    const [a, b, c] = [await create("a"), await create("b"), await create("c")];
    for (const id of [a, b, c]) await observe(id, `about ${id}`);
    const folds = [
      { loser: a, winner: b },
      { loser: b, winner: c },
    ];
    const entities = await duplicates().snapshot(everything, folds);
    await duplicates().fold(everything, folds);
    await unmerge().undo(everything, JSON.parse(JSON.stringify({ folds, entities })));
    expect(await rows(engine.db, sql`select entity_id, content from brain_observations order by content`)).toEqual(
      [a, b, c].sort().map((id) => ({ entity_id: id, content: `about ${id}` })),
    );
    expect(await engine.db.asOwner(brokenInvariants)).toEqual([]);
  });

  test("a merge that cannot be taken apart whole is left whole", async () => {
    const [a, b, c, d] = [await create("a"), await create("b"), await create("c"), await create("d")];
    for (const id of [a, c]) await observe(id, `about ${id}`);
    const folds = [
      { loser: a, winner: b },
      { loser: c, winner: d },
    ];
    const entities = await duplicates().snapshot(everything, folds);
    const snapshot = JSON.parse(JSON.stringify({ folds, entities }));
    await duplicates().fold(everything, folds);
    const taken = await create("c");
    await expect(unmerge().undo(everything, snapshot)).rejects.toThrow("another entity 'c' by now; nothing was written");
    expect(await names()).toEqual(["b", "c", "d"]);
    await rows(engine.db, sql`delete from brain_entities where id in (${taken}::uuid, ${d}::uuid) returning id`);
    await expect(unmerge().undo(everything, snapshot)).rejects.toThrow("'c' went into is gone");
    await rows(
      engine.db,
      sql`insert into brain_sync_exports (directory, manifest_hash, exported_at) values ('/shared', 'h', now() + interval '1 second') returning directory`,
    );
    await expect(unmerge().undo(everything, snapshot)).rejects.toThrow("A sync bundle has left this machine");
    expect(await names()).toEqual(["b"]);
    for (const wrong of [{}, { folds: [], entities: [] }, { folds, entities: [{}] }])
      await expect(unmerge().undo(everything, wrong)).rejects.toThrow("no undo file of a merge");
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
