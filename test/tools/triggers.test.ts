import { beforeEach, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { tokenCounter } from "../../src/kernel/tokens.ts";
import { eachEngine } from "../support/engines.ts";
import { graphOver, type Reply } from "../support/graph.ts";
import { noDatabase } from "../support/no-database.ts";
import { processOver } from "../support/services.ts";
import { project, row, rows } from "../support/statements.ts";

const SLOW_MS = 60_000;
const items = (reply: Reply, key: string): Reply[] => reply[key] as Reply[];
const reminder = { action: "create", entity_pattern: "Postgres", condition_type: "on_access", message: "it moved to port 5433" };

test("refuses credentials, empty texts, zero fires, and an expiry that is malformed or past", async () => {
  const { caller, refusal } = graphOver(noDatabase);
  const create = (more: Reply) => refusal(caller()("cuba_centinela", { ...reminder, ...more }));
  const token = "use ghp_abcdefghijklmnop";
  for (const field of ["message", "entity_pattern"]) {
    const error = await create({ [field]: token });
    expect(error.message).toStartWith(`refusing to write ${field}: what looks like a github token`);
    expect(error.message).not.toContain("ghp_abc");
    expect((await create({ [field]: token, allow_secret: true })).code).toBe("unavailable");
    expect((await create({ [field]: "  " })).field).toBe(field);
  }
  for (const expires_at of ["tomorrow", "2026-13-01T00:00:00Z", "2026-01-01", "2026-01-01T00:00:00"])
    expect((await create({ expires_at })).field).toBe("expires_at");
  expect((await create({ expires_at: "2026-01-01T00:00:00Z" })).message).toContain("has passed");
  expect((await create({ expires_at: "2999-01-01T00:00:00Z" })).code).toBe("unavailable");
  expect((await create({ max_fires: 0 })).field).toBe("max_fires");
  expect((await create({ condition_type: "on_tuesday" })).message).toBe(
    "Invalid condition_type: on_tuesday. Use on_access/on_session_start/on_error_match",
  );
  expect((await create({ condition_type: undefined })).field).toBe("condition_type");
  expect((await refusal(caller()("cuba_centinela", { action: "delete", trigger_id: "x" }))).field).toBe("trigger_id");
});

eachEngine("cuba_centinela", (engine) => {
  beforeEach(() => engine.db.reset());
  const as = (client: string, id?: string, more = {}) =>
    graphOver(engine.db).caller(id === undefined ? { kind: "none" } : { kind: "project", id }, { client, ...more });
  const caller = (id?: string) => as("cursor", id);
  const create = (more: Reply = {}, call = caller()) => call("cuba_centinela", { ...reminder, ...more });
  const check = (more: Reply = {}, call = caller()) => call("cuba_centinela", { action: "check", entity_pattern: "Postgres", ...more });
  const list = (call = caller()) => call("cuba_centinela", { action: "list" });

  test("a reminder fires once by default and is gone from the list", async () => {
    const made = await create();
    const { action, ...settings } = reminder;
    expect(made).toEqual({ action, trigger_id: made.trigger_id, ...settings, max_fires: 1, warnings: [] });
    const listed = items(await list(), "triggers");
    expect(listed).toMatchObject([
      {
        id: made.trigger_id,
        entity_pattern: "Postgres",
        active: true,
        from_agent: "cursor",
        fire_count: 0,
        max_fires: 1,
        expires_at: null,
      },
    ]);
    expect(await check()).toEqual({
      action: "check",
      triggered: [
        {
          trigger_id: made.trigger_id,
          entity_pattern: "Postgres",
          message: "it moved to port 5433",
          from_agent: "cursor",
          fire_count: 1,
          deactivated: true,
        },
      ],
      count: 1,
      warnings: [],
    });
    expect(await check()).toMatchObject({ triggered: [], count: 0 });
    expect(await list()).toMatchObject({ triggers: [], count: 0 });
  });

  test("counts down from what was asked, and never where it is unlimited", async () => {
    expect(await create({ max_fires: -5, message: "always" })).toMatchObject({ max_fires: -1 });
    await create({ max_fires: 2, message: "twice" });
    expect(await create({ max_fires: 99_999, message: "often" })).toMatchObject({ max_fires: 10_000 });
    const fired = [await check(), await check(), await check()].map((reply) =>
      items(reply, "triggered").map(({ message, fire_count, deactivated }) => [message, fire_count, deactivated]),
    );
    expect(fired[0]).toEqual([
      ["always", 1, false],
      ["twice", 1, false],
      ["often", 1, false],
    ]);
    expect(fired[1]).toEqual([
      ["always", 2, false],
      ["twice", 2, true],
      ["often", 2, false],
    ]);
    expect(fired[2]).toEqual([
      ["always", 3, false],
      ["often", 3, false],
    ]);
  });

  test("a dry run shows what would fire and fires nothing", async () => {
    await create();
    expect(await check({ dry_run: true })).toMatchObject({ dry_run: true, count: 1, triggered: [{ fire_count: 0, deactivated: false }] });
    await create({ condition_type: "on_session_start", entity_pattern: "deploy" });
    expect(await check({ dry_run: true, condition_type: "on_session_start", entity_pattern: "deploy" })).toMatchObject({ count: 1 });
    expect(await check()).toMatchObject({ count: 1, triggered: [{ fire_count: 1 }] });
  });

  test("matches near names, but not for notes; nothing for an empty subject, another condition or after the expiry", async () => {
    await create({ max_fires: -1 });
    await create({ condition_type: "on_session_start", entity_pattern: "deploy api", max_fires: -1 });
    expect(await check({ entity_pattern: "Postgre" })).toMatchObject({ count: 1 });
    for (const entity_pattern of ["", "  ", "Redis"]) expect(await check({ entity_pattern })).toMatchObject({ count: 0 });
    expect(await check({ entity_pattern: undefined })).toMatchObject({ count: 0 });
    expect(await check({ condition_type: "on_error_match" })).toMatchObject({ count: 0 });
    const start = (entity_pattern: string) => check({ condition_type: "on_session_start", entity_pattern });
    expect(await start("deploy api")).toMatchObject({ count: 1 });
    expect(await start("deploy-api 2")).toMatchObject({ count: 0 });
    await rows(engine.db, sql`update brain_triggers set created_at = '2025-12-01', expires_at = '2026-01-01'`);
    expect(await check()).toMatchObject({ count: 0 });
    expect(await start("deploy api")).toMatchObject({ count: 0 });
    expect(await list()).toMatchObject({ count: 0 });
  });

  test("at most ten fire at once, the oldest first", async () => {
    for (let n = 0; n < 12; n++) await create({ message: `m${n}` });
    const messages = async () => items(await check(), "triggered").map(({ message }) => message);
    expect(await messages()).toEqual(Array.from({ length: 10 }, (_, n) => `m${n}`));
    expect(await messages()).toEqual(["m10", "m11"]);
  });

  test("fires where its condition is met: reading an entity, an error, the start of a session", async () => {
    await caller()("cuba_alma", { action: "create", name: "Postgres" });
    await create();
    await create({ condition_type: "on_error_match", entity_pattern: "TypeError" });
    await create({ condition_type: "on_session_start", entity_pattern: "deploy" });
    expect(await caller()("cuba_alma", { action: "get", name: "Postgres" })).toHaveProperty("triggered_reminders");
    expect(await caller()("cuba_alarma", { error_type: "TypeError", error_message: "x" })).toHaveProperty("triggered_reminders");
    const of = processOver(engine.db);
    const window = of.client();
    const started = await of.sessions.start(await window.context(), { name: "deploy", goals: [], project: undefined });
    expect(started).toMatchObject({ reminders: [{ message: "it moved to port 5433", deactivated: true }] });
  });

  test("a reminder of one project is unknown in another; one without project is everywhere", async () => {
    const [a, b] = [await project(engine.db, "A"), await project(engine.db, "B")];
    const inA = await create({ message: "in A", max_fires: -1 }, caller(a));
    await create({ message: "everywhere", max_fires: -1 });
    const seen = async (id?: string) => items(await check({}, caller(id)), "triggered").map(({ message }) => message);
    expect(await seen(b)).toEqual(["everywhere"]);
    expect(await seen(a)).toEqual(["in A", "everywhere"]);
    expect(items(await list(caller(b)), "triggers").map(({ message }) => message)).toEqual(["everywhere"]);
    expect(await list(caller(a))).toMatchObject({ count: 2 });
    const { refusal } = graphOver(engine.db);
    const error = await refusal(caller(b)("cuba_centinela", { action: "delete", trigger_id: inA.trigger_id }));
    expect(error.message).toStartWith(`Trigger '${inA.trigger_id}' not found`);
    expect(await caller(a)("cuba_centinela", { action: "delete", trigger_id: inA.trigger_id })).toMatchObject({
      action: "delete",
      trigger_id: inA.trigger_id,
    });
    expect(await seen(a)).toEqual(["everywhere"]);
  });

  test("a note reaches its client by label, machine or whole key in any project, and no third client sees or deletes it", async () => {
    const [a, b] = [await project(engine.db, "A"), await project(engine.db, "B")];
    const note = { condition_type: "on_session_start", entity_pattern: "cursor", message: "the tests are red" };
    const { trigger_id: id } = await create(note, as("claude", a));
    expect(await row(engine.db, sql`select project_id, from_agent from brain_triggers`)).toEqual({
      project_id: null,
      from_agent: "claude",
    });
    const third = as("zed", b);
    expect(await list(third)).toMatchObject({ count: 0 });
    const { refusal } = graphOver(engine.db);
    expect((await refusal(third("cuba_centinela", { action: "delete", trigger_id: id }))).code).toBe("not_found");
    expect(await list(as("claude::other-window", b))).toMatchObject({ count: 1 });
    expect(await list(as("cursor::chat-9", b))).toMatchObject({ count: 1, triggers: [{ from_agent: "claude" }] });
    const of = processOver(engine.db);
    const window = of.client({ project: "B", protocolSession: "chat-9" });
    const started = await of.sessions.start(await window.context(), { name: "w", goals: [], project: undefined });
    expect(started).toMatchObject({ reminders: [{ message: "the tests are red", fromAgent: "claude" }] });
    const nobody = as("anonymous", undefined, { bound: false });
    await create({ ...note, entity_pattern: "anonymous" }, as("claude", a));
    expect(await list(nobody)).toMatchObject({ count: 0 });
  });

  test("of twenty starts at once one is told", async () => {
    await create({ condition_type: "on_session_start", entity_pattern: "deploy" });
    const of = processOver(engine.db);
    const contexts = await Promise.all(Array.from({ length: 20 }, (_, n) => of.client({ protocolSession: `window ${n}` }).context()));
    const started = await Promise.all(contexts.map((ctx) => of.sessions.start(ctx, { name: "deploy", goals: [], project: undefined })));
    expect(started.flatMap((result) => (result.kind === "started" ? result.reminders : [])).map(({ fireCount }) => fireCount)).toEqual([1]);
  });

  test("a failing check is an error, not an empty answer", async () => {
    const { caller: by, refusal } = graphOver(noDatabase);
    for (const dry_run of [true, false])
      for (const condition_type of ["on_access", "on_session_start"])
        expect((await refusal(by()("cuba_centinela", { action: "check", entity_pattern: "x", dry_run, condition_type }))).code).toBe(
          "unavailable",
        );
  });

  test(
    "shows fifty, newest first, below 10,000 tokens, and how to read on",
    async () => {
      for (let n = 0; n < 55; n++) await create({ message: `m${n}` });
      const first = await list();
      expect(first).toMatchObject({ count: 50, truncated: true, total: 55, next: { offset: 50 } });
      expect(items(first, "triggers")[0]?.message).toBe("m54");
      expect(await caller()("cuba_centinela", { action: "list", offset: 50 })).toMatchObject({ count: 5 });
      await rows(engine.db, sql`update brain_triggers set message = repeat('界', 2000)`);
      const long = await list();
      expect((await tokenCounter())(JSON.stringify(long))).toBeLessThan(10_000);
      expect(long).toMatchObject({ truncated: true, total: 55 });
    },
    SLOW_MS,
  );
});
