import { expect, test } from "bun:test";
import { byAge, byScoreThenNewest, openTies } from "../../../src/domain/retrieval/ties.ts";

const hits = (...scores: number[]) => scores.map((score, at) => ({ id: `r${at}`, score }));

test("a better score stands first, of equals the newest, of the same instant the lower id", () => {
  const order = byScoreThenNewest(
    new Map([
      ["r1", "2026-01-01"],
      ["r2", "2026-01-02"],
      ["r3", "2026-01-02"],
    ]),
  );
  expect(
    hits(9, 1, 1, 1, 1)
      .reverse()
      .sort(order)
      .map(({ id }) => id),
  ).toEqual(["r0", "r2", "r3", "r1", "r4"]);
  expect(
    [
      { id: "b", createdAt: "1" },
      { id: "a", createdAt: "1" },
      { id: "c", createdAt: "2" },
    ]
      .sort(byAge)
      .map(({ id }) => id),
  ).toEqual(["c", "a", "b"]);
});

test("only what shares its score is open; equals that the limit cuts through are told apart from those it does not", () => {
  expect(openTies(hits(5, 4, 4, 3, 2, 2, 2, 1), 6)).toEqual({ inside: ["r1", "r2"], across: ["r4", "r5", "r6"], room: 2 });
  expect(openTies(hits(5, 4, 4, 3), 3)).toEqual({ inside: ["r1", "r2"], across: [], room: 0 });
  expect(openTies(hits(5, 4, 3), 2)).toEqual({ inside: [], across: [], room: 0 });
  // A single row behind the limit is nobody's equal, and one before it whose equal is behind is half of a tie.
  expect(openTies(hits(3, 2, 2), 2)).toEqual({ inside: [], across: ["r1", "r2"], room: 1 });
  expect(openTies([], 5)).toEqual({ inside: [], across: [], room: 0 });
});
