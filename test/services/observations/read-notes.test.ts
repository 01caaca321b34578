import { expect, test } from "bun:test";
import fc from "fast-check";
import { readNotes } from "../../../src/services/observations/read-notes.ts";

test("any list of anything is read: each item is a note, skipped or rejected, and nothing is thrown", () => {
  fc.assert(
    fc.property(fc.array(fc.anything(), { maxLength: 20 }), (items) => {
      const read = readNotes(items, { entityName: "E" });
      const places = [...read.notes.map((note) => note.index), ...read.skipped, ...read.rejected.map((each) => each.index)];
      expect(places.sort((a, b) => a - b)).toEqual(items.map((_, at) => at));
    }),
  );
});

test("an item gets the defaults, a blank name the entity of the call, and keeps its text as it is", () => {
  expect(
    readNotes(
      [
        { content: "  text  ", entity_name: " " },
        { content: "text", entity_name: " F  G " },
      ],
      { entityName: "E" },
    ).notes,
  ).toEqual([
    { index: 0, entityName: "E", content: "  text  ", observationType: "fact", source: "agent", trust: undefined },
    { index: 1, entityName: "F G", content: "text", observationType: "fact", source: "agent", trust: undefined },
  ]);
});

test("a reason holds no secret and no endless value", () => {
  const { rejected } = readNotes([{ entity_name: "E", content: "text", observation_type: `ghp_abcdefghijklmnop${"x".repeat(500)}` }]);
  expect(rejected[0]?.reason).not.toContain("ghp_abcdefghijklmnop");
  expect(rejected[0]?.reason.length).toBeLessThan(250);
});

test("a list that is withheld as a whole is loosened by none of its items", () => {
  const items = [{ content: "text", trust: "trusted" }, { content: "text" }];
  expect(readNotes(items, { entityName: "E", trust: "quarantined" }).notes.map(({ trust }) => trust)).toEqual([
    "quarantined",
    "quarantined",
  ]);
});
