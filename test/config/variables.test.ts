import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describeVariable, namesOf, variableNames } from "../../src/config/variables.ts";

const root = join(import.meta.dir, "../..");

function sources(directory: string): string[] {
  return readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

test("only one file looks at the environment of the process", () => {
  const readers = sources("src").filter((path) => /\bprocess\.env\b|\bBun\.env\b|\bimport\.meta\.env\b/.test(readFileSync(path, "utf8")));
  expect(readers).toEqual([join(root, "src/config/environment.ts")]);
});

test("every default is acceptable to its own kind", () => {
  for (const key of variableNames) {
    const { is, default: standard } = describeVariable(key);
    if (standard !== undefined) expect([key, is.read(String(standard))]).toEqual([key, expect.objectContaining({ ok: true })]);
  }
});

test("no two variables share a name", () => {
  const names = variableNames.flatMap((key) => namesOf(key));
  expect(names.length).toBe(new Set(names).size);
});

test("each CUBA name has its MEMORY_INDUSTRY name in front of it", () => {
  for (const key of variableNames) {
    const names = namesOf(key);
    for (const old of names.filter((name) => name.startsWith("CUBA_")))
      expect(names.indexOf(old.replace("CUBA_", "MEMORY_INDUSTRY_"))).toBeLessThan(names.indexOf(old));
    expect(names.filter((name) => name.startsWith("CUBA_")).every((old) => names.includes(old.replace("CUBA_", "MEMORY_INDUSTRY_")))).toBe(
      true,
    );
  }
});

test("descriptions are one sentence without a full stop", () => {
  for (const key of variableNames) expect(describeVariable(key).doc).toMatch(/[^.]$/);
});

test("every variable is read by something: the table offers no dead ones", () => {
  const code = sources("src")
    .filter((path) => !path.endsWith("src/config/variables.ts"))
    .map((path) => readFileSync(path, "utf8"))
    .join("\n");
  const unread = variableNames.filter(
    (key) => !new RegExp(`\\bsettings\\.${key}\\b|\\b${key}\\b[^}\\n]*\\} = [\\w.]*settings\\b|(settle|namesOf)\\("${key}"`).test(code),
  );
  expect(unread).toEqual([]);
});
