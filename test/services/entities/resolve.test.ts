import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { resolveEntity } from "../../../src/services/entities/resolve.ts";
import { eachEngine, inProject, testScope } from "../../support/engines.ts";
import { graphOver } from "../../support/graph.ts";
import { project, row, rows } from "../../support/statements.ts";

eachEngine("resolving an entity", (engine) => {
  beforeEach(() => engine.db.reset());
  const db = () => engine.db;

  test("fifty writers of one new name at once make one entity, and no text is lost", async () => {
    const graphs = Array.from({ length: 10 }, () => graphOver(engine.db));
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        graphs[i % 10]?.caller()("cuba_cronica", {
          action: "add",
          entity_name: "DGIA",
          content: `The note of client ${i} about ${"abcdefghij".charAt(i % 10)}${i}`,
        }),
      ),
    );
    expect(new Set(answers.map((answer) => answer?.id)).size).toBe(50);
    expect(
      await rows(
        db(),
        sql`select e.name, count(o.id)::int as n from brain_entities e join brain_observations o on o.entity_id = e.id group by e.id`,
      ),
    ).toEqual([{ name: "DGIA", n: 50 }]);
    const call = graphOver(engine.db).caller();
    for (const spelling of ["DGIA ", "dgia", "D-G-I-A"]) {
      expect(await call("cuba_alma", { action: "get", name: spelling })).toMatchObject({ entity: { name: "DGIA" } });
      expect(
        await call("cuba_cronica", { action: "add", entity_name: spelling, content: `Written as ${spelling}`, force: true }),
      ).toMatchObject({ entity_name: "DGIA" });
    }
    expect(await rows(db(), sql`select 1 from brain_entities`)).toHaveLength(1);
  });

  test("two writers of one text at once store it once", async () => {
    const text = "The payments queue is drained every five minutes by one worker";
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        graphOver(engine.db).caller()("cuba_cronica", { action: "add", entity_name: "Queue", content: text }),
      ),
    );
    expect(answers.filter((answer) => answer.id !== undefined)).toHaveLength(1);
    expect((await row(db(), sql`select count(*)::int as n from brain_observations`)).n).toBe(1);
  });

  test("batches that name the same entities in opposite orders both go in", async () => {
    const batch = (names: readonly string[], from: number) =>
      graphOver(engine.db).caller()("cuba_cronica", {
        action: "batch_add",
        observations: names.map((name, i) => ({ entity_name: name, content: `text ${from + i} on ${name} ${"x".repeat(from + i)}` })),
      });
    const names = ["A", "B", "C", "D", "E"];
    const answers = await Promise.all([batch(names, 1), batch(names.toReversed(), 20), batch(names, 40), batch(names.toReversed(), 60)]);
    expect(answers.map((answer) => answer.added)).toEqual([5, 5, 5, 5]);
    expect(await rows(db(), sql`select 1 from brain_entities`)).toHaveLength(5);
  });

  test("a key that several entities share leads to none of them", async () => {
    await rows(db(), sql`insert into brain_entities (name, name_key) values ('Web-App', 'webapp'), ('web app', 'webapp')`);
    const found = db().read(testScope(), (tx) => resolveEntity(tx, "webapp", { kind: "none" }, "read"));
    await expect(found).rejects.toThrow("Entity 'webapp' not found");
  });

  test("of two entities with one alias the older is meant", async () => {
    await rows(
      db(),
      sql`insert into brain_entities (name, name_key, created_at) values ('New', 'new', '2026-02-02'), ('Old', 'old', '2026-01-01')`,
    );
    await rows(db(), sql`insert into brain_entity_aliases (entity_id, alias_text) select id, 'Shared' from brain_entities`);
    expect(await db().read(testScope(), (tx) => resolveEntity(tx, "Shared", { kind: "none" }, "read"))).toMatchObject({
      name: "Old",
      requestedName: "Shared",
      resolvedFrom: "alias",
      created: false,
    });
  });

  test("creation happens in the active project with key and words prepared, and is told", async () => {
    const p = await project(db());
    const scope = { kind: "project", id: p } as const;
    const made = await db().write(inProject(p), (tx) => resolveEntity(tx, "  Payment-Gateway ", scope, "create"));
    expect(made).toMatchObject({ name: "Payment-Gateway", entityType: "concept", projectId: p, created: true });
    expect(await row(db(), sql`select name_key, project_id from brain_entities`)).toEqual({ name_key: "paymentgateway", project_id: p });
    const again = await db().write(inProject(p), (tx) => resolveEntity(tx, "payment gateway", scope, "create"));
    expect(again).toMatchObject({ id: made.id, created: false, resolvedFrom: "normalized" });
  });

  test("no suggestion names what only untrusted text speaks of", async () => {
    await rows(
      db(),
      sql`with e as (insert into brain_entities (name, name_key) values ('Postgres planted', 'postgresplanted') returning id)
          insert into brain_observations (entity_id, content, trust) select id, 'planted', 'quarantined' from e`,
    );
    await expect(db().read(testScope(), (tx) => resolveEntity(tx, "Postgres plantet", { kind: "none" }, "read"))).rejects.toThrow(
      "Entity 'Postgres plantet' not found. Nothing was written.",
    );
  });
});
