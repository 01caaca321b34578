/** cuba_ingesta: many memories at once, from items, from a text. */
import { beforeEach, describe, expect, test } from "bun:test";
import { eachEngine } from "../../support/engines.ts";
import { graphOver, type Reply } from "../../support/graph.ts";
import { ingestOver } from "../../support/ingest.ts";
import { noDatabase } from "../../support/no-database.ts";
import { seedProject } from "../../support/search.ts";

const TOKEN = "ghp_abcdefghijklmnop";

describe("cuba_ingesta before the database", () => {
  const call = graphOver(noDatabase).caller();
  const { refusal } = graphOver(noDatabase);

  test.each([
    [
      {
        items: [
          { entity_name: "E", content: "fine" },
          { entity_name: "E", content: TOKEN },
        ],
      },
      "items[1].content",
    ],
    [{ items: [{ entity_name: TOKEN, content: "fine" }] }, "items[0].entity_name"],
    [{ action: "parse", entity_name: "E", text: `a paragraph of words\n\nwith ${TOKEN} in it` }, "text"],
    [{ action: "auto_extract", text: `with ${TOKEN} in it` }, "text"],
    [{ action: "auto_extract", text: "fine", entity_hint: TOKEN }, "entity_hint"],
  ])("a credential in %j is refused by the name of its field", async (args, field) => {
    const { message } = await refusal(call("cuba_ingesta", args));
    expect(message).toStartWith(`refusing to write ${field}: what looks like a github token`);
    expect(message).not.toContain(TOKEN);
    expect(await refusal(call("cuba_ingesta", { ...args, allow_secret: "true" }))).toMatchObject({ field: "allow_secret" });
  });

  test("allow_secret reaches the database", async () => {
    const items = [{ entity_name: "E", content: TOKEN }];
    expect(await refusal(call("cuba_ingesta", { items, allow_secret: true }))).toMatchObject({ message: "no database here" });
    expect(
      await refusal(call("cuba_ingesta", { action: "parse", entity_name: "E", text: `here is ${TOKEN}`, allow_secret: true })),
    ).toMatchObject({
      message: "no database here",
    });
  });

  test.each([
    [{}, "items is required"],
    [{ items: [] }, "items must be an array of 1 to 200 items"],
    [{ items: Array.from({ length: 201 }, () => ({})) }, "items must be an array of 1 to 200 items; got an array of 201"],
    [{ action: "parse", text: "some text here" }, "entity_name is required"],
    [{ action: "parse", entity_name: "E", text: " \n " }, "text must be text that is not blank"],
    [{ action: "auto_extract", text: "x".repeat(60_001) }, "text must be text of at most 60000 characters; split it"],
    [{ action: "erase" }, "Invalid action: erase. Use ingest/parse/auto_extract"],
    [
      { action: "parse", entity_name: "E", text: Array.from({ length: 201 }, (_, i) => `Paragraph number ${i}`).join("\n\n") },
      "text has 201 paragraphs",
    ],
    [
      { action: "parse", entity_name: "E", text: `${"word ".repeat(400_000)}one more` },
      "text has more than 2000000 characters; at most 200 paragraphs",
    ],
  ])("%# is refused with a sentence", async (args, message) => {
    expect((await refusal(call("cuba_ingesta", args))).message).toStartWith(message);
  });

  test("no action and an empty one mean ingest", async () => {
    for (const action of [undefined, ""])
      expect(await call("cuba_ingesta", { action, items: [{ entity_name: "" }] })).toMatchObject({
        action: "ingest",
        skipped_invalid: 1,
        total_items: 1,
      });
  });
});

eachEngine("cuba_ingesta", (engine) => {
  beforeEach(() => engine.db.reset());
  const { db, over, ingest, stored, count } = ingestOver(engine);

  describe("ingest", () => {
    test("stores two hundred at once, says so once, and a second time stores none", async () => {
      const items = Array.from({ length: 200 }, (_, i) => ({
        entity_name: `E${i % 3}`,
        content: `Distinct memory number ${i} of the list`,
      }));
      const answer = await ingest({ items });
      expect(answer).toMatchObject({
        action: "ingest",
        added: 200,
        total_processed: 200,
        skipped_invalid: 0,
        total_items: 200,
        rejected: [],
      });
      expect(answer.ids).toHaveLength(200);
      expect(await count("brain_observations")).toBe(200);
      expect(await ingest({ items })).toMatchObject({ added: 0, deduplicated: 200 });
      expect(await count("brain_observations")).toBe(200);
    });

    test("names what it left out by the place in the caller's list", async () => {
      const answer = await ingest({
        items: [
          { entity_name: "", content: "nameless" },
          { entity_name: "E" },
          { entity_name: "E", content: "A good text about E", source: "user", trust: "quarantined" },
          { entity_name: "E", content: "A text of no type", observation_type: "bogus" },
        ],
      });
      expect(answer).toMatchObject({ added: 1, skipped_invalid: 2, skipped_indexes: [0, 1], total_items: 4, rejected: [{ index: 3 }] });
      expect(await stored()).toEqual([{ entity: "E", content: "A good text about E", type: "fact", source: "user", trust: "quarantined" }]);
    });
  });

  describe("parse", () => {
    const parse = (text: string, more: Reply = {}) => ingest({ action: "parse", entity_name: "Notes", text, ...more });

    test.each(["\n\n", "\r\n\r\n"])("stores a memory a paragraph with its kind, cut at %j", async (blank) => {
      const answer = await parse(["We decided X.", "short", "Lesson: Y is slow."].join(blank));
      expect(answer).toMatchObject({ action: "parse", entity_name: "Notes", parsed_count: 2, added: 2, total_items: 2, skipped_short: 1 });
      expect(await stored()).toEqual([
        { entity: "Notes", content: "We decided X.", type: "decision", source: "agent", trust: "trusted" },
        { entity: "Notes", content: "Lesson: Y is slow.", type: "lesson", source: "agent", trust: "trusted" },
      ]);
    });

    test("a text of short lines only is no error and makes no entity", async () => {
      expect(await parse("hi\n\nyes")).toMatchObject({
        parsed_count: 0,
        added: 0,
        total_items: 0,
        skipped_short: 2,
        note: expect.stringContaining("Nothing was written"),
      });
      expect(await count("brain_entities")).toBe(0);
    });

    test("lands on the surviving entity of an old name and says how it was asked for", async () => {
      await over().caller()("cuba_alma", { action: "create", name: "Winner" });
      await over().caller()("cuba_alma", { action: "update", name: "Winner", new_name: "Notebook" });
      expect(await ingest({ action: "parse", entity_name: "Winner", text: "A paragraph about it" })).toMatchObject({
        entity_name: "Notebook",
        requested_name: "Winner",
      });
    });

    test("an entity that two projects have is refused as a whole", async () => {
      for (const name of ["A", "B"]) {
        const id = await seedProject(db(), name);
        await over().caller({ kind: "project", id })("cuba_alma", { action: "create", name: "Notes" });
      }
      const { code, message } = await over().refusal(parse("A paragraph about it"));
      expect(code).toBe("ambiguous");
      expect(message).toContain("A, B");
      expect(await count("brain_observations")).toBe(0);
    });

    test("the same text ten times is stored once", async () => {
      const text = "We decided X for the gateway.\n\nLesson: Y is slow when it is cold.\n\n我们决定使用缓存。";
      for (let i = 0; i < 10; i++) await parse(text);
      expect(await count("brain_observations")).toBe(3);
      expect((await stored())[2]).toMatchObject({ content: "我们决定使用缓存。", type: "decision" });
    });

    test("a stack trace of three hundred lines is a handful of rows", async () => {
      const trace = `TypeError: x is undefined\n${Array.from({ length: 300 }, (_, i) => `    at Object.run${i} (/srv/app/src/module-${i}.ts:${i}:17)`).join("\n")}`;
      expect(await parse(trace)).toMatchObject({ parsed_count: 2, added: 2 });
    });
  });
});
