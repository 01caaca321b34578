import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { newId } from "../../src/kernel/ids.ts";
import { tokenCounter } from "../../src/kernel/tokens.ts";
import { eachEngine } from "../support/engines.ts";
import { graphOver, type Reply } from "../support/graph.ts";
import { noDatabase } from "../support/no-database.ts";
import { entity, observation, project, row, rows } from "../support/statements.ts";

const SLOW_MS = 60_000;
const items = (reply: Reply, key: string): Reply[] => reply[key] as Reply[];

test("refuses credentials, unknown kinds and feedback about nothing before the database is asked", async () => {
  const { caller, refusal } = graphOver(noDatabase);
  const call = (args: Reply) => refusal(caller()("cuba_eco", args));
  const id = newId();
  const correct = { action: "correct", observation_id: id, correction: "use ghp_abcdefghijklmnop" };
  expect((await call(correct)).message).toStartWith("refusing to write correction: what looks like a github token");
  expect((await call({ ...correct, allow_secret: true })).code).toBe("unavailable");
  expect((await call({ ...correct, allow_secret: "true" })).field).toBe("allow_secret");
  expect((await call({ action: "promote", kind: "banana", id })).message).toBe("Invalid kind: banana. Use observation/episode/error");
  expect((await call({ action: "promote", kind: "brain_users", id })).field).toBe("kind");
  expect((await call({ action: "promote", kind: "episode", observation_id: id })).field).toBe("id");
  expect((await call({ action: "quarantine" })).field).toBe("observation_id");
  expect((await call({ action: "positive" })).field).toBe("observation_id");
  expect((await call({ action: "negative", observation_id: "no uuid" })).field).toBe("observation_id");
  expect((await call({ action: "reward" })).message).toBe(
    "Invalid action: reward. Use positive/negative/correct/promote/quarantine/pending",
  );
});

eachEngine("cuba_eco", (engine) => {
  beforeEach(() => engine.db.reset());
  const caller = (id?: string) => graphOver(engine.db).caller(id === undefined ? { kind: "none" } : { kind: "project", id });
  const eco = (args: Reply, id?: string) => caller(id)("cuba_eco", args);
  const refusal = (work: Promise<unknown>) => graphOver(engine.db).refusal(work);
  const add = async (content = "The queue retries failed jobs", more: Reply = {}) =>
    String((await caller()("cuba_cronica", { action: "add", entity_name: "queue", content, ...more })).id);
  const state = (id: string) =>
    row(
      engine.db,
      sql`select content, importance, access_count::int as uses, trust, version::int as version, previous_versions as history,
                 extract(epoch from now() - last_accessed)::float8 as idle
          from brain_observations where id = ${id}::uuid`,
    );
  const weighed = async (importance: number, uses: number) => {
    const id = await observation(engine.db, await entity(engine.db));
    await rows(
      engine.db,
      sql`update brain_observations set importance = ${importance}::float8, access_count = ${uses}::int, last_accessed = now() - interval '9 days' where id = ${id}::uuid`,
    );
    return id;
  };

  test.each([
    [0, 0.525, 0.475],
    [100, 0.51768, 0.48232],
    [300, 0.5125, 0.4875],
  ])("0.5 after %d uses becomes %d when it helped and %d when it was wrong", async (uses, good, bad) => {
    const praised = await weighed(0.5, uses);
    expect(await eco({ action: "positive", observation_id: praised })).toMatchObject({
      action: "positive",
      boosted_count: 1,
      rule: "oja_positive_robbins_monro",
    });
    expect((await state(praised)).importance).toBeCloseTo(good, 5);
    const blamed = await weighed(0.5, uses);
    expect(await eco({ action: "negative", observation_id: blamed })).toMatchObject({
      action: "negative",
      decreased_count: 1,
      rule: "oja_negative_robbins_monro",
    });
    expect((await state(blamed)).importance).toBeCloseTo(bad, 5);
  });

  test("praise counts as a use, blame neither counts nor restarts the idle clock, and no clock of sync moves", async () => {
    const praised = await weighed(0.5, 3);
    await eco({ action: "positive", observation_id: praised });
    const after = await state(praised);
    expect([after.uses, after.version]).toEqual([4, 1]);
    expect(Number(after.idle)).toBeLessThan(60);
    const blamed = await weighed(0.005, 0);
    await eco({ action: "negative", observation_id: blamed });
    const worse = await state(blamed);
    expect([worse.uses, worse.version]).toEqual([0, 1]);
    expect(Number(worse.idle)).toBeGreaterThan(8 * 86_400);
    // Below the floor of decay: blame alone goes there.
    expect(Number(worse.importance)).toBeCloseTo(0.00475, 6);
  });

  test("an entity is weighed by its name or an alias, and a name nobody knows counts 0", async () => {
    await add();
    const before = await row(engine.db, sql`select updated_at::text as at from brain_entities`);
    expect(await eco({ action: "positive", entity_name: "queue" })).toMatchObject({ boosted_count: 1 });
    expect(await row(engine.db, sql`select importance, access_count::int as uses, updated_at::text as at from brain_entities`)).toEqual({
      importance: 0.525,
      uses: 1,
      at: before.at,
    });
    expect(await eco({ action: "negative", entity_name: "nobody" })).toMatchObject({ decreased_count: 0 });
    const id = await add("Another note about it");
    expect(await eco({ action: "positive", entity_name: "queue", observation_id: id })).toMatchObject({ boosted_count: 2 });
  });

  test("a row of another project is not found, whatever is asked, and stays as it was", async () => {
    const [mine, theirs] = [await project(engine.db), await project(engine.db)];
    const id = await observation(engine.db, await entity(engine.db, theirs), { project: theirs });
    const before = await state(id);
    for (const args of [
      { action: "positive", observation_id: id, entity_name: "queue" },
      { action: "correct", observation_id: id, correction: "something else" },
      { action: "quarantine", observation_id: id },
    ]) {
      const error = await refusal(eco(args, mine));
      expect(error.code).toBe("not_found");
      expect(error.message).toContain("within current project scope");
    }
    expect({ ...(await state(id)), idle: 0 }).toEqual({ ...before, idle: 0 });
    const episode = String(
      (
        await row(
          engine.db,
          sql`insert into brain_episodes (entity_id, content, project_id, trust) select id, 'a rollback', ${theirs}::uuid, 'quarantined' from brain_entities returning id`,
        )
      ).id,
    );
    expect((await refusal(eco({ action: "promote", kind: "episode", id: episode }, mine))).message).toContain("scope");
    expect((await row(engine.db, sql`select trust from brain_episodes`)).trust).toBe("quarantined");
  });

  test("a correction is one version: the old text is history, its fact has ended, its slices and vector are gone", async () => {
    const long = `${"The worker reads jobs from the table in order. ".repeat(60)}Port 8080.`;
    const id = await add(long);
    await rows(engine.db, sql`update brain_observations set extracted_at = now(), extraction_attempts = 3 where id = ${id}::uuid`);
    expect(await eco({ action: "correct", observation_id: id, correction: "The worker listens on port 9090" })).toMatchObject({
      action: "correct",
      observation_id: id,
      new_content: "The worker listens on port 9090",
      versioned: true,
    });
    const after = await state(id);
    expect([after.content, after.version]).toEqual(["The worker listens on port 9090", 2]);
    expect(after.history).toMatchObject([{ content: long, version: 1 }]);
    expect(
      await row(
        engine.db,
        sql`select extracted_at, extraction_attempts::int as attempts, (select count(*)::int from brain_observation_chunks) as slices from brain_observations`,
      ),
    ).toEqual({ extracted_at: null, attempts: 0, slices: 0 });
    expect(
      await rows(
        engine.db,
        sql`select object = ${long}::text as old, is_current, supersede_reason as why from brain_facts order by is_current, fact_id`,
      ),
    ).toEqual([
      { old: true, is_current: false, why: "corrected" },
      { old: false, is_current: true, why: null },
    ]);
    expect(await row(engine.db, sql`select action, payload from brain_audit_log`)).toEqual({
      action: "memory.correct",
      payload: { observation_id: id },
    });
    expect(await eco({ action: "correct", observation_id: id, correction: "The worker listens on port 9090" })).toMatchObject({
      versioned: false,
    });
    expect((await state(id)).version).toBe(2);
  });

  test("25 corrections leave 20 previous versions, the oldest first", async () => {
    const id = await add("value 0");
    for (let at = 1; at <= 25; at++) await eco({ action: "correct", observation_id: id, correction: `value ${at}` });
    const after = await state(id);
    expect(after.version).toBe(26);
    const history = after.history as { content: string }[];
    expect([history.length, history[0]?.content, history.at(-1)?.content]).toEqual([20, "value 5", "value 24"]);
  });

  test("what is retired is not corrected: the refusal names the row in its place", async () => {
    const [old, fresh] = [await add("value 1"), await add("value 2")];
    await rows(
      engine.db,
      sql`update brain_observations set observation_type = 'superseded', superseded_by = ${fresh}::uuid where id = ${old}::uuid`,
    );
    const error = await refusal(eco({ action: "correct", observation_id: old, correction: "value 3" }));
    expect([error.code, error.message.includes(fresh)]).toEqual(["conflict", true]);
  });

  test("quarantine ends the fact and hides the row, promote brings both back, and the log says who is believed", async () => {
    const id = await add("The retry limit is five");
    const served = async () => items(await caller()("cuba_cronica", { action: "list", entity_name: "queue" }), "observations").length;
    const current = async () => (await row(engine.db, sql`select count(*)::int as n from brain_facts where is_current`)).n;
    expect(await eco({ action: "quarantine", observation_id: id })).toMatchObject({
      action: "quarantine",
      kind: "observation",
      observation_id: id,
      trust: "quarantined",
      retrievable: false,
    });
    expect([await served(), await current()]).toEqual([0, 0]);
    expect(await eco({ action: "promote", observation_id: id })).toMatchObject({
      action: "promote",
      kind: "observation",
      observation_id: id,
      trust: "trusted",
      retrievable: true,
    });
    expect([await served(), await current()]).toEqual([1, 1]);
    expect(await rows(engine.db, sql`select action, payload from brain_audit_log order by id`)).toEqual([
      { action: "memory.quarantine", payload: { kind: "observation", observation_id: id, trust: "quarantined" } },
      { action: "memory.promote", payload: { kind: "observation", observation_id: id, trust: "trusted" } },
    ]);
    expect((await refusal(eco({ action: "promote", id: newId() }))).message).toStartWith("Observation");
  });

  test("what cannot be written to the log is not promoted either", async () => {
    const id = await add("The retry limit is five", { trust: "quarantined" });
    await engine.db.asOwner((owner) => owner.script("revoke insert on brain_audit_log from cuba_app"));
    try {
      await expect(eco({ action: "promote", observation_id: id })).rejects.toThrow();
    } finally {
      await engine.db.asOwner((owner) => owner.script("grant insert on brain_audit_log to cuba_app"));
    }
    expect((await state(id)).trust).toBe("quarantined");
    expect((await row(engine.db, sql`select count(*)::int as n from brain_facts`)).n).toBe(0);
  });

  test("a text that looks like a credential is promoted only on purpose", async () => {
    const id = await add("deploy uses ghp_abcdefghijklmnop", { trust: "quarantined", allow_secret: true });
    const error = await refusal(eco({ action: "promote", observation_id: id }));
    expect([error.code, error.reason]).toEqual(["refused", "github token"]);
    expect(error.message).not.toContain("ghp_");
    expect((await state(id)).trust).toBe("quarantined");
    await eco({ action: "promote", observation_id: id, allow_secret: true });
    expect((await state(id)).trust).toBe("trusted");
  });

  test("lists everything that waits, all three kinds, newest first, with credentials blanked out", async () => {
    const id = await add("deploy uses ghp_abcdefghijklmnop", { trust: "quarantined", allow_secret: true, source: "inference" });
    await add("A trusted note");
    await rows(
      engine.db,
      sql`insert into brain_episodes (entity_id, content, trust) select id, 'a rollback', 'quarantined' from brain_entities`,
    );
    await rows(
      engine.db,
      sql`insert into brain_errors (error_type, error_message, trust) values ('Timeout', 'password: hunter2', 'quarantined'), ('Timeout', 'seen', 'trusted')`,
    );
    const reply = await eco({ action: "pending" });
    expect(reply).toMatchObject({ action: "pending", count: 3 });
    expect(reply).not.toHaveProperty("truncated");
    expect(items(reply, "quarantined")).toMatchObject([
      { kind: "observation", observation_id: id, entity: "queue", content: "deploy uses ***", source: "inference" },
    ]);
    expect(items(reply, "quarantined_episodes")).toMatchObject([{ kind: "episode", entity: "queue", content: "a rollback" }]);
    expect(items(reply, "quarantined_errors")).toMatchObject([
      { kind: "error", error_type: "Timeout", error_message: "password: ***", project: "default" },
    ]);
    for (const [kind, list] of [
      ["episode", "quarantined_episodes"],
      ["error", "quarantined_errors"],
    ] as const) {
      const target = String(items(reply, list)[0]?.id);
      const args = { action: "promote", kind, id: target, allow_secret: true };
      expect(await eco(args)).toMatchObject({ kind, id: target, trust: "trusted", retrievable: true });
    }
    expect((await eco({ action: "pending" })).count).toBe(1);
  });

  test(
    "a list that is cut says how to read on, and nothing is skipped",
    async () => {
      const home = await entity(engine.db, null, "queue");
      await rows(
        engine.db,
        sql`insert into brain_observations (entity_id, content, trust)
            select ${home}::uuid, 'note ' || n || ' ' || repeat('abcd efgh ', 200), 'quarantined' from generate_series(1, 60) as n`,
      );
      const seen = new Set<unknown>();
      for (let next: unknown = { offset: 0 }; next !== undefined && seen.size < 60; ) {
        const reply = await eco({ action: "pending", limit: 200, ...(next as Reply) });
        expect((await tokenCounter())(JSON.stringify(reply))).toBeLessThanOrEqual(10_000);
        for (const each of items(reply, "quarantined")) seen.add(each.observation_id);
        if (seen.size < 60) expect(reply).toMatchObject({ truncated: true, total: 60 });
        next = reply.next;
      }
      expect(seen.size).toBe(60);
    },
    SLOW_MS,
  );
});
