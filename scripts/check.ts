/** `npm run check`: types, format and lint, layers and sizes, dead code. Exit 1 when one of them fails, with what it said. */
import { allChecks, runCheck } from "./checks.ts";

const results = [];
for (const check of allChecks) results.push(await runCheck(check));
const failed = results.filter((result) => !result.passed);
for (const { check, output } of failed) console.log(`\n--- ${check.name}\n${output.trim()}`);
console.log(`\n${results.length - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length === 0 ? 0 : 1;
