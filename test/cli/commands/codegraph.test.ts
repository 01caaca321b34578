/** `codegraph build`: what it reads, what it hands over, and what it says. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCli } from "../../../src/cli/run.ts";
import { fakeHost, type Sent } from "../fake-host.ts";

/** A host whose working directory holds two files; what arrives at the owner is put together again. */
function hostWithSources() {
  const pieces: Record<string, unknown>[] = [];
  const host = fakeHost({
    answer: ({ method, params }: Sent) => {
      if (method.startsWith("owner/codegraph")) pieces.push(params);
      return method === "owner/codegraph"
        ? { symbols: 2, added: 2, rewritten: 0, removed: 1, calls: 1, imports: 1 }
        : { pieces: pieces.length };
    },
  });
  mkdirSync(join(host.home, "src"));
  writeFileSync(join(host.home, "src", "a.ts"), 'import "b";\nexport function one() { two(); }\nfunction two() {}\n');
  writeFileSync(join(host.home, "src", "c.py"), "def three(): pass\n");
  return { host, tree: () => Object.assign({}, ...pieces) as Record<string, unknown> };
}

test("a dry run reads, counts and opens no database", async () => {
  const { host } = hostWithSources();
  expect(await runCli(["codegraph", "build", "--dry-run", "--json"], host)).toBe(0);
  expect(JSON.parse(host.out())).toEqual({
    action: "codegraph_build",
    dry_run: true,
    files_parsed: 2,
    files_skipped: [],
    symbols_found: 3,
    call_edges_resolved: 1,
    import_statements: 1,
  });
  expect([host.life, host.sent]).toEqual([[], []]);
});

test("the tree goes to the owner, for the repository at the path", async () => {
  const { host, tree } = hostWithSources();
  expect(await runCli(["codegraph", "build", "--path", "src", "--lang", "ts", "--json"], host)).toBe(0);
  expect(host.life).toEqual([`open - ${join(host.home, "src")}`, "drain"]);
  expect(tree()).toMatchObject({ files: ["a.ts"], languages: ["typescript"], calls: [{ from: "a.ts::one", to: "a.ts::two" }] });
  expect(host.sent.map(({ method, params }) => [method, params.owns])).toEqual([
    ...["files", "symbols", "calls", "imports"].map(() => ["owner/codegraph-piece", undefined]),
    ["owner/codegraph", true],
  ]);
  // Storing takes most of the time: its progress is asked for.
  expect(host.sent.at(-1)?.params._meta).toEqual({ progressToken: "owner/codegraph" });
  expect(JSON.parse(host.out())).toMatchObject({
    symbols_written: 2,
    symbols_removed: 1,
    call_edges_written: 1,
    import_edges_attempted: 1,
  });
});

test("a named project is that one, and its tree is not taken for the repository's", async () => {
  const { host } = hostWithSources();
  expect(await runCli(["codegraph", "build", "--project", "shop"], host)).toBe(0);
  expect(host.life).toEqual([`open shop ${host.home}`, "drain"]);
  expect(host.sent.at(-1)?.params.owns).toBe(false);
  expect(host.out()).toContain("In the graph: 2 definitions of 2 files, 2 new, 0 moved or changed, 1 gone.");
});

test("a directory without source takes no graph away", async () => {
  const { host } = hostWithSources();
  mkdirSync(join(host.home, "empty"));
  expect(await runCli(["codegraph", "build", "--path", "empty"], host)).toBe(0);
  expect(host.out()).toContain("nothing was written");
  expect(host.sent).toEqual([]);
});

test("an unknown language, another action and a directory that is not there are refused", async () => {
  const { host } = hostWithSources();
  expect(await runCli(["codegraph", "build", "--lang", "rust,cobol"], host)).toBe(2);
  expect(host.err()).toContain("--lang must be one or more of typescript, javascript, go, rust, python");
  expect(await runCli(["codegraph", "destroy"], host)).toBe(2);
  expect(await runCli(["codegraph"], host)).toBe(2);
  expect(await runCli(["codegraph", "build", "--path", "nowhere"], host)).toBe(1);
  expect(host.sent).toEqual([]);
});
