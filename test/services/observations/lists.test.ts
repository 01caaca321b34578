import { beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { tokenCounter } from "../../../src/kernel/tokens.ts";
import { eachEngine } from "../../support/engines.ts";
import { field, notesOver } from "../../support/notes.ts";
import { entity, project, row, rows } from "../../support/statements.ts";

/** Tests that store megabytes, on a machine that others use too. */
const SLOW_MS = 60_000;

eachEngine("cuba_cronica as lists", (engine) => {
  beforeEach(() => engine.db.reset());
  const { db, graph, add } = notesOver(engine);

  describe("lists", () => {
    test("list shows the most important first, then the newest, with everything about a row", async () => {
      for (const [content, type] of [
        ["An older fact of it", "fact"],
        ["A newer fact of it", "fact"],
        ["The decision on it", "decision"],
      ])
        await add(String(content), { observation_type: type });
      const answer = await graph().caller()("cuba_cronica", { action: "list", entity_name: "E" });
      expect(answer).toMatchObject({
        action: "list",
        entity_name: "E",
        count: 3,
        total: 3,
        truncated: false,
        next: null,
        quarantined_hidden: 0,
      });
      expect(field(answer, "observations")).toMatchObject([
        { content: "The decision on it", type: "decision", importance: 0.8, source: "agent", access_count: 0 },
        { content: "A newer fact of it" },
        { content: "An older fact of it" },
      ]);
    });

    test("list, episode_list and timeline all fail on an unknown entity, with close names", async () => {
      await entity(db(), null, "Postgres");
      const { caller, refusal } = graph();
      for (const action of ["list", "episode_list", "timeline"]) {
        const missing = await refusal(caller()("cuba_cronica", { action, entity_name: "Postgress" }));
        expect(missing.message).toStartWith("Entity 'Postgress' not found. Close names: Postgres.");
      }
    });

    test("an entity of another project is not found", async () => {
      const [a, b] = [await project(db(), "A"), await project(db(), "B")];
      const { caller, refusal } = graph();
      await caller({ kind: "project", id: a })("cuba_cronica", { action: "add", entity_name: "E", content: "Only in project A" });
      for (const action of ["list", "episode_list", "timeline"])
        expect((await refusal(caller({ kind: "project", id: b })("cuba_cronica", { action, entity_name: "E" }))).code).toBe("not_found");
    });

    test(
      "none answers more than 10,000 tokens by default",
      async () => {
        await entity(db(), null, "E");
        await rows(
          db(),
          sql`insert into brain_observations (entity_id, content) select e.id, left(i || repeat(' the quick brown fox', 600), 9000)
              from brain_entities e, generate_series(1, 60) i`,
        );
        await rows(
          db(),
          sql`insert into brain_episodes (entity_id, content) select e.id, left(i || repeat(' the quick brown fox', 600), 9000)
              from brain_entities e, generate_series(1, 60) i`,
        );
        const tokens = await tokenCounter();
        for (const [action, total] of [
          ["list", 60],
          ["episode_list", 60],
          ["timeline", 120],
        ] as const) {
          const answer = await graph().caller()("cuba_cronica", { action, entity_name: "E" });
          expect(tokens(JSON.stringify(answer))).toBeLessThanOrEqual(10_000);
          expect(answer).toMatchObject({ truncated: true, total, next: { offset: answer.count } });
        }
      },
      SLOW_MS,
    );
  });

  describe("episodes", () => {
    const episode = (more: Record<string, unknown>) =>
      graph().caller()("cuba_cronica", {
        action: "episode_add",
        entity_name: "E",
        content: "We moved the payments queue to Redis",
        ...more,
      });

    test("keep who and what, start now unless told, and decay from what they were worth", async () => {
      const answer = await episode({ actors: ["Ana", "Bea"], artifacts: ["src/queue.ts"] });
      expect(answer).toMatchObject({
        action: "episode_add",
        entity_name: "E",
        actors: ["Ana", "Bea"],
        artifacts: ["src/queue.ts"],
        importance: 1,
        ended_at: null,
        embedding: "pending",
      });
      expect(await row(db(), sql`select importance, initial_importance, trust, embedding from brain_episodes`)).toEqual({
        importance: 1,
        initial_importance: 1,
        trust: "trusted",
        embedding: null,
      });
      expect(await episode({})).toMatchObject({ actors: [], artifacts: [] });
      expect(await rows(db(), sql`select 1 from brain_episodes`)).toHaveLength(2);
    });

    test("take both ends in any zone, answer in UTC, and refuse an end before its beginning", async () => {
      expect(await episode({ started_at: "2026-03-29T10:00:00+02:00", ended_at: "2026-03-29T04:30:00.25-04:00" })).toMatchObject({
        started_at: "2026-03-29T08:00:00.000000+00:00",
        ended_at: "2026-03-29T08:30:00.250000+00:00",
      });
      const { caller, refusal } = graph();
      const wrong = (more: Record<string, unknown>) =>
        refusal(caller()("cuba_cronica", { action: "episode_add", entity_name: "E", content: "It happened", ...more }));
      expect((await wrong({ started_at: "2026-03-29T10:00:00+02:00", ended_at: "2026-03-29T09:59:59+02:00" })).field).toBe("ended_at");
      for (const started_at of ["2026", "2026-03-29", "2026-03-29T10:00:00", "yesterday", 5])
        expect((await wrong({ started_at })).message).toContain("started_at must be an RFC 3339 instant with its zone");
      expect((await wrong({ actors: "Ana" })).field).toBe("actors");
      expect(await rows(db(), sql`select 1 from brain_episodes`)).toHaveLength(1);
    });

    test("with an end alone begin no later than it", async () => {
      const answer = await episode({ ended_at: "2026-03-29T10:00:00Z" });
      expect(answer.started_at).toBe("2026-03-29T10:00:00.000000+00:00");
    });

    test("list the newest first by when they began", async () => {
      for (const hour of [11, 9, 10])
        await episode({ content: `At ${hour}`, started_at: `2026-03-29T${String(hour).padStart(2, "0")}:00:00Z` });
      const answer = await graph().caller()("cuba_cronica", { action: "episode_list", entity_name: "E", limit: 2 });
      expect(answer).toMatchObject({ count: 2, total: 3, truncated: true, next: { offset: 2 } });
      expect(field(answer, "episodes")).toMatchObject([{ content: "At 11" }, { content: "At 10" }]);
    });
  });

  describe("timeline", () => {
    test("merges both kinds by instant, ascending, rows a millisecond apart included", async () => {
      const e = await entity(db(), null, "E");
      await rows(
        db(),
        sql`insert into brain_observations (entity_id, content, created_at) values
              (${e}::uuid, 'third', '2026-03-29T00:00:00.1Z'), (${e}::uuid, 'first', '2026-03-28T23:59:59.9Z'), (${e}::uuid, 'fourth', '2026-03-29T00:00:00.101Z')`,
      );
      await rows(
        db(),
        sql`insert into brain_episodes (entity_id, content, started_at, actors) values (${e}::uuid, 'second', '2026-03-29T00:00:00Z', '{Ana}')`,
      );
      const answer = await graph().caller()("cuba_cronica", { action: "timeline", entity_name: "E" });
      expect(answer).toMatchObject({ action: "timeline", entity_name: "E", count: 4, total: 4, truncated: false });
      expect(field(answer, "items")).toMatchObject([
        { type: "observation", content: "first", observation_type: "fact", version: 1, timestamp: "2026-03-28T23:59:59.900000+00:00" },
        { type: "episode", content: "second", actors: ["Ana"], artifacts: [], timestamp: "2026-03-29T00:00:00.000000+00:00" },
        { content: "third", timestamp: "2026-03-29T00:00:00.100000+00:00" },
        { content: "fourth", timestamp: "2026-03-29T00:00:00.101000+00:00" },
      ]);
      expect(field(answer, "items", 0)).not.toHaveProperty("previous_versions");
    });

    test("of a busy entity shows the newest, and older ones by offset", async () => {
      const e = await entity(db(), null, "E");
      await rows(
        db(),
        sql`insert into brain_observations (entity_id, content, created_at)
            select ${e}::uuid, 'row ' || i, '2026-01-01T00:00:00Z'::timestamptz + i * interval '1 minute' from generate_series(1, 150) as i`,
      );
      const call = graph().caller();
      const newest = await call("cuba_cronica", { action: "timeline", entity_name: "E" });
      expect([newest.count, newest.total, newest.truncated, newest.next]).toEqual([100, 150, true, { offset: 100 }]);
      expect([field(newest, "items", 0, "content"), field(newest, "items", 99, "content")]).toEqual(["row 51", "row 150"]);
      const older = await call("cuba_cronica", { action: "timeline", entity_name: "E", offset: 100 });
      expect([older.count, older.next, field(older, "items", 0, "content"), field(older, "items", 49, "content")]).toEqual([
        50,
        null,
        "row 1",
        "row 50",
      ]);
    });

    test("shows what an observation said before", async () => {
      const { id } = await add("The limit is five");
      await rows(db(), sql`update brain_observations set content = 'The limit is six' where id = ${String(id)}::uuid`);
      const answer = await graph().caller()("cuba_cronica", { action: "timeline", entity_name: "E" });
      expect(field(answer, "items")).toMatchObject([
        { content: "The limit is six", version: 2, previous_versions: [{ content: "The limit is five", version: 1 }] },
      ]);
    });
  });
});
