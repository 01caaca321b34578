/** Directories for tests that leave nothing behind. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];

/** A directory of its own; gone when the tests of the process have run (`test/preload.ts`). An `afterAll` here would count for the first file alone that loads this. */
export function temporaryDirectory(name: string): string {
  const directory = mkdtempSync(join(tmpdir(), `mi-${name}-`));
  made.push(directory);
  return directory;
}

export function removeTemporary(): void {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
}
