/** Commands as processes: on a home of their own whose name has a blank, an apostrophe and no ASCII, with an environment that has almost nothing. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const main = resolve(import.meta.dir, "../../../src/main.ts");
/** A process is killed after it; a test starts several. A busy machine needs far longer than a quiet one. */
const PATIENCE_MS = 60_000;
const TEST_MS = 240_000;
let base: string;
let home: string;

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), "mi-cli-system-"));
  home = join(base, "Jane D'Oé 项目 & 100%");
  mkdirSync(home);
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(command: readonly string[], env: Record<string, string> = {}, input?: string): Promise<Ended> {
  const child = Bun.spawn([...command], {
    cwd: base,
    env: { HOME: home, LANG: "C", BUN_RUNTIME_TRANSPILER_CACHE_PATH: join(base, "transpiled"), ...env },
    stdin: input === undefined ? "ignore" : new TextEncoder().encode(input),
    stdout: "pipe",
    stderr: "pipe",
    timeout: PATIENCE_MS,
    killSignal: "SIGKILL",
  });
  const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  return { code, out, err };
}

const cli = (...words: string[]) => run([process.execPath, main, ...words]);

describe("commands of a person", () => {
  test(
    "a setting that cannot be used is said once, with its name, its value and what was wanted",
    async () => {
      for (const words of [
        ["migrate", "--status"],
        ["search", "nothing", "--json"],
      ]) {
        const { err } = await run([process.execPath, main, ...words], {
          CUBA_MODE: "foo",
          CUBA_DATA_DIR: join(base, "nowhere"),
          CUBA_DB: "",
        });
        expect(err.split("CUBA_MODE=foo is not usable: wanted one of local, red, completo")).toHaveLength(2);
      }
    },
    TEST_MS,
  );

  test(
    "a memory is saved, deleted with an undo file, and brought back, each by a process of its own",
    async () => {
      const saved = await cli("save", "网关 gateway", "escucha en 9090, 端口");
      expect(saved).toMatchObject({ code: 0 });
      const id = /id +(\S+)/.exec(saved.out)?.[1] ?? "";
      const plan = await cli("delete", id);
      expect(plan.out).toContain("网关 gateway (fact)");
      expect(plan.out).toContain("escucha en 9090, 端口");
      expect((await cli("delete", id, "--apply")).code).toBe(0);
      expect((await cli("delete", id)).err).toContain("not found");
      const undo = join(home, ".cache", "memory-industry", "undo", `obs-${id}.json`);
      expect(JSON.parse(readFileSync(undo, "utf8")).observation.content).toBe("escucha en 9090, 端口");
      expect((await cli("delete", "--undo", id, "--apply")).out).toContain(id);
      expect(existsSync(undo)).toBe(false);
      expect((await cli("delete", id)).out).toContain("escucha en 9090");
      // The same text is known, so the row is really back.
      expect((await cli("save", "网关 gateway", "escucha en 9090, 端口")).out).toContain(`Known already as ${id}`);
    },
    TEST_MS,
  );

  test(
    "a search in a project that is not there says so and makes none",
    async () => {
      const { code, err } = await cli("search", "9090", "--project", "no-such-project");
      expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining("Project 'no-such-project' not found") });
      expect((await cli("search", "9090", "-p", "no-such-project")).code).toBe(1);
    },
    TEST_MS,
  );

  test(
    "search finds it again; --json is one JSON value on standard output, whatever the log level",
    async () => {
      expect((await cli("search", "qué", "puerto", "9090")).out).toContain("网关 gateway (fact)");
      const { code, out } = await run([process.execPath, main, "search", "端口", "--json"], { MEMORY_INDUSTRY_LOG: "debug" });
      const answer = JSON.parse(out);
      expect([code, answer.results[0].content]).toEqual([0, "escucha en 9090, 端口"]);
      expect(answer.degraded).toBe(true);
    },
    TEST_MS,
  );

  test(
    "a reader that stops early (`search … | head`) is no failure, and the command says nothing of it",
    async () => {
      const piped = await run(["/bin/sh", "-c", '"$1" "$2" search 9090 | true', "sh", process.execPath, main]);
      expect(piped).toMatchObject({ code: 0, out: "", err: expect.not.stringContaining("EPIPE") });
    },
    TEST_MS,
  );

  test(
    "doctor --json is one JSON value on standard output, whatever the log level, and healthy",
    async () => {
      const { code, out } = await run([process.execPath, main, "doctor", "--json"], {
        MEMORY_INDUSTRY_LOG: "debug",
        CUBA_RANDOM_PAGE_COST: "50",
      });
      const report = JSON.parse(out);
      expect([code, report.healthy]).toEqual([0, true]);
      const configuration = report.checks.find(({ name }: { name: string }) => name === "configuration");
      expect(configuration).toMatchObject({ status: "warn" });
      expect(configuration.detail).toContain("CUBA_RANDOM_PAGE_COST=50");
    },
    TEST_MS,
  );

  test(
    "with a database nobody answers for, doctor still reports, says so and ends with 1; version and help do not care",
    async () => {
      const dead = { DATABASE_URL: "postgres://me:hunter2secret@127.0.0.1:9/x" };
      const { code, out, err } = await run([process.execPath, main, "doctor", "--json"], dead);
      const report = JSON.parse(out);
      expect([code, report.healthy]).toEqual([1, false]);
      expect(report.checks.find(({ name }: { name: string }) => name === "connection").status).toBe("fail");
      expect(out + err).not.toContain("hunter2secret");
      expect(await run([process.execPath, main, "--version"], dead)).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^memory-industry \d+\.\d+\.\d+\n$/),
        err: "",
      });
      expect(await run([process.execPath, main, "save", "--help"], dead)).toMatchObject({ code: 0, err: "" });
    },
    TEST_MS,
  );

  test(
    "without a home directory a write says what to set, and nothing appears",
    async () => {
      const nowhere = join(base, "homeless");
      mkdirSync(nowhere);
      const child = Bun.spawn([process.execPath, main, "save", "a", "b"], {
        cwd: nowhere,
        env: { BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" },
        stdout: "pipe",
        stderr: "pipe",
      });
      const [err, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
      expect(code).toBe(1);
      expect(err).toContain("HOME and USERPROFILE are both unset");
      expect([...new Bun.Glob("**").scanSync({ cwd: nowhere, dot: true })]).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "mode red without a database provisions nothing",
    async () => {
      const empty = join(base, "red");
      const { code, err } = await run([process.execPath, main, "save", "a", "b"], { HOME: empty, CUBA_MODE: "NUBE" });
      expect(code).toBe(1);
      expect(err).toContain("needs DATABASE_URL; nothing was created");
      expect(existsSync(empty)).toBe(false);
    },
    TEST_MS,
  );
});

describe("what setup writes works", () => {
  test(
    "the command in the client's file answers a client, and removing it leaves no trace",
    async () => {
      const file = join(home, ".cursor", "mcp.json");
      mkdirSync(join(home, ".cursor"));
      writeFileSync(file, '{\n  // mine\n  "mcpServers": {}\n}\n');
      expect(await cli("setup", "cursor", "--apply")).toMatchObject({ code: 0 });
      const { command, args, env } = JSON.parse(readFileSync(file, "utf8").replace("// mine", "")).mcpServers["memory-industry"];
      const call = { jsonrpc: "2.0", id: "one", method: "tools/call", params: { name: "cuba_whoami", arguments: {} } };
      // One process, no shared daemon: what a client's own process does is tested elsewhere.
      const answer = await run([command, ...args], { ...env, MEMORY_INDUSTRY_DAEMON: "off" }, JSON.stringify(call));
      expect(JSON.parse(answer.out)).toMatchObject({ id: "one", result: { content: [{ type: "text" }] } });
      expect((await cli("setup", "remove", "--apply")).code).toBe(0);
      expect(readFileSync(file, "utf8")).toBe('{\n  // mine\n  "mcpServers": {}\n}\n');
      expect([...new Bun.Glob("**").scanSync({ cwd: join(home, ".cursor"), dot: true })]).toEqual(["mcp.json"]);
    },
    TEST_MS,
  );
});

describe("eval", () => {
  test(
    "fills an empty database under the ids of the corpus, measures, and changes nothing by measuring",
    async () => {
      const own = { HOME: join(base, "eval home"), BUN_RUNTIME_TRANSPILER_CACHE_PATH: join(base, "transpiled") };
      mkdirSync(own.HOME);
      const id = (n: number) => `0a000000-0000-4000-8000-00000000000${n}`;
      const corpus = join(base, "corpus.jsonl");
      const questions = join(base, "questions.jsonl");
      const facts = ["The gateway listens on port 9090", "Redis is our cache", "El informe se envía los lunes"];
      writeFileSync(corpus, facts.map((content, n) => JSON.stringify({ id: id(n), entity: `e${n}`, content })).join("\n"));
      writeFileSync(
        questions,
        ["which port does the gateway use", "what is the cache", "cuándo se envía el informe"]
          .map((query, n) => JSON.stringify({ query, relevant_ids: [id(n)] }))
          .join("\n"),
      );
      const evaluate = (...words: string[]) => run([process.execPath, main, "eval", ...words], own);
      const first = await evaluate("--load", corpus, "--dataset", questions, "--lexical-only", "--json");
      expect(first).toMatchObject({ code: 0 });
      const report = JSON.parse(first.out);
      expect(report.metrics).toMatchObject({ sample_count: 3, ndcg_at_k: 1, missing_relevant_ids: 0, scored_by_id: true });
      // The same questions again: had measuring counted accesses, the order could move.
      expect(JSON.parse((await evaluate("--dataset", questions, "--lexical-only", "--json")).out).metrics.per_query_ndcg).toEqual([
        1, 1, 1,
      ]);
      const again = await evaluate("--load", corpus);
      expect([again.code, again.out]).toEqual([1, ""]);
      expect(again.err).toContain("Nothing was loaded");
      // Without a model and without saying so, nothing is measured.
      expect((await evaluate("--dataset", questions)).err).toContain("--lexical-only");
    },
    TEST_MS,
  );
});
