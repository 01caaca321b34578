/** Past 400 lines a file holds two subjects; the second one has a name. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dir, "../..");
const MOST_LINES = 400;

test("no source file is longer than 400 lines", () => {
  const files = [...new Bun.Glob("{src,scripts,test,bench}/**/*.ts").scanSync({ cwd: root })];
  const long = files
    .map((file) => ({ file, lines: readFileSync(join(root, file), "utf8").split("\n").length }))
    .filter(({ lines }) => lines > MOST_LINES)
    .map(({ file, lines }) => `${file}: ${lines} lines`);
  expect(files.length).toBeGreaterThan(10);
  expect(long).toEqual([]);
});
