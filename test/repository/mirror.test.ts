/** `test/` mirrors `src/`: whoever changes a folder of one knows where its tests are. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const root = resolve(import.meta.dir, "../..");
/** What stands beside the code, or tests the whole of it. */
const BESIDE = ["bench", "repository", "requirements", "support", "system"];

test("every folder of tests is a folder of the code", () => {
  const files = [...new Bun.Glob("**/*.test.ts").scanSync({ cwd: join(root, "test") })].map((file) => file.replaceAll("\\", "/"));
  const mirrored = new Set(files.filter((file) => !BESIDE.includes(file.split("/")[0] ?? "")).map((file) => dirname(file)));
  expect(mirrored.size).toBeGreaterThan(BESIDE.length);
  expect([...mirrored].filter((folder) => !existsSync(join(root, "src", folder)))).toEqual([]);
});
