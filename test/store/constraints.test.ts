import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { newId } from "../../src/kernel/ids.ts";
import { brokenInvariants, invariants } from "../../src/store/queries/invariants.ts";
import { eachEngine } from "../support/engines.ts";
import { entity, observation, project, row, rows, stateOf } from "../support/statements.ts";

const UNIQUE = "23505";
const CHECK = "23514";
const FOREIGN_KEY = "23503";
const NOT_NULL = "23502";

eachEngine("keys of the schema", (engine) => {
  test("an entity name is unique in a project, and once more without one", async () => {
    const [a, b] = [await project(engine.db), await project(engine.db)];
    const name = newId();
    for (const owner of [a, b, null]) await entity(engine.db, owner, name);
    expect(await rows(engine.db, sql`select 1 from brain_entities where name = ${name}::text`)).toHaveLength(3);
    expect(await stateOf(entity(engine.db, null, name))).toBe(UNIQUE);
    expect(await stateOf(entity(engine.db, a, name))).toBe(UNIQUE);
  });

  test("a client has one open session, and a new one after it ended", async () => {
    const key = newId();
    const open = () => row(engine.db, sql`insert into brain_sessions (client_key) values (${key}::text) returning id`);
    const { id } = await open();
    expect(await stateOf(open())).toBe(UNIQUE);
    await rows(engine.db, sql`update brain_sessions set ended_at = now(), outcome = 'success' where id = ${id}::uuid`);
    expect(await stateOf(open())).toBe("none");
    const anonymous = () => rows(engine.db, sql`insert into brain_sessions (client_key) values (null)`);
    await anonymous();
    expect(await stateOf(anonymous())).toBe("none");
  });

  test("a repository belongs to one project", async () => {
    const identity = `git:${newId()}`;
    const claim = (owner: string) =>
      rows(engine.db, sql`insert into brain_project_identities (identity, project_id) values (${identity}::text, ${owner}::uuid)`);
    await claim(await project(engine.db));
    expect(await stateOf(claim(await project(engine.db)))).toBe(UNIQUE);
    const nonsense = sql`insert into brain_project_identities (identity, project_id) values ('name:x', ${await project(engine.db)}::uuid)`;
    expect(await stateOf(rows(engine.db, nonsense))).toBe(CHECK);
  });

  test("a project cannot go while a row refers to it", async () => {
    const owner = await project(engine.db);
    const id = await entity(engine.db, owner);
    const remove = () => rows(engine.db, sql`delete from brain_projects where id = ${owner}::uuid`);
    expect(await stateOf(remove())).toBe(FOREIGN_KEY);
    await rows(engine.db, sql`delete from brain_entities where id = ${id}::uuid`);
    expect(await stateOf(remove())).toBe("none");
  });

  test("procedures and artifact paths are unique per project, the unscoped ones too", async () => {
    const name = newId();
    const procedure = () => rows(engine.db, sql`insert into brain_procedures (name) values (${name}::text)`);
    await procedure();
    expect(await stateOf(procedure())).toBe(UNIQUE);
    const artifact = () => rows(engine.db, sql`insert into brain_artifacts (path, content_hash) values (${name}::text, repeat('a', 64))`);
    await artifact();
    expect(await stateOf(artifact())).toBe(UNIQUE);
  });

  test("a pair has one verdict, the smaller id first, and never 'unknown'", async () => {
    const owner = await entity(engine.db);
    const [a, b] = [await observation(engine.db, owner), await observation(engine.db, owner)].sort();
    const judge = (x: string | undefined, y: string | undefined, verdict: string) =>
      rows(
        engine.db,
        sql`insert into brain_judgments (observation_a, observation_b, verdict, confidence, judge_backend)
            values (${x}::uuid, ${y}::uuid, ${verdict}::text, 0.5, 'nli')`,
      );
    expect(await stateOf(judge(b, a, "contradicts"))).toBe(CHECK);
    expect(await stateOf(judge(a, b, "unknown"))).toBe(CHECK);
    await judge(a, b, "contradicts");
    expect(await stateOf(judge(a, b, "unrelated"))).toBe(UNIQUE);
  });

  test("a node has one identity, also for the owner", async () => {
    expect(await stateOf(engine.db.asOwner((owner) => owner.query("insert into brain_node_identity default values")))).toBe(UNIQUE);
  });

  test("one conflict of an observation is open, closing says how", async () => {
    const id = await observation(engine.db, await entity(engine.db));
    const open = () =>
      rows(
        engine.db,
        sql`insert into brain_sync_conflicts (observation_id, local_content, incoming_content) values (${id}::uuid, 'a', 'b')`,
      );
    await open();
    expect(await stateOf(open())).toBe(UNIQUE);
    const close = (how: string | null) =>
      rows(
        engine.db,
        sql`update brain_sync_conflicts set resolved_at = now(), resolution = ${how}::text where observation_id = ${id}::uuid`,
      );
    expect(await stateOf(close(null))).toBe(CHECK);
    await close("both");
    expect(await stateOf(open())).toBe("none");
  });
});

/** Statements that must fail, with the rule they break. `$owner` is an entity's id. */
const refusals: readonly (readonly [rule: string, statement: string, state: string])[] = [
  ["an outcome is one of four words", "insert into brain_sessions (outcome, ended_at) values ('nonsense', now())", CHECK],
  ["an outcome means an end", "insert into brain_sessions (outcome) values ('success')", CHECK],
  [
    "a session does not end before it starts",
    "insert into brain_sessions (started_at, ended_at) values (now(), now() - interval '1 h')",
    CHECK,
  ],
  ["goals are an array", "insert into brain_sessions (goals) values ('{}')", CHECK],
  [
    "a trigger fires at least once",
    "insert into brain_triggers (entity_pattern, condition_type, message, max_fires) values ('x', 'on_access', 'm', 0)",
    CHECK,
  ],
  [
    "a trigger fires at most 10000 times",
    "insert into brain_triggers (entity_pattern, condition_type, message, max_fires) values ('x', 'on_access', 'm', 10001)",
    CHECK,
  ],
  [
    "a spent trigger is inactive",
    "insert into brain_triggers (entity_pattern, condition_type, message, fire_count) values ('x', 'on_access', 'm', 1)",
    CHECK,
  ],
  ["importance is at most 1", "insert into brain_entities (name, importance) values ('x', 1.01)", CHECK],
  ["importance is a number", "insert into brain_entities (name, importance) values ('x', 'NaN')", CHECK],
  ["a name is not empty", "insert into brain_entities (name) values ('')", CHECK],
  ["an entity type has a shape", "insert into brain_entities (name, entity_type) values ('x', 'Not A Type')", CHECK],
  ["a content is not empty", "insert into brain_observations (entity_id, content) values ($owner, '')", CHECK],
  ["an observation has an entity", "insert into brain_observations (content) values ('x')", NOT_NULL],
  [
    "an observation type is known",
    "insert into brain_observations (entity_id, content, observation_type) values ($owner, 'x', 'rumour')",
    CHECK,
  ],
  ["a source is known", "insert into brain_observations (entity_id, content, source) values ($owner, 'x', 'hearsay')", CHECK],
  [
    "evidence above asserted needs its check",
    "insert into brain_observations (entity_id, content, evidence) values ($owner, 'x', 'observed')",
    CHECK,
  ],
  [
    "verified means a time",
    "insert into brain_observations (entity_id, content, evidence, verification) values ($owner, 'x', 'verified', 'v')",
    CHECK,
  ],
  ["a model label needs a vector", "insert into brain_observations (entity_id, content, embedding_model) values ($owner, 'x', 'm')", CHECK],
  [
    "only a superseded row has marks",
    "insert into brain_observations (entity_id, content, superseded_from) values ($owner, 'x', 'fact')",
    CHECK,
  ],
  [
    "no relation leads to itself",
    "insert into brain_relations (from_entity, to_entity, relation_type) values ($owner, $owner, 'uses')",
    CHECK,
  ],
  [
    "an episode does not end before it starts",
    "insert into brain_episodes (entity_id, content, ended_at) values ($owner, 'x', now() - interval '1 h')",
    CHECK,
  ],
  ["a solved error is resolved", "insert into brain_errors (error_type, error_message, resolved_at) values ('t', 'm', now())", CHECK],
  ["a synapse weighs at most 5", "insert into brain_errors (error_type, error_message, synapse_weight) values ('t', 'm', 5.1)", CHECK],
  [
    "a fact does not end before it begins",
    "insert into brain_facts (subject, predicate, object, valid_from, valid_to) values ('s', 'p', 'o', now(), now() - interval '1 h')",
    CHECK,
  ],
  ["a fact layer is known", "insert into brain_facts (subject, predicate, object, layer) values ('s', 'p', 'o', 'future')", CHECK],
  ["counters since the edit are a part of all", "insert into brain_procedures (name, success_since_edit) values ('x', 1)", CHECK],
  ["a lease is whole", "insert into brain_artifacts (path, content_hash, locked_by) values ('x', repeat('a', 64), 'me')", CHECK],
  ["a content hash is sha-256", "insert into brain_artifacts (path, content_hash) values ('x', 'abc')", CHECK],
  ["a note expires after it was written", "insert into brain_wm (content, expires_at) values ('x', now() - interval '1 s')", CHECK],
  ["a snapshot shows a part of all", "insert into brain_compaction_snapshots (summary_md, obs_count) values ('x', 1)", CHECK],
  [
    "a resolved prediction has a time",
    "insert into brain_verify_log (claim, confidence, grounding_level, outcome) values ('c', 1, 'weak', 'correct')",
    CHECK,
  ],
  ["trust starts at 1", "insert into brain_source_trust (source, alpha) values ('x', 0.5)", CHECK],
  ["a notice has at most 2000 characters", "insert into brain_peer_notices (summary) values (repeat('x', 2001))", CHECK],
  ["a tombstone is of a known table", "insert into brain_tombstones (table_name, row_id) values ('brain_wm', gen_random_uuid())", CHECK],
  ["an audit hash has 32 bytes", "insert into brain_audit_log (action, hash_alg, current_hash) values ('a', 'sha256', '\\x00')", CHECK],
  ["a cube name has a shape", "insert into brain_cubes (name, owner, config) values ('No Spaces', 'me', '{}')", CHECK],
];

eachEngine("values the schema refuses", (engine) => {
  test.each(refusals.map(([rule, statement, state]) => [rule, statement, state] as const))("%s", async (_rule, statement, state) => {
    const owner = await entity(engine.db);
    expect(await stateOf(rows(engine.db, sql.raw(statement.replaceAll("$owner", `'${owner}'`))))).toBe(state);
  });
});

eachEngine("facts", (engine) => {
  test("are current until they are closed, and the close is stamped by itself", async () => {
    const { fact_id: id } = await row(
      engine.db,
      sql`insert into brain_facts (subject, predicate, object) values ('s', 'p', 'o') returning fact_id`,
    );
    const read = () =>
      row(engine.db, sql`select is_current, closed_at is not null as stamped from brain_facts where fact_id = ${id}::uuid`);
    expect(await read()).toEqual({ is_current: true, stamped: false });
    await rows(engine.db, sql`update brain_facts set valid_to = now() where fact_id = ${id}::uuid`);
    expect(await read()).toEqual({ is_current: false, stamped: true });
    await rows(engine.db, sql`update brain_facts set valid_to = null where fact_id = ${id}::uuid`);
    expect(await read()).toEqual({ is_current: true, stamped: false });
    const never = sql`insert into brain_facts (subject, predicate, object, valid_from, valid_to) values ('s', 'p', 'o', now(), now())`;
    expect(await stateOf(rows(engine.db, never))).toBe("none");
  });
});

eachEngine("full text", (engine) => {
  const query = async (text: string) => (await row(engine.db, sql`select cuba_or_tsquery(${text}::text)::text as query`)).query;

  test("cuba_or_tsquery joins the lexemes with OR and lets no operator in", async () => {
    expect(await query("alpha beta")).toBe("'alpha' | 'beta'");
    expect(await query("")).toBe("");
    expect(await query("!& | <-> ()")).toBe("");
    expect(await query("a & !b:* 'c' \\ d''e")).toBe("'a' | 'b' | 'c' | 'd' | 'e'");
  });

  test("seven terms find the row that holds one of them", async () => {
    const id = await observation(engine.db, await entity(engine.db), { content: "the kettle whistles" });
    const found = await rows(
      engine.db,
      sql`select id from brain_observations where search_vector @@ cuba_or_tsquery('one two three four five six kettle')`,
    );
    expect(found.map((hit) => hit.id)).toContain(id);
  });
});

eachEngine("the invariants", (engine) => {
  beforeEach(() => engine.db.reset());

  test("are 29 and hold in an empty database", async () => {
    expect(invariants.map((invariant) => invariant.id)).toEqual(
      Array.from({ length: 29 }, (_, index) => `I${String(index + 1).padStart(2, "0")}`),
    );
    expect(await engine.db.asOwner(brokenInvariants)).toEqual([]);
  });

  /** Ways to break what no constraint forbids; each invariant that can break must notice. */
  const breaks: readonly (readonly [id: string, script: string])[] = [
    [
      "I04",
      "insert into brain_observation_chunks (observation_id, chunk_index, content, project_id) select o.id, 0, o.content, p.id from brain_observations o, brain_projects p",
    ],
    [
      "I05",
      "update brain_observations set content = 'quite another text'; insert into brain_observation_chunks (observation_id, chunk_index, content, created_at) select id, 0, 'gone', now() - interval '1 h' from brain_observations",
    ],
    ["I06", "insert into brain_observation_chunks (observation_id, chunk_index, content) select id, 1, content from brain_observations"],
    ["I07", "update brain_observations set previous_versions = (select jsonb_agg(n) from generate_series(1, 21) n)"],
    ["I08", "update brain_observations set last_decayed_at = now() + interval '1 h'"],
    ["I11", "insert into brain_audit_log (action, prev_hash, hash_alg, current_hash) values ('a', sha256('x'), 'sha256', sha256('y'))"],
    ["I12", "insert into brain_tombstones (table_name, row_id) select 'brain_observations', id from brain_observations"],
    ["I13", "delete from brain_node_identity"],
    ["I16", "alter table brain_wm no force row level security"],
    ["I17", "drop trigger brain_facts_tombstone on brain_facts"],
    ["I18", "alter table brain_procedures alter column embedding type vector(3)"],
    [
      "I21",
      "insert into brain_projects (name) values ('other'); insert into brain_entities (name, project_id) select 'e' || id, id from brain_projects; insert into brain_relations (from_entity, to_entity, relation_type) select a.id, b.id, 'uses' from brain_entities a, brain_entities b where a.project_id < b.project_id",
    ],
    ["I22", "update brain_entities set project_id = (select id from brain_projects)"],
    ["I23", "grant update on brain_audit_log to cuba_app"],
    ["I26", "create view peephole as select * from brain_observations"],
    [
      "I27",
      "insert into brain_entities (name) values ('f'); insert into brain_observations (entity_id, content) select id, 'y' from brain_entities where name = 'f'; update brain_observations set observation_type = 'superseded', superseded_by = (select id from brain_observations where content = 'y') where content <> 'y'",
    ],
    [
      "I29",
      "insert into brain_facts (observation_id, subject, predicate, object) select id, 's', 'p', 'o' from brain_observations; update brain_observations set trust = 'quarantined'",
    ],
  ];

  test.each(breaks.map(([id, script]) => [id, script] as const))("%s notices", async (id, script) => {
    const entityId = await entity(engine.db);
    await observation(engine.db, entityId, { content: "x" });
    await project(engine.db);
    const broken = await engine.db.asOwner(async (owner) => {
      await owner.script("begin");
      await owner.script(script);
      const found = await brokenInvariants(owner);
      await owner.script("rollback");
      return found;
    });
    expect(broken.map((entry) => entry.id)).toEqual([id]);
  });
});
