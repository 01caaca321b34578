/** Nothing lies at the top of the repository without a reason; a new name is added here together with that reason in CONTRIBUTING or the architecture. */
import { expect, test } from "bun:test";
import { resolve } from "node:path";

const root = resolve(import.meta.dir, "../..");
const TOP = [
  ".ci",
  ".github",
  ".gitignore",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "LICENSE",
  "README.md",
  "SECURITY.md",
  "bench",
  "biome.json",
  "bun.lock",
  "bunfig.toml",
  "docs",
  "drizzle",
  "knip.json",
  "npm-wrapper",
  "package.json",
  "python-wrapper",
  "scripts",
  "server.json",
  "src",
  "test",
  "tsconfig.json",
];

test("the top of the repository holds what the layout names and nothing else", () => {
  const { stdout, exitCode } = Bun.spawnSync(["git", "ls-files"], { cwd: root });
  expect(exitCode).toBe(0);
  const top = new Set(
    stdout
      .toString()
      .split("\n")
      .filter((file) => file !== "")
      .map((file) => file.split("/")[0] ?? ""),
  );
  expect([...top].sort()).toEqual(TOP);
});
