import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openAssets } from "../../../src/app/assets.ts";
import { createSourceParser } from "../../../src/parsing/parser.ts";
import { readTree } from "../../../src/services/codegraph/read.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "mi-read-tree-"));
  await writeFile(join(directory, "a.ts"), "export function first() { second(); }\n");
  await writeFile(join(directory, "b.ts"), "export function second() {}\n");
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const options = () => ({ directory, languages: ["typescript"], signal: new AbortController().signal }) as const;

test("a file that cannot be parsed is passed over, and the others are read", async () => {
  const parser = await createSourceParser(openAssets(undefined).grammars);
  const picky: typeof parser = {
    parse: (source, kind) => (source.includes("second() {}") ? Promise.reject(new Error("no tree")) : parser.parse(source, kind)),
  };
  const tree = await readTree(picky, options());
  expect(tree.symbols.map(({ name }) => name)).toEqual(["a.ts::first"]);
  expect(tree.skipped).toEqual([["b.ts", "cannot be parsed"]]);
});

test("a grammar that does not load is said, in place of a tree without files", async () => {
  const { runtime } = openAssets(undefined).grammars;
  const parser = await createSourceParser({ runtime, grammar: async () => Uint8Array.of(1, 2, 3) });
  await expect(readTree(parser, options())).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("The grammar of typescript inside this program does not load"),
  });
});
