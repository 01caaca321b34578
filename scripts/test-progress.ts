/** How far `bun test` has come, for whoever watches a pipe: a plain line now and then, and each failure by its name when it happens. */

export interface TestProgress {
  /** Takes output as it comes. */
  take(text: string): void;
  /** `1204 passed, 1 failed so far; 214 of 640 files, 3 min`. */
  line(): string;
}

const MINUTE_MS = 60_000;

/** @param files how many there are to come; @param say shows a line at once */
export function createTestProgress(
  files: number,
  { now, say }: { readonly now: () => number; readonly say: (line: string) => void },
): TestProgress {
  const startedAt = now();
  const seen = new Set<string>();
  let passed = 0;
  let failed = 0;
  let rest = "";
  let isSummary = false;
  const read = (line: string) => {
    // At its end Bun names every failure once more.
    isSummary ||= /^\d+ tests? failed:$/.test(line);
    if (isSummary) return;
    const file = /^(\S+\.test\.ts):$/.exec(line)?.[1];
    if (file !== undefined) seen.add(file);
    else if (line.startsWith("(pass) ")) passed++;
    else if (line.startsWith("(fail) ")) {
      failed++;
      say(line);
    }
  };
  return {
    take(text) {
      const lines = (rest + text).split(/\r?\n/);
      rest = lines.pop() ?? "";
      for (const line of lines) read(line);
    },
    // Not "N passed, N failed" at the end of the line: by that the result is found.
    line: () =>
      `${passed} passed, ${failed} failed so far; ${seen.size} of ${files} files, ${Math.floor((now() - startedAt) / MINUTE_MS)} min`,
  };
}
