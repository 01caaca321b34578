import { expect, test } from "bun:test";
import fc from "fast-check";
import { createAppearances, npmi } from "../../../src/domain/graph/cooccurrence.ts";
import { resultOf } from "../../support/steps.ts";

test("how often two entities meet, against chance", () => {
  expect(npmi(25, 50, 50, 100)).toBeCloseTo(0, 10);
  expect(npmi(10, 10, 10, 100)).toBeCloseTo(1, 10);
  expect(npmi(10, 10, 100, 100)).toBeCloseTo(0, 10);
  expect(npmi(1, 50, 50, 100)).toBeLessThan(0);
  expect(npmi(2, 2, 3, 10)).toBeCloseTo(0.748, 3);
  expect([npmi(0, 1, 1, 10), npmi(5, 5, 5, 5), npmi(1, 0, 1, 10)]).toEqual([undefined, undefined, undefined]);
});

test("pairs are of one project, are in two sessions at least, and come strongest first; a session with everything in it counts nowhere", () => {
  const appearances = createAppearances();
  const in_ = (session: string, project: string | null, ...entities: string[]) =>
    appearances.add(entities.map((entity) => ({ session, project, entity })));
  for (const session of ["1", "2", "3"]) in_(session, "p", "a", "b");
  in_("4", "p", "c");
  in_("5", "p", "c", "d", "a");
  in_("6", "p", "c", "d");
  in_("1", "q", "x", "y");
  in_("2", null, "x", "y");
  in_("huge", "p", ...Array.from({ length: 301 }, (_, i) => `e${i}`), "a", "c");
  const pairs = (minSessions: number) => resultOf(appearances.pairs({ threshold: 0.3, minSessions }, { most: 1_000 }));
  expect(pairs(2).map(({ a, b, sessions }) => [a, b, sessions])).toEqual([
    ["c", "d", 2],
    ["a", "b", 3],
  ]);
  expect(pairs(3).map(({ a, b }) => [a, b])).toEqual([["a", "b"]]);
});

test("finds exactly the pairs that looking at every pair of every session finds", () => {
  const session = fc.uniqueArray(fc.constantFrom(..."abcdefgh"), { maxLength: 8 });
  fc.assert(
    fc.property(
      fc.array(session, { maxLength: 12 }),
      fc.constantFrom(1, 2, 3),
      fc.constantFrom(1, 2, 5, 100),
      (sessions, minSessions, most) => {
        const appearances = createAppearances();
        for (const [at, entities] of sessions.entries())
          appearances.add(entities.map((entity) => ({ session: String(at), project: null, entity })));
        const count = sessions.filter((entities) => entities.length > 0).length;
        const of = (...names: string[]) => sessions.filter((entities) => names.every((name) => entities.includes(name))).length;
        const wanted: string[] = [];
        for (const a of "abcdefgh")
          for (const b of "abcdefgh") {
            const value = a < b ? npmi(of(a, b), of(a), of(b), count) : undefined;
            if (value !== undefined && value > 0 && value >= 0.1 && of(a, b) >= minSessions)
              wanted.push(`${a}${b} ${of(a, b)} ${value.toFixed(9)}`);
          }
        const found = resultOf(appearances.pairs({ threshold: 0.1, minSessions }, { most: 1_000 }));
        // Page behind page they come in the same order.
        const paged: typeof found = [];
        for (let page = found.slice(0, 0), more = true; more; more = page.length === most) {
          page = resultOf(appearances.pairs({ threshold: 0.1, minSessions }, { behind: paged.at(-1), most }));
          expect(page.length).toBeLessThanOrEqual(most);
          paged.push(...page);
        }
        expect(paged).toEqual(found);
        expect(found.map((pair) => `${pair.a}${pair.b} ${pair.sessions} ${pair.npmi.toFixed(9)}`).sort()).toEqual(wanted.sort());
      },
    ),
  );
});
