/** The checks that need no test runner: types, format and lint, dead code. The layer and size rules are tests (test/repository). */
import { bunx, run } from "./run.ts";

export interface Check {
  readonly name: string;
  readonly command: readonly string[];
}

const LIMIT_MS = 5 * 60_000;

const types: Check = { name: "types (tsc)", command: bunx("typescript/bin/tsc", "--noEmit", "-p", ".") };
const style: Check = {
  name: "format and lint (biome)",
  command: bunx("@biomejs/biome/bin/biome", "check", "--diagnostic-level=error", "--max-diagnostics=100"),
};
const layers: Check = { name: "layers and sizes", command: [process.execPath, "test", "test/repository"] };
const deadCode: Check = { name: "dead code (knip)", command: bunx("knip/bin/knip.js", "--no-progress") };

const generated: Check = { name: "generated files (gen --check)", command: [process.execPath, "run", "scripts/gen.ts", "--check"] };

/** What must hold at every commit; part of `npm test`. */
export const lightChecks: readonly Check[] = [types, style, generated];
/** Everything `npm run check` looks at. */
export const allChecks: readonly Check[] = [types, style, layers, generated, deadCode];

export interface CheckResult {
  readonly check: Check;
  readonly passed: boolean;
  readonly output: string;
}

export async function runCheck(check: Check): Promise<CheckResult> {
  const { exitCode, output, timedOut } = await run(check.command, { limitMs: LIMIT_MS, quiet: true });
  const passed = exitCode === 0 && !timedOut;
  console.log(`${passed ? "ok    " : "FAILED"}  ${check.name}${timedOut ? ` (over ${LIMIT_MS / 1_000} s)` : ""}`);
  return { check, passed, output };
}
