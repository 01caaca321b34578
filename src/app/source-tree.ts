/** Reading a source tree with the parsers that the program carries. */
import { createSourceParser } from "../parsing/parser.ts";
import { type ReadOptions, readTree, type SourceTree } from "../services/codegraph/read.ts";
import { openAssets } from "./assets.ts";

export const readSourceTree = async (options: ReadOptions): Promise<SourceTree> =>
  await readTree(await createSourceParser(openAssets().grammars), options);
