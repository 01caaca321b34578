import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheFolder, cacheFolderIfAny } from "../../src/app/cache-folder.ts";
import { resolvePaths } from "../../src/config/paths.ts";

const base = mkdtempSync(join(tmpdir(), "mi-cache-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));
const pathsOf = (home: string | undefined, dataDir?: string) =>
  resolvePaths({ HOME: home }, { platform: "linux", workingDirectory: base }, { dataDir });

test("a home that takes files keeps what can be made again, whether the folder is there or not", () => {
  const home = join(base, "home");
  mkdirSync(home);
  expect(cacheFolder(pathsOf(home, join(base, "data")))).toBe(join(home, ".cache", "memory-industry"));
  expect(cacheFolder(pathsOf(home))).toBe(join(home, ".cache", "memory-industry"));
});

test("with a home that is read-only, no folder or not there the data directory keeps it", () => {
  const data = join(base, "data");
  const file = join(base, "a file");
  writeFileSync(file, "");
  expect(cacheFolder(pathsOf(file, data))).toBe(join(data, "cache"));
  expect(cacheFolder(pathsOf(undefined, data))).toBe(join(data, "cache"));
  if (process.getuid?.() === 0) return; // root writes everywhere but on a read-only file system
  const locked = join(base, "locked");
  mkdirSync(locked);
  chmodSync(locked, 0o500);
  expect(cacheFolder(pathsOf(locked, data))).toBe(join(data, "cache"));
});

test("with neither there is no place, and that is said", () => {
  expect(() => cacheFolder(pathsOf(undefined))).toThrow("No home directory");
  expect(cacheFolderIfAny(pathsOf(undefined))).toBeUndefined();
});
