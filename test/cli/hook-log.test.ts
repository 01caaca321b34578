import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hookLogOf, noteHookFailure, readHookFailures } from "../../src/cli/hook-log.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "mi-hook-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test("keeps the failures of hooks, shows the newest first, and stays small", () => {
  const file = hookLogOf(join(directory, "data"));
  expect(readHookFailures(file, 3)).toEqual([]);
  for (let at = 0; at < 2_000; at++) noteHookFailure(file, `reason ${at}`, new Date(at));
  expect(statSync(file).size).toBeLessThan(64 * 1024 + 100);
  expect(readHookFailures(file, 2).map(({ reason }) => reason)).toEqual(["reason 1999", "reason 1998"]);
  if (process.platform !== "win32") expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("a line that was cut, and a place that cannot be written, disturb nobody", () => {
  const file = join(directory, "hook.log");
  writeFileSync(file, '{"at":"2026-01-01T00:00:00Z","reason":"one"}\n{"at":"2026');
  expect(readHookFailures(file, 5)).toEqual([{ at: "2026-01-01T00:00:00Z", reason: "one" }]);
  expect(() => noteHookFailure(join(file, "below", "hook.log"), "x", new Date())).not.toThrow();
});
