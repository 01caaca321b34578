/** Which files of a directory are source: of a repository what git shows, elsewhere a walk. */
import { afterEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findSources } from "../../../src/services/codegraph/files.ts";

const made: string[] = [];
afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
});

function tree(files: Readonly<Record<string, string>>, isRepository: boolean): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "mi-code-")));
  made.push(root);
  if (isRepository) expect(Bun.spawnSync(["git", "init", "-q", root]).exitCode).toBe(0);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

const files = {
  "src/a.ts": "",
  "src/deep/b.py": "",
  "node_modules/x/index.js": "",
  "target/debug.rs": "",
  "dist/out.js": "",
  "README.md": "",
  "ignored/c.go": "",
  ".gitignore": "ignored/\n",
};

test("a repository shows what git does not ignore, from its top, also below a directory of it", async () => {
  const root = tree(files, true);
  symlinkSync(join(root, "src/a.ts"), join(root, "src/link.ts"));
  symlinkSync("/", join(root, "everything"));
  const all = await findSources(root);
  expect(all.files.map(({ path }) => path)).toEqual(["src/a.ts", "src/deep/b.py"]);
  expect(all.skipped).toEqual([
    ["everything", "a symbolic link"],
    ["src/link.ts", "a symbolic link"],
  ]);
  const below = await findSources(join(root, "src/deep"));
  expect([below.root, below.under, below.files.map(({ path }) => path)]).toEqual([root, "src/deep/", ["src/deep/b.py"]]);
});

test("without git everything is walked but what others made, and no link is followed", async () => {
  const root = tree(files, false);
  symlinkSync(root, join(root, "loop"));
  const { files: found, skipped, under } = await findSources(root);
  expect(found.map(({ path }) => path)).toEqual(["ignored/c.go", "src/a.ts", "src/deep/b.py"]);
  expect([skipped, under]).toEqual([[["loop", "a symbolic link"]], ""]);
});

test("what is too large to have been written by people is named", async () => {
  const root = tree({ "big.js": "x".repeat(1_000_001), "small.js": "" }, false);
  const { files: found, skipped } = await findSources(root);
  expect(found.map(({ path }) => path)).toEqual(["small.js"]);
  expect(skipped).toEqual([["big.js", "larger than 1000000 bytes"]]);
});

test("a directory that is not there is refused", () => {
  expect(findSources("/nowhere/at/all")).rejects.toThrow(/directory '\/nowhere\/at\/all' not found/i);
});
