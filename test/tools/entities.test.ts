import { beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { tokenCounter } from "../../src/kernel/tokens.ts";
import type { Database } from "../../src/store/port.ts";
import { eachEngine } from "../support/engines.ts";
import { graphOver } from "../support/graph.ts";
import { project, row, rows } from "../support/statements.ts";

/** Tests that store megabytes, on a machine that others use too. */
const SLOW_MS = 60_000;

const text = (value: unknown): string => String(value);
const field = (value: unknown, ...path: (string | number)[]): unknown =>
  path.reduce<unknown>((at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : undefined), value);

eachEngine("cuba_alma", (engine) => {
  beforeEach(() => engine.db.reset());
  const graph = () => graphOver(engine.db);
  const inProject = (id: string) => graph().caller({ kind: "project", id });

  test("creates once: the second time it says so, keeps the type and counts the access", async () => {
    const call = graph().caller();
    const first = await call("cuba_alma", { action: "create", name: "Redis", entity_type: "technology" });
    expect(first).toMatchObject({
      action: "create",
      already_existed: false,
      entity: { name: "Redis", entity_type: "technology", importance: 0.5 },
    });
    const second = await call("cuba_alma", { action: "create", name: "Redis", entity_type: "concept" });
    expect(second).toMatchObject({
      already_existed: true,
      type_mismatch: true,
      entity: { id: field(first, "entity", "id"), entity_type: "technology", importance: 0.5, access_count: 1 },
    });
    expect(await call("cuba_alma", { action: "create", name: "Redis" })).not.toHaveProperty("type_mismatch");
  });

  test("takes a name of 200 code points in any script, not one more, and cleans blanks away", async () => {
    const { caller, refusal } = graph();
    const call = caller();
    expect(field(await call("cuba_alma", { action: "create", name: "界".repeat(200) }), "entity", "name")).toBe("界".repeat(200));
    expect((await refusal(call("cuba_alma", { action: "create", name: "界".repeat(201) }))).field).toBe("name");
    await call("cuba_alma", { action: "create", name: "Redis" });
    expect(await call("cuba_alma", { action: "create", name: "  Redis \t " })).toMatchObject({ already_existed: true });
    for (const name of ["", "   ", "\u0007", "a\u0000", "\ud800", 5, null])
      expect((await refusal(call("cuba_alma", { action: "create", name }))).code).toBe("invalid");
    expect((await refusal(call("cuba_alma", { action: "create", name: "x", entity_type: "database" }))).message).toStartWith(
      "Invalid entity_type: database. Use concept/project",
    );
    expect((await refusal(call("cuba_alma", { action: "erase", name: "x" }))).message).toBe(
      "Invalid action: erase. Use create/update/delete/get",
    );
    expect((await row(engine.db, sql`select count(*)::int as n from brain_entities`)).n).toBe(2);
  });

  test("lists entities of the same key beside a new one, and never takes one for the other", async () => {
    const call = graph().caller();
    await call("cuba_alma", { action: "create", name: "Mapupita-Web" });
    const other = await call("cuba_alma", { action: "create", name: "mapupita web" });
    expect(other).toMatchObject({ already_existed: false, similar_existing: ["Mapupita-Web"] });
    for (const name of ["C", "C++", "C#"])
      expect(await call("cuba_alma", { action: "create", name })).not.toHaveProperty("similar_existing");
  });

  test("keeps projects apart, and without one says which it could have meant", async () => {
    const [a, b] = [await project(engine.db, "A"), await project(engine.db, "B")];
    const one = await inProject(a)("cuba_alma", { action: "create", name: "api" });
    const two = await inProject(b)("cuba_alma", { action: "create", name: "api" });
    expect(field(one, "entity", "id")).not.toBe(field(two, "entity", "id"));
    await inProject(a)("cuba_cronica", { action: "add", entity_name: "api", content: "Only project A knows this" });
    const seen = await inProject(b)("cuba_alma", { action: "get", name: "api" });
    expect(seen).toMatchObject({ observations: [], observation_count: 0 });
    const { caller, refusal } = graph();
    const unclear = await refusal(caller()("cuba_alma", { action: "get", name: "api" }));
    expect(unclear.code).toBe("ambiguous");
    expect(unclear.message).toContain("projects A, B");
    expect(await caller()("cuba_alma", { action: "create", name: "solo" })).toMatchObject({ already_existed: false });
    expect((await refusal(inProject(b)("cuba_alma", { action: "get", name: "solo" }))).code).toBe("not_found");
  });

  test("an unscoped entity is meant where no project is active, whatever projects call theirs", async () => {
    const a = await project(engine.db, "A");
    await inProject(a)("cuba_alma", { action: "create", name: "api" });
    await rows(engine.db, sql`insert into brain_entities (name, name_key) values ('api', 'api')`);
    const own = await row(engine.db, sql`select id from brain_entities where project_id is null`);
    expect(field(await graph().caller()("cuba_alma", { action: "get", name: "api" }), "entity", "id")).toBe(text(own.id));
  });

  test("finds an entity by an alias and by another spelling, and echoes what was asked", async () => {
    const call = graph().caller();
    await call("cuba_alma", { action: "create", name: "Mapupita-Web" });
    await rows(
      engine.db,
      sql`insert into brain_entity_aliases (entity_id, alias_text) select id, 'Mapupitta-Web' from brain_entities where name = 'Mapupita-Web'`,
    );
    for (const asked of ["Mapupitta-Web", "mapupita web"])
      expect(await call("cuba_alma", { action: "get", name: asked })).toMatchObject({
        entity: { name: "Mapupita-Web", aliases: ["Mapupitta-Web"] },
        requested_name: asked,
      });
    expect(await call("cuba_alma", { action: "create", name: "Mapupitta-Web" })).toMatchObject({
      already_existed: true,
      resolved_from: "alias",
      requested_name: "Mapupitta-Web",
      entity: { name: "Mapupita-Web" },
    });
  });

  test("an alias of another project leads nowhere", async () => {
    const [a, b] = [await project(engine.db, "A"), await project(engine.db, "B")];
    await inProject(a)("cuba_alma", { action: "create", name: "Postgres" });
    await rows(engine.db, sql`insert into brain_entity_aliases (entity_id, alias_text) select id, 'PG' from brain_entities`);
    const { refusal } = graph();
    expect((await refusal(inProject(b)("cuba_alma", { action: "get", name: "PG" }))).code).toBe("not_found");
    expect(field(await inProject(a)("cuba_alma", { action: "get", name: "PG" }), "entity", "name")).toBe("Postgres");
  });

  test("an unknown name is an error with close names of the same project, best first", async () => {
    const [a, b] = [await project(engine.db, "A"), await project(engine.db, "B")];
    for (const name of ["Postgres", "PostgREST", "Redis"]) await inProject(a)("cuba_alma", { action: "create", name });
    await inProject(b)("cuba_alma", { action: "create", name: "Postgres B" });
    const missing = await graph().refusal(inProject(a)("cuba_alma", { action: "get", name: "Postgress" }));
    expect(missing.message).toStartWith("Entity 'Postgress' not found. Close names: Postgres, PostgREST.");
    expect(missing.data).toEqual({ suggestions: ["Postgres", "PostgREST"] });
  });

  test("after a rename the old name still leads there, for reading and for writing", async () => {
    const { caller, refusal } = graph();
    const call = caller();
    await call("cuba_cronica", { action: "add", entity_name: "X", content: "Written under the first name" });
    expect(await call("cuba_alma", { action: "update", name: "X", new_name: "Y" })).toMatchObject({
      action: "update",
      old_name: "X",
      new_name: "Y",
    });
    expect(await call("cuba_alma", { action: "get", name: "X" })).toMatchObject({ entity: { name: "Y" }, requested_name: "X" });
    await call("cuba_cronica", { action: "add", entity_name: "X", content: "Written under the old name" });
    expect(await rows(engine.db, sql`select name, name_key from brain_entities`)).toEqual([{ name: "Y", name_key: "y" }]);
    expect(await rows(engine.db, sql`select distinct subject from brain_facts`)).toEqual([{ subject: "Y" }]);
    await call("cuba_alma", { action: "create", name: "Z" });
    const taken = await refusal(call("cuba_alma", { action: "update", name: "Y", new_name: "Z" }));
    expect(taken.code).toBe("conflict");
    expect(taken.message).toContain("dedupe --merge 'Y' --into 'Z'");
    expect(await call("cuba_alma", { action: "get", name: "Y" })).toMatchObject({ entity: { name: "Y" } });
    expect(await call("cuba_alma", { action: "update", name: "Y", new_name: "Y" })).toMatchObject({ changed: false });
    expect((await refusal(call("cuba_alma", { action: "update", name: "Y" }))).field).toBe("new_name");
    expect((await refusal(call("cuba_alma", { action: "update", name: "nobody", new_name: "W" }))).message).toContain(
      "Entity 'nobody' not found (within current project scope).",
    );
  });

  test("renaming back drops the alias, and a change of name or type clears the vectors made with it", async () => {
    const call = graph().caller();
    await call("cuba_cronica", { action: "add", entity_name: "X", content: "A text with a vector" });
    await call("cuba_cronica", { action: "episode_add", entity_name: "X", content: "It happened with a vector" });
    const fill = () =>
      rows(
        engine.db,
        sql`update brain_observations set embedding = array_fill(0.1, array[384])::vector, embedding_model = 'm/name-type-1'`,
      );
    const left = async () => (await row(engine.db, sql`select count(embedding)::int as n from brain_observations`)).n;
    await fill();
    await call("cuba_alma", { action: "update", name: "X", new_name: "Y" });
    expect(await left()).toBe(0);
    await fill();
    expect(await call("cuba_alma", { action: "update", name: "Y", entity_type: "person" })).toMatchObject({ entity_type: "person" });
    expect(await left()).toBe(0);
    await call("cuba_alma", { action: "update", name: "Y", new_name: "X" });
    expect(await rows(engine.db, sql`select alias_text from brain_entity_aliases`)).toEqual([{ alias_text: "Y" }]);
    expect(await rows(engine.db, sql`select version from brain_observations`)).toEqual([{ version: 1 }]);
  });

  test("a rename stays inside its project", async () => {
    const [a, b] = [await project(engine.db, "A"), await project(engine.db, "B")];
    for (const id of [a, b]) await inProject(id)("cuba_alma", { action: "create", name: "api" });
    await inProject(a)("cuba_alma", { action: "update", name: "api", new_name: "gateway" });
    expect(
      await rows(
        engine.db,
        sql`select e.name, p.name as project from brain_entities e join brain_projects p on p.id = e.project_id order by 2`,
      ),
    ).toEqual([
      { name: "gateway", project: "A" },
      { name: "api", project: "B" },
    ]);
  });

  test("deletes what has something attached only when confirmed, and leaves a tombstone for each row", async () => {
    const { caller, refusal } = graph();
    const call = caller();
    for (const content of ["The first of two", "The second one here"])
      await call("cuba_cronica", { action: "add", entity_name: "Redis", content });
    for (const confirm of [undefined, false])
      expect(await call("cuba_alma", { action: "delete", name: "Redis", ...(confirm === undefined ? {} : { confirm }) })).toMatchObject({
        action: "delete",
        name: "Redis",
        cascade: false,
        dry_run: true,
        would_delete: { observations: 2, episodes: 0, relations: 0, facts: 2, aliases: 0 },
      });
    expect((await refusal(call("cuba_alma", { action: "delete", name: "Redis", confirm: "true" }))).field).toBe("confirm");
    expect((await row(engine.db, sql`select count(*)::int as n from brain_tombstones`)).n).toBe(0);
    expect(await call("cuba_alma", { action: "delete", name: "Redis", confirm: true })).toMatchObject({ cascade: true, name: "Redis" });
    expect(await rows(engine.db, sql`select table_name, count(*)::int as n from brain_tombstones group by 1 order by 1`)).toEqual([
      { table_name: "brain_entities", n: 1 },
      { table_name: "brain_facts", n: 2 },
      { table_name: "brain_observations", n: 2 },
    ]);
  });

  test("deletes without confirmation what only has an alias", async () => {
    const call = graph().caller();
    await call("cuba_alma", { action: "create", name: "X" });
    await call("cuba_alma", { action: "update", name: "X", new_name: "Y" });
    expect(await call("cuba_alma", { action: "delete", name: "Y" })).toMatchObject({ cascade: true });
    expect(await rows(engine.db, sql`select 1 from brain_entities`)).toEqual([]);
  });

  test("deletes in its own project alone, and not what is ambiguous", async () => {
    const [a, b] = [await project(engine.db, "A"), await project(engine.db, "B")];
    for (const id of [a, b]) await inProject(id)("cuba_alma", { action: "create", name: "api" });
    const { caller, refusal } = graph();
    expect((await refusal(caller()("cuba_alma", { action: "delete", name: "api", confirm: true }))).code).toBe("ambiguous");
    await inProject(a)("cuba_alma", { action: "delete", name: "api" });
    expect(await rows(engine.db, sql`select p.name from brain_entities e join brain_projects p on p.id = e.project_id`)).toEqual([
      { name: "B" },
    ]);
    expect((await refusal(inProject(a)("cuba_alma", { action: "delete", name: "api" }))).message).toStartWith(
      "Entity 'api' not found (within current project scope).",
    );
  });

  test("get shows neither quarantined nor superseded rows, and counts what it withholds", async () => {
    const call = graph().caller();
    await call("cuba_cronica", { action: "add", entity_name: "E", content: "Plain and trusted knowledge" });
    await call("cuba_cronica", { action: "add", entity_name: "E", content: "Withheld until reviewed", trust: "quarantined" });
    await call("cuba_cronica", { action: "add", entity_name: "E", content: "Retired long ago already" });
    await rows(engine.db, sql`update brain_observations set observation_type = 'superseded' where content like 'Retired%'`);
    const seen = await call("cuba_alma", { action: "get", name: "E" });
    expect(seen).toMatchObject({
      observation_count: 1,
      truncated: false,
      quarantined_hidden: 1,
      observations: [{ content: "Plain and trusted knowledge", type: "fact", source: "agent", evidence: "asserted" }],
    });
    expect(JSON.stringify(seen)).not.toContain("Withheld");
  });

  test("a read after ten idle minutes adds 0.006321, one right behind it nothing, and no clock moves", async () => {
    const call = graph().caller();
    await call("cuba_alma", { action: "create", name: "E" });
    await rows(engine.db, sql`update brain_entities set last_boosted_at = now() - interval '600 seconds', updated_at = '2026-01-01'`);
    expect(await call("cuba_alma", { action: "get", name: "E" })).toMatchObject({ entity: { importance: 0.5, access_count: 0 } });
    const after = await row(engine.db, sql`select importance, access_count, updated_at::text as clock from brain_entities`);
    expect(Number(after.importance)).toBeCloseTo(0.506321, 5);
    expect([after.access_count, after.clock]).toEqual([1, "2026-01-01 00:00:00+00"]);
    await call("cuba_alma", { action: "get", name: "E" });
    expect(Number((await row(engine.db, sql`select importance from brain_entities`)).importance)).toBeCloseTo(0.506321, 3);
  });

  test("a read strengthens the neighbours by their strongest link, and the rows that were shown", async () => {
    const { caller, background } = graph();
    const call = caller();
    await call("cuba_cronica", { action: "add", entity_name: "A", content: "The more important of two", observation_type: "decision" });
    await call("cuba_cronica", { action: "add", entity_name: "A", content: "The less important of two" });
    for (const name of ["B", "C"]) await call("cuba_alma", { action: "create", name });
    await call("cuba_puente", { action: "create", from_entity: "A", to_entity: "B" });
    await call("cuba_puente", { action: "create", from_entity: "C", to_entity: "A" });
    await rows(
      engine.db,
      sql`update brain_relations set strength = 0.4 where to_entity = (select id from brain_entities where name = 'A')`,
    );
    await call("cuba_alma", { action: "get", name: "A", limit: 1 });
    expect(await background.drain(5_000)).toBe(0);
    const neighbours = await rows(engine.db, sql`select importance from brain_entities where name in ('B', 'C') order by name`);
    expect(neighbours.map((each) => Number(each.importance))).toEqual([expect.closeTo(0.505, 9), expect.closeTo(0.502, 9)]);
    expect(await rows(engine.db, sql`select observation_type as type, access_count, version from brain_observations order by 1`)).toEqual([
      { type: "decision", access_count: 1, version: 1 },
      { type: "fact", access_count: 0, version: 1 },
    ]);
  });

  test("get shows relations in both directions with strength and provenance, strongest first", async () => {
    const call = graph().caller();
    for (const name of ["A", "B", "C"]) await call("cuba_alma", { action: "create", name });
    await call("cuba_puente", { action: "create", from_entity: "A", to_entity: "B", relation_type: "uses" });
    await call("cuba_puente", { action: "create", from_entity: "C", to_entity: "A", relation_type: "causes" });
    await rows(engine.db, sql`update brain_relations set strength = 0.5 where relation_type = 'causes'`);
    expect((await call("cuba_alma", { action: "get", name: "A" })).relations).toEqual([
      { entity: "B", type: "uses", direction: "outgoing", strength: 1, provenance: "extracted" },
      { entity: "C", type: "causes", direction: "incoming", strength: 0.5, provenance: "extracted" },
    ]);
  });

  test("get fires reminders on the entity, and a reminder that cannot fire never fails it", async () => {
    const { caller } = graph();
    const call = caller();
    await call("cuba_alma", { action: "create", name: "Payments" });
    await rows(
      engine.db,
      sql`insert into brain_triggers (entity_pattern, condition_type, message) values ('Payments', 'on_access', 'rotate the key')`,
    );
    expect(await call("cuba_alma", { action: "get", name: "Payments" })).toMatchObject({
      triggered_reminders: [{ entity_pattern: "Payments", message: "rotate the key", from_agent: null, fire_count: 1, deactivated: true }],
    });
    expect(await call("cuba_alma", { action: "get", name: "Payments" })).not.toHaveProperty("triggered_reminders");
  });

  describe("a big entity", () => {
    const fill = async (db: Database, count: number, chars: number) => {
      await rows(
        db,
        sql`with e as (insert into brain_entities (name, name_key) values ('big', 'big') returning id)
            insert into brain_observations (entity_id, content, importance)
            select e.id, left(i || ' ' || repeat('the quick brown fox ', 600), ${chars}::int), 0.5 from e, generate_series(1, ${count}::int) as i`,
      );
    };

    test(
      "answers at most 10,000 tokens by default, and says how many there are and where to read on",
      async () => {
        await fill(engine.db, 400, 9_000);
        const count = await tokenCounter();
        const seen = await graph().caller()("cuba_alma", { action: "get", name: "big" });
        expect(count(JSON.stringify(seen))).toBeLessThanOrEqual(10_000);
        expect(seen).toMatchObject({ truncated: true, observation_count: 400, next: { offset: field(seen, "observations", "length") } });
      },
      SLOW_MS,
    );

    test(
      "can be read to its last row by following next",
      async () => {
        await fill(engine.db, 25, 9_000);
        const call = graph().caller();
        const seen: string[] = [];
        for (let offset = 0; ; ) {
          const page = await call("cuba_alma", { action: "get", name: "big", offset });
          if (!Array.isArray(page.observations)) throw new Error("no list");
          seen.push(...page.observations.map((each) => text(field(each, "id"))));
          if (page.next === null) break;
          expect(Number(field(page, "next", "offset"))).toBeGreaterThan(offset);
          offset = Number(field(page, "next", "offset"));
        }
        expect(seen).toHaveLength(25);
        expect(new Set(seen).size).toBe(25);
      },
      SLOW_MS,
    );

    test("honours limit and offset, and refuses values outside of their bounds", async () => {
      await fill(engine.db, 30, 40);
      const { caller, refusal } = graph();
      const call = caller();
      const page = await call("cuba_alma", { action: "get", name: "big", limit: 10, offset: 25 });
      expect([field(page, "observations", "length"), page.truncated, page.next]).toEqual([5, false, null]);
      for (const wrong of [{ limit: 0 }, { limit: 201 }, { limit: "5" }, { limit: 1.5 }, { offset: -1 }])
        expect((await refusal(call("cuba_alma", { action: "get", name: "big", ...wrong }))).code).toBe("invalid");
    });
  });

  test("refuses a credential as a name before the database is asked, and stores it when told to", async () => {
    const { caller, refusal } = graph();
    const call = caller();
    const token = "ghp_abcdefghijklmnop";
    const refused = await refusal(call("cuba_alma", { action: "create", name: `key ${token}` }));
    expect(refused.message).toStartWith("refusing to write name: what looks like a github token");
    expect(refused.message).not.toContain(token);
    expect(await call("cuba_alma", { action: "create", name: `key ${token}`, allow_secret: true })).toMatchObject({
      already_existed: false,
    });
  });
});
