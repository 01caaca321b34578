/** Help, version and usage errors load the command list and nothing else: no database, no model, no schema library, no rule. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";

const src = resolve(import.meta.dir, "../../src");

/** Everything that loading a file loads: static imports, types excepted (they are erased). Dynamic ones wait for their call. */
function loaded(file: string, seen = { files: new Set<string>(), packages: new Set<string>() }): typeof seen {
  if (seen.files.has(file)) return seen;
  seen.files.add(file);
  const text = readFileSync(file, "utf8");
  for (const [, clause = "", specifier = ""] of text.matchAll(/^(?:import|export)\s+([^;"']*?)\s*from\s+"([^"]+)"/gm)) {
    const names = clause.replace(/^\w+\s*,\s*/, "");
    const typesOnly =
      clause.startsWith("type ") ||
      (/^\{[^}]*\}$/.test(names) &&
        names === clause &&
        names
          .slice(1, -1)
          .split(",")
          .every((name) => name.trim() === "" || name.trim().startsWith("type ")));
    if (typesOnly) continue;
    if (specifier.startsWith(".")) loaded(resolve(dirname(file), specifier), seen);
    else seen.packages.add(specifier);
  }
  return seen;
}

test("the command line loads only itself, the kernel, plain values of the domain and citty", () => {
  const { files, packages } = loaded(resolve(src, "cli/run.ts"));
  const folders = new Set([...files].map((file) => relative(src, file).split("/")[0]));
  expect([...folders].sort()).toEqual(["cli", "doctor", "domain", "kernel"]);
  expect([...packages].filter((name) => !name.startsWith("node:"))).toEqual(["citty"]);
  expect([...files].filter((file) => file.includes("/doctor/")).map((file) => relative(src, file))).toEqual(["doctor/report.ts"]);
  const values = [...files].filter((file) => file.includes("/domain/"));
  expect(values.filter((file) => /^import /m.test(readFileSync(file, "utf8")))).toEqual([]);
});

test("the walk itself sees static imports and skips types and dynamic ones", () => {
  const setup = loaded(resolve(src, "cli/commands/setup.ts"));
  expect([...setup.files].some((file) => file.endsWith("cli/arguments.ts"))).toBe(true);
  expect([...setup.files].some((file) => file.includes("/setup/"))).toBe(false);
  expect(existsSync(resolve(src, "cli/setup/install.ts"))).toBe(true);
});
