/** The list of requirements: every entry is shown by tests that are there, or says what is missing. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { catalogueRequirements } from "../requirements/catalogue.ts";
import { cognitionRequirements } from "../requirements/cognition.ts";
import { contextRequirements } from "../requirements/context.ts";
import { coordinationRequirements } from "../requirements/coordination.ts";
import { graphRequirements } from "../requirements/graph.ts";
import { maintenanceRequirements } from "../requirements/maintenance.ts";

const requirements = [
  ...graphRequirements,
  ...contextRequirements,
  ...cognitionRequirements,
  ...catalogueRequirements,
  ...maintenanceRequirements,
  ...coordinationRequirements,
];
const root = join(import.meta.dir, "..");
/** Requirements without a test; the list may only become shorter. */
const KNOWN_GAPS = 2;

test("each requirement has an id of its own, and either tests or a reason", () => {
  const ids = requirements.map(({ id }) => id);
  expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
  expect(requirements.filter(({ by, gap }) => (by.length === 0) === (gap === undefined)).map(({ id }) => id)).toEqual([]);
});

test("each test that is named is there", () => {
  const sources = new Map<string, string>();
  const sourceOf = (file: string) => {
    const path = join(root, file);
    const known = sources.get(file) ?? (existsSync(path) ? readFileSync(path, "utf8") : "");
    sources.set(file, known);
    return known;
  };
  const lost = requirements.flatMap(({ id, by }) =>
    by.filter(([file, title]) => title === "" || !sourceOf(file).includes(title)).map(([file, title]) => `${id}: ${file} "${title}"`),
  );
  expect(lost).toEqual([]);
});

test("no gap was added", () => {
  expect(requirements.filter(({ gap }) => gap !== undefined).length).toBeLessThanOrEqual(KNOWN_GAPS);
});
