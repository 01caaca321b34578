import { beforeAll, beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { newId } from "../../src/kernel/ids.ts";
import { eachEngine, inProject, type TestEngine, testScope } from "../support/engines.ts";
import { entity, observation, project, row, rows, stateOf } from "../support/statements.ts";

/** Tables whose rows are seen through another row or by a `project_key`; every other one with row security is seen by its `project_id`. */
const THROUGH_ANOTHER = [
  "brain_artifact_versions",
  "brain_entity_aliases",
  "brain_judgments",
  "brain_posting_totals",
  "brain_postings",
  "brain_sync_conflicts",
  "brain_vector_signs",
];

/** What decides the project of a client: read in scope, written from anywhere. */
const CONTROL_PLANE = ["brain_client_projects", "brain_sessions"];

const WHOLE_BUILD = "code_build_is_whole:r:false";

const catalogue = sql`
  select c.relname as name, c.relrowsecurity and c.relforcerowsecurity as forced,
         exists (select from pg_attribute as a where a.attrelid = c.oid and a.attname = 'project_id' and not a.attisdropped) as scoped,
         (select array_agg(format('%s:%s:%s', p.polname, p.polcmd, p.polpermissive::text) order by p.polname) from pg_policy as p where p.polrelid = c.oid) as policies
  from pg_class as c
  where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
  order by c.relname`;

eachEngine("row security in the catalogue", (engine) => {
  test("is forced on every table with a project, and on those that delegate", async () => {
    const tables = await rows(engine.db, catalogue);
    const unprotected = tables.filter((table) => table.scoped === true && table.forced !== true).map((table) => table.name);
    expect(unprotected).toEqual(["brain_grants", "brain_project_identities", "brain_sync_state"]);
    const delegating = tables.filter((table) => table.scoped !== true && table.forced === true).map((table) => table.name);
    expect(delegating).toEqual(THROUGH_ANOTHER);
  });

  test("has an isolation policy and four restrictive ones on each scoped table but those of the control plane", async () => {
    const tables = await rows(engine.db, catalogue);
    const scoped = tables.filter(
      ({ name, ...table }) => table.scoped === true && table.forced === true && !CONTROL_PLANE.includes(String(name)),
    );
    expect(scoped).toHaveLength(26);
    for (const table of scoped) {
      const policies = Array.isArray(table.policies) ? table.policies : [];
      expect(policies.filter((each) => each !== WHOLE_BUILD)).toEqual([
        "principal_deletes:d:false",
        "principal_inserts:a:false",
        "principal_reads:r:false",
        "principal_updates:w:false",
        "tenant_isolation:*:true",
      ]);
    }
  });

  test("hides what a build of code has not shown yet wherever it writes, and nowhere else", async () => {
    const tables = await rows(engine.db, catalogue);
    const hiding = tables.filter(({ policies }) => Array.isArray(policies) && policies.includes(WHOLE_BUILD)).map(({ name }) => name);
    expect(hiding).toEqual(["brain_entities", "brain_facts", "brain_observations", "brain_postings", "brain_relations"]);
  });
});

interface World {
  readonly a: string;
  readonly b: string;
  readonly inA: string;
  readonly inB: string;
  readonly unscoped: string;
}

async function build(engine: TestEngine): Promise<World> {
  const { db } = engine;
  await db.reset();
  const [a, b] = [await project(db), await project(db)];
  const [entityA, entityB, free] = [await entity(db, a), await entity(db, b), await entity(db)];
  return {
    a,
    b,
    inA: await observation(db, entityA, { project: a }),
    inB: await observation(db, entityB, { project: b }),
    unscoped: await observation(db, free),
  };
}

eachEngine("the scope of a project", (engine) => {
  let world: World;
  beforeAll(async () => {
    world = await build(engine);
    const { db } = engine;
    for (const [id, of] of [
      [world.inA, world.a],
      [world.inB, world.b],
    ] as const) {
      await rows(
        db,
        sql`insert into brain_observation_chunks (observation_id, chunk_index, content, project_id) values (${id}::uuid, 0, 'c', ${of}::uuid)`,
      );
      await rows(
        db,
        sql`insert into brain_sync_conflicts (observation_id, local_content, incoming_content) values (${id}::uuid, 'l', 'i')`,
      );
      const twin = await observation(db, await entity(db, of), { project: of });
      const [x, y] = [id, twin].sort();
      await rows(
        db,
        sql`insert into brain_judgments (observation_a, observation_b, verdict, confidence, judge_backend) values (${x}::uuid, ${y}::uuid, 'unrelated', 1, 'x')`,
      );
      await rows(
        db,
        sql`insert into brain_entity_aliases (entity_id, alias_text) select entity_id, 'alias' from brain_observations where id = ${id}::uuid`,
      );
      const artifact = await row(
        db,
        sql`insert into brain_artifacts (path, content_hash, project_id) values ('p', repeat('0', 64), ${of}::uuid) returning id`,
      );
      await rows(
        db,
        sql`insert into brain_artifact_versions (artifact_id, version, content, content_hash, crdt_counter) values (${artifact.id}::uuid, 1, '', repeat('0', 64), 1)`,
      );
    }
  });

  const count = async (table: string, ctx = testScope()) =>
    Number((await row(engine.db, sql`select count(*) as n from ${sql.identifier(table)}`, ctx)).n);

  test("shows its own rows and the unscoped ones, in every table, and the baseline shows all", async () => {
    const expected = [
      ["brain_observations", 3, 5],
      ["brain_entities", 3, 5],
      ["brain_observation_chunks", 1, 2],
      ["brain_sync_conflicts", 1, 2],
      ["brain_judgments", 1, 2],
      ["brain_entity_aliases", 1, 2],
      ["brain_artifacts", 1, 2],
      ["brain_artifact_versions", 1, 2],
    ] as const;
    for (const [table, seen, all] of expected) {
      expect([table, await count(table, inProject(world.a))]).toEqual([table, seen]);
      expect([table, await count(table)]).toEqual([table, all]);
      expect([table, await count(table, testScope({ scope: { kind: "everything" } }))]).toEqual([table, all]);
    }
    const visible = await rows(
      engine.db,
      sql`select id from brain_observations where id in (${world.inA}::uuid, ${world.inB}::uuid, ${world.unscoped}::uuid)`,
      inProject(world.a),
    );
    expect(visible.map((seen) => seen.id).sort()).toEqual([world.inA, world.unscoped].sort());
  });

  test("shows only unscoped rows where it is not a uuid", async () => {
    expect(await count("brain_observations", inProject("garbage"))).toBe(1);
  });

  test("refuses a row of another project, also as the new value of an update", async () => {
    const into = (of: string) => sql`insert into brain_entities (name, project_id) values (${newId()}::text, ${of}::uuid)`;
    expect(await stateOf(rows(engine.db, into(world.b), inProject(world.a)))).toBe("42501");
    expect(await stateOf(rows(engine.db, into(world.a), inProject(world.a)))).toBe("none");
    const move = sql`update brain_observations set project_id = ${world.b}::uuid where id = ${world.inA}::uuid`;
    expect(await stateOf(rows(engine.db, move, inProject(world.a)))).toBe("42501");
  });

  test("touches no row of another project by update or delete", async () => {
    expect(
      await engine.db.write(inProject(world.a), (tx) =>
        tx.run(sql`update brain_observations set importance = 0 where id = ${world.inB}::uuid`),
      ),
    ).toBe(0);
    expect(
      await engine.db.write(inProject(world.a), (tx) => tx.run(sql`delete from brain_observations where id = ${world.inB}::uuid`)),
    ).toBe(0);
  });

  test("is gone after the transaction, and after one that failed", async () => {
    await stateOf(rows(engine.db, sql`select 1 / 0`, inProject(world.a)));
    expect(await count("brain_observations")).toBe(5);
  });

  test("lets a session of another project begin only where everything is stamped", async () => {
    const begin = sql`insert into brain_sessions (session_name, project_id) values ('s', ${world.b}::uuid) returning id`;
    expect(await stateOf(rows(engine.db, begin, inProject(world.a)))).toBe("42501");
    expect(await stateOf(rows(engine.db, begin, testScope({ scope: { kind: "everything" } })))).toBe("none");
  });
});

eachEngine("principals and grants", (engine) => {
  let world: World;
  beforeEach(async () => {
    world = await build(engine);
  });
  const user = (name: string) => testScope({ principal: { kind: "user", id: name }, scope: { kind: "project", id: world.a } });
  const enable = (name: string, role: string | null) =>
    engine.db.asOwner(async (owner) => {
      const { rows: made } = await owner.query("insert into brain_principals (name) values ($1::text) returning id", [name]);
      if (role !== null)
        await owner.query("insert into brain_grants (principal_id, project_id, role) values ($1::uuid, $2::uuid, $3::text)", [
          String(made[0]?.id),
          world.a,
          role,
        ]);
    });
  const visible = async (ctx: ReturnType<typeof user>) =>
    (await rows(engine.db, sql`select id from brain_observations order by id`, ctx)).map((seen) => seen.id);
  const add = (of: string | null) => sql`insert into brain_entities (name, project_id) values (${newId()}::text, ${of}::uuid)`;

  test("allow everything while there is no enabled principal", async () => {
    expect(await visible(user("nobody"))).toEqual([world.inA, world.unscoped].sort());
    await enable("anna", "reader");
    await engine.db.asOwner((owner) => owner.script("update brain_principals set disabled_at = now()"));
    expect(await visible(user("nobody"))).toEqual([world.inA, world.unscoped].sort());
  });

  test("show an unknown caller only unscoped rows, which it may write", async () => {
    await enable("anna", "reader");
    expect(await visible(user("nobody"))).toEqual([world.unscoped]);
    expect(await stateOf(rows(engine.db, add(world.a), user("nobody")))).toBe("42501");
    expect(await stateOf(rows(engine.db, add(null), user("nobody")))).toBe("none");
  });

  test("let a reader read and not write", async () => {
    await enable("anna", "reader");
    expect(await visible(user("anna"))).toEqual([world.inA, world.unscoped].sort());
    expect(await stateOf(rows(engine.db, add(world.a), user("anna")))).toBe("42501");
    expect(
      await engine.db.write(user("anna"), (tx) => tx.run(sql`update brain_observations set importance = 0 where id = ${world.inA}::uuid`)),
    ).toBe(0);
    expect(await engine.db.write(user("anna"), (tx) => tx.run(sql`delete from brain_observations where id = ${world.inA}::uuid`))).toBe(0);
  });

  test("let a writer write", async () => {
    await enable("ben", "writer");
    expect(await stateOf(rows(engine.db, add(world.a), user("ben")))).toBe("none");
    expect(await engine.db.write(user("ben"), (tx) => tx.run(sql`delete from brain_observations where id = ${world.inA}::uuid`))).toBe(1);
  });

  test("leave the owner and our own timers alone", async () => {
    await enable("anna", "reader");
    expect(await visible(testScope())).toHaveLength(3);
    expect(await visible(testScope({ principal: { kind: "system", id: "rem" } }))).toHaveLength(3);
    expect(await visible(testScope({ principal: { kind: "peer", id: "other machine" } }))).toEqual([world.unscoped]);
  });

  test("do not take a name that stands for everybody", async () => {
    expect(await stateOf(engine.db.asOwner((owner) => owner.query("insert into brain_principals (name) values ('*')")))).toBe("23514");
  });

  test("cannot be given by the product itself", async () => {
    expect(await stateOf(rows(engine.db, sql`insert into brain_principals (name) values ('me')`))).toBe("42501");
    const grant = sql`insert into brain_grants (principal_id, role) values (${newId()}::uuid, 'admin')`;
    expect(await stateOf(rows(engine.db, grant))).toBe("42501");
    expect(await stateOf(rows(engine.db, sql`update brain_node_identity set label = 'x'`))).toBe("42501");
    expect(await stateOf(rows(engine.db, sql`delete from brain_migrations`))).toBe("42501");
    expect(await rows(engine.db, sql`select name from brain_migrations`)).not.toEqual([]);
  });
});
