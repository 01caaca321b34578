/** Real models and texts that lie outside the repository; tests that use them skip where they are not. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";

/** The shared folder, or undefined where there is none: `MEMORY_INDUSTRY_SHARED`, else `../shared` beside the repository. */
export function sharedDirectory(): string | undefined {
  const candidates = [
    process.env.MEMORY_INDUSTRY_SHARED,
    resolve(import.meta.dir, "../../../shared"),
    resolve(import.meta.dir, "../../../../shared"),
  ];
  return candidates.find((path) => path !== undefined && existsSync(path));
}
