import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { newId } from "../../src/kernel/ids.ts";
import { holders } from "../../src/store/queries/forgetting.ts";
import { eachEngine } from "../support/engines.ts";
import { graphOver, type Reply } from "../support/graph.ts";
import { noDatabase } from "../support/no-database.ts";
import { entity, observation, project, row, rows } from "../support/statements.ts";

const SLOW_MS = 60_000;
const NAME = "Zyxomira Quandt";
/** A text of hers that does not repeat her name. */
const SECRET = "prefers the corner office with the yellow blinds";

/** Tables that go with the entity, by foreign key or trigger. */
const CASCADES = [
  "brain_entities",
  "brain_entity_aliases",
  "brain_observations",
  "brain_observation_chunks",
  "brain_episodes",
  "brain_relations",
  "brain_node_metrics",
  "brain_artifact_versions",
  "brain_postings",
];
/** Tables that hold no text about anybody: identities, numbers, states of our own, or what must not be rewritten. */
const EXEMPT = [
  "brain_audit_log",
  "brain_calibration",
  "brain_client_projects",
  "brain_communities",
  "brain_cube_adapters",
  "brain_cube_kv",
  "brain_cube_sources",
  "brain_cube_tombstones",
  "brain_cubes",
  "brain_grants",
  "brain_item_tiers",
  "brain_migrations",
  "brain_node_identity",
  "brain_principals",
  "brain_project_identities",
  "brain_projects",
  "brain_rem_cycles",
  "brain_source_trust",
  "brain_sync_exports",
  "brain_sync_id_aliases",
  "brain_sync_peers",
  "brain_sync_state",
  "brain_tombstones",
  // A model's label and the mean of some thousand vectors.
  "brain_vector_centers",
];

test("needs a name, and opens on the boolean alone", async () => {
  const { caller, refusal } = graphOver(noDatabase);
  const forget = (args: Reply) => refusal(caller()("cuba_forget", args));
  for (const entity_name of ["", "  ", undefined, 5]) expect((await forget({ entity_name })).field).toBe("entity_name");
  expect((await forget({ entity_name: NAME, confirm: "true" })).field).toBe("confirm");
  expect((await forget({ entity_name: NAME, confirm: true, expect: { brain_errors: -1 } })).field).toBe("expect.brain_errors");
  expect((await forget({ entity_name: NAME, action: "forget" })).code).toBe("unavailable");
});

eachEngine("cuba_forget", (engine) => {
  beforeEach(() => engine.db.reset());
  const caller = (id?: string) => graphOver(engine.db).caller(id === undefined ? { kind: "none" } : { kind: "project", id });
  const forget = (args: Reply = {}, id?: string) => caller(id)("cuba_forget", { entity_name: NAME, ...args });
  const refusal = (work: Promise<unknown>) => graphOver(engine.db).refusal(work);
  const count = async (table: string) => Number((await row(engine.db, sql`select count(*)::int as n from ${sql.raw(table)}`)).n);

  const catalogue = async () =>
    (
      await rows(
        engine.db,
        sql`select c.relname::text as name from pg_class as c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' order by 1`,
      )
    ).map((each) => String(each.name));
  /** Tables in which any of these texts stands anywhere in a row, read by the owner. */
  const tablesWith = async (texts: readonly string[]) => {
    const found: string[] = [];
    for (const name of await catalogue())
      for (const text of texts) {
        const { rows: hits } = await engine.db.asOwner((owner) =>
          owner.query(`select 1 from ${name} as t where to_jsonb(t)::text ilike $1::text limit 1`, [`%${text}%`]),
        );
        if (hits.length > 0) found.push(name);
      }
    return [...new Set(found)];
  };

  /** One row that names her in every table that could, all in one project. */
  async function everywhere(id: string) {
    const call = caller(id);
    const add = async (entity_name: string, content: string) =>
      String((await call("cuba_cronica", { action: "add", entity_name, content })).id);
    const hers = [await add(NAME, `${NAME} leads payments`), await add(NAME, SECRET)];
    await add(NAME, `${SECRET} and so on. `.repeat(60));
    await call("cuba_cronica", { action: "episode_add", entity_name: NAME, content: SECRET, actors: ["someone"] });
    const theirs = await add("payments", "The team meets on Mondays");
    await add("payments", `Ask ${NAME} about refunds`);
    await call("cuba_cronica", { action: "episode_add", entity_name: "payments", content: `${NAME} rolled it back` });
    await call("cuba_puente", { action: "create", from_entity: NAME, to_entity: "payments", relation_type: "uses" });
    await call("cuba_alarma", { error_type: "Timeout", error_message: `deploy by ${NAME} failed` });
    await call("cuba_receta", { action: "add", name: "refund", trigger_context: "a refund", steps: [{ do: `write to ${NAME}` }] });
    await call("cuba_artefacto", { action: "put", path: "notes/team.md", content: `lead: ${NAME}` });
    await call("cuba_centinela", { action: "create", entity_pattern: "payments", message: `tell ${NAME}`, condition_type: "on_access" });
    await call("cuba_centinela", {
      action: "create",
      entity_pattern: "cursor",
      message: `${NAME} called`,
      condition_type: "on_session_start",
    });
    const eco = (observation_id: string, correction: string) => call("cuba_eco", { action: "correct", observation_id, correction });
    await eco(theirs, `The team meets when ${NAME} calls`);
    await eco(theirs, "The team meets on Fridays");
    const uuid = sql`${id}::uuid`;
    const session = newId();
    const statements = [
      sql`insert into brain_entity_aliases (entity_id, alias_text) select id, 'Zyx the Lead' from brain_entities where name = ${NAME}::text`,
      sql`insert into brain_sessions (id, session_name, summary, project_id) values (${session}::uuid, 'w', 'met ZYXOMIRA QUANDT', ${uuid})`,
      sql`insert into brain_wm (content, client_key, project_id, expires_at) values (${`call ${NAME}`}::text, 'c', ${uuid}, now() + interval '1 hour')`,
      // A snapshot that copies a text of hers under another name.
      sql`insert into brain_compaction_snapshots (project_id, summary_md, key_observations) values (${uuid}, 's',
            jsonb_build_array(jsonb_build_object('id', ${String(hers[1])}::text, 'content', ${SECRET}::text)))`,
      sql`insert into brain_verify_log (claim, confidence, grounding_level, evidence_ids, project_id) values ('she does', 0.5, 'weak', array[${String(hers[1])}::uuid], ${uuid}),
            (${`${NAME} leads`}::text, 0.5, 'weak', '{}', ${uuid})`,
      sql`insert into brain_facts (subject, predicate, object, project_id) values ('payments', 'lead', ${NAME}::text, ${uuid})`,
      sql`insert into brain_judgments (observation_a, observation_b, verdict, confidence, judge_backend, reason)
            select least(a.id, b.id), greatest(a.id, b.id), 'unrelated', 0.9, 'x', ${`${NAME} is not in it`}::text from brain_observations as a, brain_observations as b
            where a.id = ${theirs}::uuid and b.content like 'Ask %'`,
      sql`insert into brain_sync_conflicts (observation_id, local_content, incoming_content) values (${theirs}::uuid, 'x', ${`with ${NAME}`}::text)`,
      sql`insert into brain_handler_failures (tool, error, elapsed_ms) values ('cuba_alma', ${`Entity '${NAME}' not found`}::text, 1)`,
      sql`insert into brain_peer_notices (summary) values (${`new notes on ${NAME}`}::text)`,
      sql`insert into brain_item_sources (item_id, ord, type, content, project_id) values (gen_random_uuid(), 0, 'chat', ${NAME}::text, ${uuid})`,
      sql`insert into brain_item_versions (item_id, version, memory, project_id) values (${String(hers[1])}::uuid, 1, ${SECRET}::text, ${uuid})`,
    ];
    for (const statement of statements) await rows(engine.db, statement);
    return { hers, theirs };
  }

  test(
    "every table of the catalogue holds her in a known way, and after forgetting none does but for what is listed",
    async () => {
      const known = [...CASCADES, ...EXEMPT, ...Object.keys(holders)];
      const withText = await rows(
        engine.db,
        sql`select distinct c.relname::text as name
            from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
            where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
              and format_type(a.atttypid, a.atttypmod) in ('text', 'text[]', 'jsonb', 'json', 'character varying', 'bytea')`,
      );
      expect(withText.map((each) => String(each.name)).filter((name) => !known.includes(name))).toEqual([]);

      const mine = await project(engine.db);
      const { hers, theirs } = await everywhere(mine);
      const her = String((await row(engine.db, sql`select id from brain_entities where name = ${NAME}::text`)).id);
      const planted = await tablesWith([NAME, SECRET]);
      // Every holder but those that belong to a container, which only its own tool fills.
      expect(Object.keys(holders).filter((name) => !planted.includes(name) && !/_cube_|_preference/.test(name))).toEqual([]);

      const plan = await forget({}, mine);
      expect(plan).toMatchObject({ action: "forget", dry_run: true, entity_deleted: false });
      const would = plan.would_erase as Record<string, number>;
      expect(await tablesWith([NAME, SECRET])).toEqual(planted);

      const done = await forget({ confirm: true, expect: would }, mine);
      expect(done).toMatchObject({
        action: "forget",
        entity_name: NAME,
        entity_deleted: true,
        cascaded: {
          observations: "via FK CASCADE",
          episodes: "via FK CASCADE",
          relations: "via FK CASCADE",
          errors_purged: 1,
          sessions_purged: 1,
        },
      });
      expect(done.erased).toEqual(would);
      expect((done.not_reachable as string[]).join()).toContain("git history");
      expect(String(done.gdpr_compliance)).toStartWith("No compliance is claimed");

      // Somebody else's memories that speak of her stay, and are named.
      const staying = await rows(
        engine.db,
        sql`select id from brain_observations where content like 'Ask %' union all select id from brain_episodes order by 1`,
      );
      expect((done.remaining_mentions as string[]).sort()).toEqual(staying.map((each) => String(each.id)).sort());
      expect(await tablesWith([SECRET])).toEqual([]);
      expect((await tablesWith([NAME])).sort()).toEqual(["brain_episodes", "brain_facts", "brain_observations"]);
      for (const id of staying) {
        await rows(engine.db, sql`delete from brain_observations where id = ${String(id.id)}::uuid`);
        await rows(engine.db, sql`delete from brain_episodes where id = ${String(id.id)}::uuid`);
      }
      expect(await tablesWith([NAME, "Quandt"])).toEqual([]);
      expect(await tablesWith([her, ...hers])).toEqual(["brain_tombstones"]);
      expect(
        await row(
          engine.db,
          sql`select version::int as version, previous_versions as history from brain_observations where id = ${theirs}::uuid`,
        ),
      ).toMatchObject({
        version: 3,
        history: [{ content: "The team meets on Mondays" }],
      });
      const event = await row(engine.db, sql`select action, payload from brain_audit_log order by id desc limit 1`);
      expect(event).toMatchObject({
        action: "forget.entity",
        payload: { name_sha256: new Bun.CryptoHasher("sha256").update(NAME).digest("hex") },
      });
    },
    SLOW_MS,
  );

  test("a note to another client goes where it names her, and stays where only its addressee has her name", async () => {
    const mine = await project(engine.db);
    const call = caller(mine);
    await call("cuba_alma", { action: "create", name: NAME });
    const note = { action: "create", condition_type: "on_session_start" };
    await call("cuba_centinela", { ...note, entity_pattern: NAME, message: "the build is red" });
    await call("cuba_centinela", { ...note, entity_pattern: NAME, message: `${NAME} broke the build` });
    expect(await forget({ confirm: true }, mine)).toMatchObject({ erased: { brain_entities: 1, brain_triggers: 1 } });
    expect((await rows(engine.db, sql`select message from brain_triggers`)).map((each) => each.message)).toEqual(["the build is red"]);
  });

  test("of several who forget at once one did it", async () => {
    const mine = await project(engine.db);
    await caller(mine)("cuba_cronica", { action: "add", entity_name: NAME, content: SECRET });
    const answers = await Promise.all([1, 2, 3, 4].map(() => forget({ confirm: true }, mine)));
    expect(answers.map((each) => each.entity_deleted).filter((did) => did)).toHaveLength(1);
    expect(await count("brain_entities")).toBe(0);
  });

  test(
    "each row that went leaves a tombstone, and no tombstone a text",
    async () => {
      const mine = await project(engine.db);
      await everywhere(mine);
      const traced = [
        "brain_entities",
        "brain_observations",
        "brain_episodes",
        "brain_errors",
        "brain_relations",
        "brain_facts",
        "brain_procedures",
        "brain_artifacts",
      ];
      const before = Object.fromEntries(await Promise.all(traced.map(async (table) => [table, await count(table)] as const)));
      await rows(engine.db, sql`delete from brain_tombstones`);
      await forget({ confirm: true }, mine);
      for (const table of traced) {
        const { n } = await row(engine.db, sql`select count(*)::int as n from brain_tombstones where table_name = ${table}::text`);
        expect([table, n]).toEqual([table, (before[table] ?? 0) - (await count(table))]);
        expect(Number(n)).toBeGreaterThan(0);
      }
      expect(
        (
          await rows(
            engine.db,
            sql`select column_name::text as name from information_schema.columns where table_name = 'brain_tombstones' order by 1`,
          )
        ).map((each) => each.name),
      ).toEqual(["deleted_at", "origin_node", "row_id", "table_name"]);
    },
    SLOW_MS,
  );

  test("the same name in another project survives with its errors, sessions and notes", async () => {
    const [mine, theirs] = [await project(engine.db), await project(engine.db)];
    await observation(engine.db, await entity(engine.db, mine, NAME), { project: mine });
    await observation(engine.db, await entity(engine.db, theirs, NAME), { project: theirs });
    for (const id of [theirs, null]) {
      await rows(engine.db, sql`insert into brain_errors (error_type, error_message, project_id) values ('T', ${NAME}::text, ${id}::uuid)`);
      await rows(engine.db, sql`insert into brain_sessions (session_name, project_id) values (${NAME}::text, ${id}::uuid)`);
    }
    expect(await forget({ confirm: true }, mine)).toMatchObject({
      entity_deleted: true,
      erased: { brain_entities: 1, brain_observations: 1 },
    });
    expect(await row(engine.db, sql`select project_id from brain_entities`)).toEqual({ project_id: theirs });
    expect([await count("brain_observations"), await count("brain_errors"), await count("brain_sessions")]).toEqual([1, 2, 2]);
  });

  test("without a project a name of two projects is refused, and one of a single project takes that project's rows alone", async () => {
    const [one, two] = [await project(engine.db, "one"), await project(engine.db, "two")];
    await entity(engine.db, one, NAME);
    await entity(engine.db, two, NAME);
    expect((await refusal(forget({ confirm: true }))).code).toBe("ambiguous");
    expect(await count("brain_entities")).toBe(2);
    await rows(engine.db, sql`delete from brain_entities where project_id = ${two}::uuid`);
    await rows(
      engine.db,
      sql`insert into brain_errors (error_type, error_message, project_id) values ('T', ${NAME}::text, ${one}::uuid), ('T', ${NAME}::text, ${two}::uuid)`,
    );
    expect(await forget({ confirm: true })).toMatchObject({ entity_deleted: true, cascaded: { errors_purged: 1 } });
    expect(await row(engine.db, sql`select project_id from brain_errors`)).toEqual({ project_id: two });
  });

  test("an unknown name erases nothing, errors that name it included", async () => {
    await rows(engine.db, sql`insert into brain_errors (error_type, error_message) values ('T', ${NAME}::text)`);
    expect(await forget({ confirm: true })).toMatchObject({ entity_deleted: false, cascaded: { errors_purged: 0 }, erased: {} });
    expect(await forget()).toMatchObject({ dry_run: true, would_erase: {}, hint: "no entity has this name here" });
    expect([await count("brain_errors"), await count("brain_audit_log")]).toEqual([1, 0]);
  });

  test("whole words alone, and of a short name the entity alone", async () => {
    await entity(engine.db, null, NAME);
    await entity(engine.db, null, "API");
    for (const message of [`${NAME}son failed`, `the API of ${NAME.toUpperCase()} failed`, "API API API"])
      await rows(engine.db, sql`insert into brain_errors (error_type, error_message) values ('T', ${message}::text)`);
    expect(await forget({ entity_name: "API", confirm: true })).toMatchObject({ entity_deleted: true, erased: { brain_entities: 1 } });
    expect(await count("brain_errors")).toBe(3);
    expect(await forget({ confirm: true })).toMatchObject({ cascaded: { errors_purged: 1 } });
    expect(await rows(engine.db, sql`select error_message as m from brain_errors order by m`)).toEqual([
      { m: "API API API" },
      { m: `${NAME}son failed` },
    ]);
  });

  test("a plan shows samples; counts that no longer hold are refused with the new ones", async () => {
    const home = await entity(engine.db, null, NAME);
    for (let at = 0; at < 7; at++) await observation(engine.db, home);
    const plan = await forget();
    expect(plan.would_erase).toEqual({ brain_entities: 1, brain_observations: 7 });
    expect((plan.samples as Record<string, string[]>).brain_observations?.length).toBe(5);
    await observation(engine.db, home);
    const error = await refusal(forget({ confirm: true, expect: plan.would_erase }));
    expect([error.code, error.data]).toEqual(["conflict", { would_erase: { brain_entities: 1, brain_observations: 8 } }]);
    expect((await refusal(forget({ confirm: true, expect: {} }))).code).toBe("conflict");
    expect(await count("brain_observations")).toBe(8);
    expect(await forget({ confirm: true, expect: { brain_entities: 1, brain_observations: 8, brain_errors: 0 } })).toMatchObject({
      entity_deleted: true,
    });
    expect(await count("brain_observations")).toBe(0);
  });

  test("an alias leads to the entity, whose own name is looked for too", async () => {
    const home = await entity(engine.db, null, NAME);
    await rows(engine.db, sql`insert into brain_entity_aliases (entity_id, alias_text) values (${home}::uuid, 'Zyx the Lead')`);
    await rows(engine.db, sql`insert into brain_errors (error_type, error_message) values ('T', ${NAME}::text), ('T', 'by zyx the lead')`);
    expect(await forget({ entity_name: "Zyx the Lead", confirm: true })).toMatchObject({
      entity_name: NAME,
      requested_name: "Zyx the Lead",
      entity_deleted: true,
      cascaded: { errors_purged: 2 },
    });
    expect(await count("brain_errors")).toBe(0);
  });

  test("search finds nothing of what was forgotten, and what fails half-way erases nothing", async () => {
    const call = caller();
    await call("cuba_cronica", { action: "add", entity_name: NAME, content: SECRET });
    await engine.db.asOwner((owner) => owner.script("revoke insert on brain_audit_log from cuba_app"));
    try {
      await expect(forget({ confirm: true })).rejects.toThrow();
    } finally {
      await engine.db.asOwner((owner) => owner.script("grant insert on brain_audit_log to cuba_app"));
    }
    expect(await count("brain_observations")).toBe(1);
    expect(await count("brain_postings")).toBeGreaterThan(0);
    await forget({ confirm: true });
    expect([await count("brain_observations"), await count("brain_postings"), await count("brain_facts")]).toEqual([0, 0, 0]);
  });
});
