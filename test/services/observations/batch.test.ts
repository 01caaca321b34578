import { beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { eachEngine } from "../../support/engines.ts";
import { field, notesOver } from "../../support/notes.ts";
import { entity, project, rows } from "../../support/statements.ts";

eachEngine("cuba_cronica with many texts", (engine) => {
  beforeEach(() => engine.db.reset());
  const { db, graph, add, count } = notesOver(engine);
  const at = (importance: number, content: string, type = "fact") =>
    rows(
      db(),
      sql`insert into brain_observations (entity_id, content, importance, observation_type)
          select id, ${content}::text, ${importance}::float8, ${type}::text from brain_entities where name = 'E'`,
    );

  describe("batch_add", () => {
    const batch = (observations: unknown, more: Record<string, unknown> = {}) =>
      graph().caller()("cuba_cronica", { action: "batch_add", observations, ...more });

    test("stores what is good, in order, and says what is wrong with the rest", async () => {
      const answer = await batch([
        { entity_name: "A", content: "The first good text", observation_type: "lesson" },
        { entity_name: "A", content: "A text of no type", observation_type: "bogus" },
        { entity_name: "B", content: "The second good text", source: "user", trust: "quarantined" },
        { entity_name: "B" },
        { content: "A text about nothing" },
        { entity_name: "B", content: "x".repeat(10_001) },
        { entity_name: "y".repeat(201), content: "A text about a long name" },
        "no object",
        { entity_name: 5, content: "A text about a number" },
        { entity_name: "A", content: "a\u0000b" },
      ]);
      expect(answer).toMatchObject({
        action: "batch_add",
        added: 2,
        deduplicated: 0,
        reinforced: 0,
        total_processed: 2,
        chunks: 0,
        skipped: 2,
        skipped_indexes: [3, 4],
        embedding: { ready: 0, pending: 2 },
        possible_conflicts: [],
      });
      expect(field(answer, "rejected")).toMatchObject([{ index: 1 }, { index: 5 }, { index: 6 }, { index: 7 }, { index: 8 }, { index: 9 }]);
      expect(field(answer, "rejected", 0, "reason")).toStartWith("Invalid observation_type: bogus. Use fact/");
      expect(
        await rows(db(), sql`select id, content, observation_type as type, source, trust from brain_observations order by created_at`),
      ).toEqual([
        { id: field(answer, "ids", 0), content: "The first good text", type: "lesson", source: "agent", trust: "trusted" },
        { id: field(answer, "ids", 2), content: "The second good text", type: "fact", source: "user", trust: "quarantined" },
      ]);
      expect(field(answer, "ids", 1)).toBeNull();
      expect(await rows(db(), sql`select name from brain_entities order by name`)).toEqual([{ name: "A" }, { name: "B" }]);
    });

    test("sees repetitions inside its own call", async () => {
      const text = "The gateway retries failed calls 3 times before it gives up";
      const answer = await batch([
        { entity_name: "A", content: text },
        { entity_name: "A", content: `${text}.` },
        { entity_name: "B", content: text },
        { entity_name: "A", content: text.replace("3", "4") },
      ]);
      expect(answer).toMatchObject({
        added: 3,
        deduplicated: 1,
        total_processed: 4,
        possible_conflicts: [{ index: 3, id: field(answer, "ids", 0), kind: "number" }],
      });
    });

    test("takes the entity of the call for items that name none, and JSON text for the array", async () => {
      expect(
        await batch([{ content: "About the default" }, { entity_name: "F", content: "About its own" }], { entity_name: "D" }),
      ).toMatchObject({
        added: 2,
      });
      expect(await batch('[{"entity_name":"A","content":"sent as text"}]')).toMatchObject({ added: 1 });
      expect(await rows(db(), sql`select name from brain_entities order by name`)).toEqual([{ name: "A" }, { name: "D" }, { name: "F" }]);
    });

    test("refuses 101 items and none, naming the count", async () => {
      const { caller, refusal } = graph();
      const call = caller();
      const many = Array.from({ length: 101 }, (_, i) => ({ entity_name: "A", content: `text ${i}` }));
      expect((await refusal(call("cuba_cronica", { action: "batch_add", observations: many }))).message).toStartWith(
        "observations must be an array of 1 to 100 items; got an array of 101.",
      );
      for (const observations of [[], "none", {}, undefined])
        expect((await refusal(call("cuba_cronica", { action: "batch_add", observations }))).field).toBe("observations");
      expect(await rows(db(), sql`select 1 from brain_entities`)).toEqual([]);
      expect(await batch(many.slice(0, 100))).toMatchObject({ added: 100, total_processed: 100 });
    });

    test("reports an ambiguous name and stores the rest", async () => {
      for (const id of [await project(db(), "A"), await project(db(), "B")]) await entity(db(), id, "api");
      const answer = await batch([
        { entity_name: "api", content: "About which of them?" },
        { entity_name: "E", content: "About a clear thing" },
      ]);
      expect(answer).toMatchObject({ added: 1, rejected: [{ index: 0 }] });
      expect(field(answer, "rejected", 0, "reason")).toContain("projects A, B");
    });

    test("is one transaction: a failure leaves no entity behind", async () => {
      await engine.db.asOwner((connection) =>
        connection.script("alter table brain_observations add constraint never check (content <> 'unlucky')"),
      );
      try {
        const { caller, refusal } = graph();
        const call = caller();
        await refusal(
          call("cuba_cronica", {
            action: "batch_add",
            observations: [
              { entity_name: "A", content: "lucky" },
              { entity_name: "B", content: "unlucky" },
            ],
          }),
        );
      } finally {
        await engine.db.asOwner((connection) => connection.script("alter table brain_observations drop constraint never"));
      }
      expect(await rows(db(), sql`select 1 from brain_entities`)).toEqual([]);
      expect(await count()).toBe(0);
    });
  });

  describe("an overloaded entity", () => {
    const fill = (count: number) =>
      rows(
        db(),
        sql`insert into brain_observations (entity_id, content, importance)
            select e.id, 'Filler ' || md5(i::text), 0.5 from brain_entities as e, generate_series(1, ${count}::int) as i where e.name = 'E'`,
      );

    test("has its faded rows retired with the write that finds them, hidden and not deleted", async () => {
      await entity(db(), null, "E");
      await fill(50);
      await at(0.01, "Faded and of no use");
      await at(0.01, "A faded lesson stays", "lesson");
      await at(0.01, "A faded decision stays", "decision");
      const answer = await add("One more that goes over the limit");
      expect(answer.superseded).toBe(1);
      expect(String(answer.overload_warning)).toMatch(
        /^Entity 'E' has 53 observations; 1 faded one was retired: hidden, not deleted\. .*cuba_zafra action=summarize/,
      );
      expect(await rows(db(), sql`select content, superseded_from from brain_observations where observation_type = 'superseded'`)).toEqual([
        { content: "Faded and of no use", superseded_from: "fact" },
      ]);
      expect(await add("And yet another one here")).toMatchObject({ superseded: 0 });
    });

    test("is left alone up to fifty rows, and its batch retires as an add does", async () => {
      await entity(db(), null, "E");
      await fill(48);
      await at(0.01, "Faded and of no use");
      expect(await add("The fiftieth row of them")).toMatchObject({ superseded: 0, overload_warning: null });
      const answer = await graph().caller()("cuba_cronica", {
        action: "batch_add",
        observations: [{ entity_name: "E", content: "The row that goes over it" }],
      });
      expect(answer).toMatchObject({ superseded: 1 });
      expect(field(answer, "overload_warnings", 0)).toContain("Entity 'E' has 50 observations");
    });

    test("loses the weaker of two rows of one text in the background, and nothing else", async () => {
      await entity(db(), null, "E");
      await fill(50);
      await at(0.4, "The very same text twice over");
      await at(0.6, "The very same text twice over.");
      await at(0.5, "The very same text, twice over");
      await at(0.3, "Ana leads the team");
      await at(0.3, "Bea leads the team");
      const { caller, background } = graph();
      await caller()("cuba_cronica", { action: "add", entity_name: "E", content: "One more that goes over the limit" });
      expect(await background.drain(10_000)).toBe(0);
      expect(
        await rows(
          db(),
          sql`select o.content, k.content as keeper from brain_observations o join brain_observations k on k.id = o.superseded_by`,
        ),
      ).toEqual([{ content: "The very same text twice over", keeper: "The very same text twice over." }]);
    });
  });
});
