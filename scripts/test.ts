/**
 * `npm test`: types and lint, then every test but test/system, then the system tests one after another.
 *   --system     the system tests only (`npm run test:system`)
 *   --postgres   every test that can run on a server, on PostgreSQL (`npm run test:pg`): the one of MEMORY_INDUSTRY_TEST_PG (an admin URL),
 *                else a throw-away cluster of scripts/postgres.sh
 *   PATTERN …    only the test files whose path contains one of them
 * How far it has come is said every half minute. What tests leave in their temporary directory is a failure too. Failures are printed last, and after them one line `N passed, N failed`. Exit 1 when anything failed.
 */
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { lightChecks, runCheck } from "./checks.ts";
import { readJunit, type TestFailure } from "./junit.ts";
import { root, run } from "./run.ts";
import { createTestProgress } from "./test-progress.ts";

/** The name of the variable by which tests find a PostgreSQL server. */
const SERVER_VARIABLE = "MEMORY_INDUSTRY_TEST_PG";
const SYSTEM_TESTS = "test/system/";
/** Two cores is what CI has; each worker is a process of its own, so that a crash is one failure and not the end. */
const WORKERS = 2;
/** Per test, unless it names its own: an embedded database opens in 0.5 s alone and in several seconds on a busy machine. */
const TEST_TIMEOUT_MS = 60_000;
const UNIT_LIMIT_MS = 25 * 60_000;
const SYSTEM_LIMIT_MS = 20 * 60_000;
const LAST_LINES = 60;
/** Often enough that nobody takes the run for a hanging one, rarely enough for a log. */
const PROGRESS_MS = 30_000;

interface Outcome {
  readonly passed: number;
  readonly skipped: number;
  readonly failures: readonly TestFailure[];
}

const args = process.argv.slice(2);
const patterns = args.filter((arg) => !arg.startsWith("--"));

function testFiles(): string[] {
  const files = [...new Bun.Glob("test/**/*.test.ts").scanSync({ cwd: root })].map((file) => file.replaceAll("\\", "/")).sort();
  return patterns.length === 0 ? files : files.filter((file) => patterns.some((pattern) => file.includes(pattern)));
}

/** What a test file, or a helper that it imports, says when it can run on a server. The harness itself offers both engines and does not count. */
const SERVER_WORDS = ["eachEngine", "openTestServerDatabase", SERVER_VARIABLE];
const HARNESS = join(root, "test/support/engines.ts");

/** Found by reading, never listed by hand. */
function usesServer(file: string, seen = new Set<string>([HARNESS])): boolean {
  if (seen.has(file) || !existsSync(file)) return false;
  seen.add(file);
  const text = readFileSync(file, "utf8");
  if (SERVER_WORDS.some((word) => text.includes(word))) return true;
  return [...text.matchAll(/\bfrom "(\.{1,2}\/[^"]+)"/g)].some(([, path = ""]) => {
    const imported = resolve(dirname(file), path);
    return imported.startsWith(join(root, "test")) && usesServer(imported, seen);
  });
}

async function bunTest(
  title: string,
  files: readonly string[],
  limitMs: number,
  workers: number,
  env: Record<string, string>,
): Promise<Outcome> {
  if (files.length === 0) return { passed: 0, skipped: 0, failures: [] };
  console.log(`\n=== ${title}: ${files.length} files`);
  const folder = mkdtempSync(join(tmpdir(), "memory-industry-report-"));
  const report = join(folder, "junit.xml");
  const flags = [`--parallel=${workers}`, `--timeout=${TEST_TIMEOUT_MS}`];
  const command = [
    process.execPath,
    "test",
    ...flags,
    "--reporter=junit",
    `--reporter-outfile=${report}`,
    ...files.map((file) => `./${file}`),
  ];
  const say = (line: string) => console.log(line);
  const progress = createTestProgress(files.length, { now: Date.now, say });
  const timer = setInterval(() => say(progress.line()), PROGRESS_MS);
  const ended = await run(command, { limitMs, env, quiet: true, onText: progress.take }).finally(() => clearInterval(timer));
  const { exitCode, timedOut } = ended;
  const output = ended.output.replace(/^\((?:pass|skip|todo)\) .*\n/gm, "");
  const read = existsSync(report) ? readJunit(readFileSync(report, "utf8")) : { passed: 0, skipped: 0, failures: [] };
  rmSync(folder, { recursive: true, force: true });
  const failures = [...read.failures, ...loadErrors(output)];
  if (timedOut) failures.push({ file: title, name: `did not end within ${limitMs / 60_000} minutes and was stopped`, text: tail(output) });
  else if (exitCode !== 0 && failures.length === 0)
    failures.push({ file: title, name: `bun test ended with ${exitCode}`, text: tail(output) });
  return { ...read, failures };
}

const tail = (text: string): string => text.trim().split("\n").slice(-LAST_LINES).join("\n");

/** A file that does not load has no test case in the report; bun prints it as an error between tests. */
function loadErrors(output: string): TestFailure[] {
  const blocks = output.matchAll(/(?:^|\n)(\S+\.test\.ts):\n+# Unhandled error between tests\n-+\n([\s\S]*?)\n-{20,}/g);
  return [...blocks].map(([, file = "", text = ""]) => ({
    file,
    name: "(the file did not load, or threw between tests)",
    text: text.trim(),
  }));
}

async function lightly(): Promise<Outcome> {
  const results = [];
  for (const check of lightChecks) results.push(await runCheck(check));
  const failed = results.filter((result) => !result.passed);
  return {
    passed: results.length - failed.length,
    skipped: 0,
    failures: failed.map(({ check, output }) => ({ file: "npm run check", name: check.name, text: output.trim() })),
  };
}

/** What our tests and programs call their temporary directories. */
const OURS = /^(?:mi|memory-industry)-/;

/** Runs tests with a temporary directory of their own, which must be empty of ours afterwards. */
async function withoutLeftovers(work: (env: Record<string, string>) => Promise<Outcome[]>): Promise<Outcome[]> {
  const folder = mkdtempSync(join(tmpdir(), "mi-tests-"));
  try {
    const outcomes = await work({ TMPDIR: folder });
    const left = readdirSync(folder).filter((name) => OURS.test(name));
    if (left.length === 0) return outcomes;
    const failure = { file: "temporary directory", name: `${left.length} left behind`, text: left.sort().join("\n") };
    return [...outcomes, { passed: 0, skipped: 0, failures: [failure] }];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function everything(files: readonly string[], env: Record<string, string>): Promise<Outcome[]> {
  const isSystem = (file: string) => file.startsWith(SYSTEM_TESTS);
  const where = env[SERVER_VARIABLE] === undefined ? "" : " on PostgreSQL";
  const unit = args.includes("--system") ? [] : files.filter((file) => !isSystem(file));
  return await withoutLeftovers(async (place) => [
    await bunTest(`tests${where}`, unit, UNIT_LIMIT_MS, WORKERS, { ...env, ...place }),
    await bunTest(`system tests${where}`, files.filter(isSystem), SYSTEM_LIMIT_MS, 1, { ...env, ...place }),
  ]);
}

/** Lends a server for the time of `work`: the named one, else a cluster of our own that is gone afterwards, whatever happens. */
async function withServer(work: (url: string) => Promise<Outcome[]>): Promise<Outcome[]> {
  const named = process.env[SERVER_VARIABLE];
  if (named !== undefined && named !== "") return await work(named);
  const folder = mkdtempSync(join(tmpdir(), "mi-pg-"));
  chmodSync(folder, 0o755);
  const script = join(root, "scripts", "postgres.sh");
  const started = Bun.spawnSync([script, "start", folder], { stdout: "pipe", stderr: "inherit" });
  try {
    if (started.exitCode === 0) return await work(started.stdout.toString().trim());
    return [
      {
        passed: 0,
        skipped: 0,
        failures: [
          {
            file: "scripts/postgres.sh start",
            name: "no PostgreSQL to test on",
            text: "run scripts/postgres.sh install, or set MEMORY_INDUSTRY_TEST_PG",
          },
        ],
      },
    ];
  } finally {
    Bun.spawnSync([script, "stop", folder], { stdout: "inherit", stderr: "inherit" });
    rmSync(folder, { recursive: true, force: true });
  }
}

function close(outcomes: readonly Outcome[]): void {
  const sum = (of: (outcome: Outcome) => number) => outcomes.reduce((total, outcome) => total + of(outcome), 0);
  const failures = outcomes.flatMap((outcome) => outcome.failures);
  if (failures.length > 0) console.log("\n=== failures");
  for (const { file, name, text } of failures) console.log(`\n✗ ${file}: ${name}\n${text.replace(/^/gm, "    ")}`);
  const skipped = sum((outcome) => outcome.skipped);
  if (skipped > 0) console.log(`\n${skipped} skipped or known gaps`);
  console.log(`\n${sum((outcome) => outcome.passed)} passed, ${failures.length} failed`);
  process.exitCode = failures.length === 0 ? 0 : 1;
}

const files = testFiles();
if (files.length === 0) {
  close([{ passed: 0, skipped: 0, failures: [{ file: "test", name: "no test file matches", text: patterns.join(" ") }] }]);
} else if (args.includes("--postgres")) {
  const onServer = files.filter((file) => usesServer(join(root, file)));
  // No test at all would look like success.
  const none: Outcome = {
    passed: 0,
    skipped: 0,
    failures: [{ file: "test", name: "no test file looks for a server", text: SERVER_VARIABLE }],
  };
  close(
    onServer.length === 0
      ? [none]
      : await withServer((url) => everything(onServer, { [SERVER_VARIABLE]: url, MEMORY_INDUSTRY_TEST_ENGINES: "postgres" })),
  );
} else {
  const checks = patterns.length > 0 || args.includes("--system") ? [] : [await lightly()];
  close([...checks, ...(await everything(files, {}))]);
}
