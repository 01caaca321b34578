/** Where the worker's code is, from source and in the compiled program. */
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Virtual root of the files inside a program compiled by Bun: `/$bunfs/root`, on Windows `B:\~BUN\root`. */
const EMBEDDED_ROOT = /^(.*[\\/](?:\$bunfs|~BUN)[\\/]root)[\\/]/;
/**
 * `bun build --compile src/main.ts src/inference/onnx/worker.ts` keeps the second entry under its path below the common directory of all entries, which is
 * `src`, or the repository where the build has entries outside it.
 */
const EMBEDDED_AT = ["inference/onnx/worker.js", "src/inference/onnx/worker.js"];

/** @throws Error in a program that was compiled without the worker among its entry points. */
export function workerEntry(): string | URL {
  const root = EMBEDDED_ROOT.exec(Bun.main)?.[1];
  if (root === undefined) return new URL("./worker.ts", import.meta.url);
  const found = EMBEDDED_AT.map((path) => join(root, path)).find((path) => existsSync(path));
  if (found === undefined)
    throw new Error("this program was built without its embedding worker (src/inference/onnx/worker.ts as an entry point)");
  return found;
}
