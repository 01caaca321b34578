/** What the documents mention is there: files of the repository, npm scripts, commands of the program. Decisions are told apart by their number. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { scripts } from "../../package.json" with { type: "json" };
import { commands } from "../../src/cli/registry.ts";

const root = resolve(import.meta.dir, "../..");
const documents = ["*.md", "docs/**/*.md", "bench/**/*.md", "npm-wrapper/**/*.md", "python-wrapper/**/*.md"]
  .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync({ cwd: root })])
  // A decision is of its day: what it names may have moved since.
  .filter((file) => !file.includes("node_modules") && !file.startsWith("docs/decisions/"))
  .sort();

/** Top-level folders whose files a document may name. */
const PLACES = /^(src|test|scripts|docs|drizzle|bench|npm-wrapper|python-wrapper|\.ci|\.github)\//;
/** Made by a build, or a pattern rather than a file. */
const NOT_A_FILE = /[<>*{}]|NAME|…/;

const quoted = (text: string) => [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);

describe.each(documents.map((file) => [file, readFileSync(join(root, file), "utf8")] as const))("%s", (_file, text) => {
  test("names only files that exist", () => {
    const named = quoted(text).filter((code) => PLACES.test(code) && !code.includes(" ") && !NOT_A_FILE.test(code));
    // A decision is often named by its number alone.
    const missing = named.filter((path) => !existsSync(join(root, path)) && !/^docs\/decisions\/\d{4}$/.test(path));
    expect(missing).toEqual([]);
  });

  test("names only npm scripts and commands that exist", () => {
    const npm = quoted(text).flatMap((code) => [...code.matchAll(/\bnpm run ([a-z:-]+)/g)].map(([, name = ""]) => name));
    expect(npm.filter((name) => !Object.keys(scripts).includes(name))).toEqual([]);
    const words = new Set(commands.map(({ name }) => name));
    const called = quoted(text).flatMap((code) => [...code.matchAll(/^memory-industry ([a-z-]+)/g)].map(([, name = ""]) => name));
    expect(called.filter((name) => !words.has(name))).toEqual([]);
  });
});

test("each decision has a number of its own, and its title has the same", () => {
  const folder = join(root, "docs/decisions");
  const files = readdirSync(folder).sort();
  const numbers = files.map((file) => file.slice(0, 4));
  expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([]);
  const mistitled = files.filter((file) => !readFileSync(join(folder, file), "utf8").startsWith(`# ${file.slice(0, 4)}`));
  expect(mistitled).toEqual([]);
});

test("the words after npm test in CONTRIBUTING find test files", () => {
  const files = [...new Bun.Glob("test/**/*.test.ts").scanSync({ cwd: root })].map((file) => file.replaceAll("\\", "/"));
  const asked = quoted(readFileSync(join(root, "CONTRIBUTING.md"), "utf8")).flatMap((code) =>
    (code.match(/^npm test -- (.+)$/)?.[1] ?? "").split(" ").filter((word) => word !== ""),
  );
  expect(asked).toContain("tools/");
  expect(asked.filter((word) => !files.some((file) => file.includes(word)))).toEqual([]);
});

test("there are documents to read", () => {
  expect(documents).toContain("README.md");
  expect(documents).toContain("CONTRIBUTING.md");
  expect(documents).toContain("SECURITY.md");
});
