/** Where the code of a worker is, from source and in the compiled program. */
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Virtual root of the files inside a program compiled by Bun: `/$bunfs/root`, on Windows `B:\~BUN\root`. */
const EMBEDDED_ROOT = /^(.*[\\/](?:\$bunfs|~BUN)[\\/]root)[\\/]/;

/**
 * The entry of `src/<folder>/worker.ts`. The build keeps every worker as an entry point of its own, under its path below the common directory of all entries,
 * which is `src`, or the repository where the build has entries outside it.
 * @param fromSource where it lies when the program runs from source
 * @throws Error in a program that was compiled without it
 */
export function workerEntryOf(folder: string, fromSource: URL): string | URL {
  const root = EMBEDDED_ROOT.exec(Bun.main)?.[1];
  if (root === undefined) return fromSource;
  const found = [`${folder}/worker.js`, `src/${folder}/worker.js`].map((path) => join(root, path)).find((path) => existsSync(path));
  if (found === undefined) throw new Error(`this program was built without a worker (src/${folder}/worker.ts as an entry point)`);
  return found;
}
