import { afterAll, expect, test } from "bun:test";
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { embeddedFolder, writeFolderOnce, writeOnce } from "../../src/kernel/embedded.ts";

const work = mkdtempSync(join(tmpdir(), "memory-industry-embedded-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

test("the embedded folder is found from any module inside a compiled program, and not from source", () => {
  expect(embeddedFolder("/$bunfs/root")).toBe("/$bunfs/root/assets");
  expect(embeddedFolder("/$bunfs/root/src/inference/onnx")).toBe("/$bunfs/root/assets");
  expect(embeddedFolder("/home/ana/memory/src/kernel")).toBeUndefined();
  expect(embeddedFolder("/home/ana/$bunfsx/root")).toBeUndefined();
});

test("a file is written whole, for the owner only, and not again", () => {
  const source = join(work, "source");
  const target = join(work, "cache", "1.0", "file");
  writeFileSync(source, "twelve bytes");
  expect(writeOnce(source, target)).toBe(target);
  expect(readFileSync(target, "utf8")).toBe("twelve bytes");
  if (process.platform !== "win32") {
    expect(statSync(target).mode & 0o777).toBe(0o700);
    expect(statSync(join(work, "cache")).mode & 0o777).toBe(0o700);
  }
  utimesSync(target, 1, 1);
  writeOnce(source, target);
  expect(statSync(target).mtimeMs).toBe(1_000);
});

test("a file of another size under the final name is replaced, and no half file stays behind", () => {
  const source = join(work, "whole");
  const target = join(work, "broken", "file");
  writeFileSync(source, "whole text");
  mkdirSync(join(work, "broken"));
  writeFileSync(target, "whol");
  writeOnce(source, target);
  expect(readFileSync(target, "utf8")).toBe("whole text");
  expect(readdirSync(join(work, "broken"))).toEqual(["file"]);
});

test("a file of the right size whose bytes have changed, or that cannot be read, is written anew; the old one stays whole for whoever has it open", () => {
  const source = join(work, "true");
  const target = join(work, "changed", "file");
  writeFileSync(source, "twelve bytes");
  mkdirSync(join(work, "changed"));
  writeFileSync(target, "twelve bytEs");
  const open = openSync(target, "r");
  writeOnce(source, target);
  expect(readFileSync(target, "utf8")).toBe("twelve bytes");
  expect(readFileSync(open, "utf8")).toBe("twelve bytEs");
  closeSync(open);
  chmodSync(target, 0);
  writeOnce(source, target);
  expect(readFileSync(target, "utf8")).toBe("twelve bytes");
});

test("every file of a folder is written", () => {
  const source = join(work, "library");
  mkdirSync(source);
  writeFileSync(join(source, "b.so"), "b");
  writeFileSync(join(source, "a.node"), "a");
  expect(writeFolderOnce(source, join(work, "out"))).toEqual(["a.node", "b.so"]);
  expect(readdirSync(join(work, "out")).sort()).toEqual(["a.node", "b.so"]);
});
