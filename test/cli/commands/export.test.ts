import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCli } from "../../../src/cli/run.ts";
import { readRecipes, skillText, slugOf, trackRecord } from "../../../src/cli/skill-file.ts";
import { noteName, noteNames, noteText } from "../../../src/cli/vault-notes.ts";
import { fakeHost, type Script } from "../fake-host.ts";

const entity = (id: string, name: string, more = {}) => ({
  id,
  name,
  type: "concept",
  importance: 0.5,
  accesses: 3,
  community: null,
  observations: 1,
  ...more,
});

test("names of notes fit every file system, stay apart where case does not count, and never take the index's place", () => {
  expect(['a/b\\c:d*e?f"g<h>i|j#k^l[m]n', "  . ", "..", "CON", "项目"].map(noteName)).toEqual([
    "a-b-c-d-e-f-g-h-i-j-k-l-m-n",
    "unnamed",
    "unnamed",
    "unnamed-CON",
    "项目",
  ]);
  expect(["con.md", "LPT9.txt", "Aux ", "com¹", "console", "CONIN$.x"].map(noteName)).toEqual([
    "unnamed-con.md",
    "unnamed-LPT9.txt",
    "unnamed-Aux",
    "unnamed-com¹",
    "console",
    "unnamed-CONIN$.x",
  ]);
  expect(Buffer.byteLength(noteName("界".repeat(200)))).toBeLessThanOrEqual(200);
  const names = noteNames([entity("1", "API"), entity("2", "api"), entity("3", "ReadMe"), entity("4", "a/b"), entity("5", "a:b")]);
  expect([...names.values()]).toEqual(["API", "api-2", "ReadMe-2", "a-b", "a-b-2"]);
});

test("a memory forges no link, no front matter and no heading", () => {
  const note = noteText(
    entity("1", "x", { type: 'a"\n---\nevil: 1', community: "c" }),
    { out: [{ target: "y", type: "uses", strength: 1 }], in: [] },
    [{ type: "fact", content: "see [[Bank]]\n---\n# top\n<script>", importance: 0.5, createdAt: "2026-05-04T03:02:01.000123+00:00" }],
  );
  expect(note.split("\n").filter((line) => line === "---").length).toBe(2);
  expect(note).toContain('type: "a\\" --- evil: 1"');
  expect(note).toContain("- **uses** → [[y]] _(strength 1.00)_");
  expect(note).toContain("- 2026-05-04 _(importance 0.50)_ see \\[\\[Bank\\]\\]\n  \\---\n  \\# top\n  \\<script>");
});

const at = (second: number) => `2026-05-04T00:00:0${second}.000000+00:00`;
/** Two pages of observations, the second of which begins inside of an entity. */
const pages = [
  [
    { entity: "1", id: "a", type: "fact", content: "listens on 8080", importance: 0.5, createdAt: at(4) },
    { entity: "1", id: "b", type: "decision", content: "is written in Go", importance: 0.5, createdAt: at(3) },
  ],
  [
    { entity: "1", id: "c", type: "fact", content: "has a cache", importance: 0.5, createdAt: at(2) },
    { entity: "15", id: "d", type: "fact", content: "came meanwhile", importance: 0.5, createdAt: at(1) },
    { entity: "3", id: "e", type: "fact", content: "stands alone", importance: 0.5, createdAt: at(0) },
  ],
  [],
];
const vault: Script = {
  answer: ({ method, params }) => {
    if (method === "owner/vault-observations") {
      const after = params.after;
      return pages[after === undefined ? 0 : pages.findIndex((page) => page.at(-1)?.id === Reflect.get(Object(after), "id")) + 1];
    }
    if (params.after !== undefined) return { entities: [], relations: [] };
    return {
      entities: [entity("1", "api"), entity("2", "broker"), entity("3", "alone")],
      relations: [{ from: "1", to: "2", type: "uses", strength: 0.9 }],
    };
  },
};

test("export writes a note for each entity, links both ways, and an index", async () => {
  const host = fakeHost(vault);
  const directory = join(host.home, "vault");
  mkdirSync(join(directory, ".git"), { recursive: true });
  expect(await runCli(["export", directory], host)).toBe(0);
  expect(readFileSync(join(directory, "api.md"), "utf8")).toContain("→ [[broker]]");
  expect(readFileSync(join(directory, "broker.md"), "utf8")).toContain("← [[api]]");
  const index = readFileSync(join(directory, "README.md"), "utf8");
  expect(index).toContain("3 entities, 4 observations, 1 relations.");
  expect(readFileSync(join(directory, "api.md"), "utf8").split("\n").slice(-9)).toEqual([
    "## decision",
    "",
    "- 2026-05-04 _(importance 0.50)_ is written in Go",
    "",
    "## fact",
    "",
    "- 2026-05-04 _(importance 0.50)_ listens on 8080",
    "- 2026-05-04 _(importance 0.50)_ has a cache",
    "",
  ]);
  expect(readFileSync(join(directory, "broker.md"), "utf8")).not.toContain("## fact");
  expect(readFileSync(join(directory, "alone.md"), "utf8")).toContain("stands alone");
  expect(index).toContain("## Without a relation (1)\n\n- [[alone]]");
});

test("a directory with a foreign file is refused, nothing is asked and the file stays; --apply writes there", async () => {
  const host = fakeHost(vault);
  writeFileSync(join(host.home, "README.md"), "mine");
  expect(await runCli(["export", host.home], host)).toBe(1);
  expect(host.err()).toContain("is not empty (README.md); nothing was written");
  expect(host.life).toEqual([]);
  expect(readFileSync(join(host.home, "README.md"), "utf8")).toBe("mine");
  expect(await runCli(["export", host.home, "--apply"], host)).toBe(0);
  expect(readFileSync(join(host.home, "README.md"), "utf8")).toContain("# Memory");
});

test.skipIf(process.platform === "win32")("it writes through no link that leads elsewhere", async () => {
  const host = fakeHost(vault);
  const directory = join(host.home, "vault");
  mkdirSync(directory);
  writeFileSync(join(host.home, "victim"), "precious");
  symlinkSync(join(host.home, "victim"), join(directory, "api.md"));
  expect(await runCli(["export", directory, "--apply"], host)).toBe(1);
  expect(readFileSync(join(host.home, "victim"), "utf8")).toBe("precious");
});

test("an empty memory is an error, and leaves no directory behind", async () => {
  const host = fakeHost({ answer: () => ({ entities: [], relations: [] }) });
  expect(await runCli(["export", join(host.home, "vault")], host)).toBe(1);
  expect(existsSync(join(host.home, "vault"))).toBe(false);
});

const recipe = (name: string, more = {}) => ({
  id: name,
  name,
  trigger: "before a release",
  steps: [{ do: "build it", run: "npm run build", expect: "exit 0" }],
  preconditions: "a clean tree",
  verification: "the tests pass",
  successes: 47,
  failures: 3,
  reliability: 0.8378,
  successesSinceEdit: 47,
  failuresSinceEdit: 3,
  lastRunFailed: false,
  ...more,
});

test("the record of a procedure is told as far as it carries", () => {
  const label = (successes: number, failures: number, reliability: number) => trackRecord({ successes, failures, reliability }).label;
  expect([label(47, 3, 0.84), label(3, 1, 0.3), label(1, 9, 0.02), label(4, 6, 0.17), label(5, 5, 0.24), label(0, 0, 0)]).toEqual([
    "Proven",
    "Not enough evidence",
    "UNRELIABLE",
    "UNRELIABLE",
    "Not enough evidence",
    "No history",
  ]);
  expect([slugOf("Deploy: API v2!"), slugOf("发布")]).toEqual(["deploy-api-v2", "procedure"]);
  expect(skillText(recipe('x"\n---\nevil: 1 <!-- end -->'), "x").split("\n---").length).toBe(2);
});

test("a skill's folder and description keep to the lengths and names that agents and file systems take", () => {
  expect(slugOf(`${"long name ".repeat(20)}`)).toBe("long-name-long-name-long-name-long-name-long-name-long-nam");
  expect(["CON", "nul", "Com1"].map(slugOf)).toEqual(["procedure-con", "procedure-nul", "procedure-com1"]);
  const [, , description = ""] = skillText(recipe("x", { trigger: "界".repeat(2_000) }), "x").split("\n");
  expect(Array.from(JSON.parse(description.slice("description: ".length))).length).toBe(1_024);
});

test("a recipe's words make no markup, and its commands stand there to the letter", () => {
  const text = skillText(
    recipe("<img src=x onerror=alert(1)> [[x]] [l](javascript:alert(1)) `a`", {
      preconditions: "# not a heading\n<img src=x onerror=alert(1)>",
      verification: "```\nopen",
      steps: [
        { do: "## fake [l](javascript:alert(1)) `npm test`", run: "echo `date`", expect: "</script><script>alert(1)</script>" },
        { do: "2. second", run: "set -e\ncat <<'E'\n```\nE" },
      ],
    }),
    "x",
  );
  const shown = Bun.markdown.html(text.replace(/^---\n[\s\S]*?\n---\n/, ""), { wikiLinks: true });
  expect([...shown.matchAll(/<(h\d|img|script|a|wiki)\b/g)].map(([, name]) => name)).toEqual(["h1", "h2", "h2", "h2"]);
  expect(shown).toContain("<code>npm test</code>");
  expect(shown).toContain("Run: <code>echo `date`</code>");
  expect(shown).toContain("<pre><code>set -e\ncat &lt;&lt;'E'\n```\nE\n</code></pre>");
  expect(shown.match(/<ol>/g)?.length).toBe(1);
});

test("a skill tells what its totals hide: a last run that failed, and how the steps have done since they were changed", () => {
  const told = (more: object) =>
    skillText(recipe("Deploy", more), "deploy")
      .split("\n")
      .filter((line) => line.startsWith("> "));
  expect(told({})).toEqual([]);
  expect(told({ lastRunFailed: true })).toEqual(["> The last run failed."]);
  expect(told({ successesSinceEdit: 0, failuresSinceEdit: 0 })).toEqual([
    "> The steps were changed since; as they stand they have not been run yet.",
  ]);
  expect(told({ successesSinceEdit: 1, failuresSinceEdit: 1, lastRunFailed: true })).toEqual([
    "> The last run failed.",
    "> The steps were changed since; as they stand they worked 1 of 2 times.",
  ]);
  expect(
    readRecipes([recipe("x", { successes: 9, failures: 7, successesSinceEdit: 1, failuresSinceEdit: 0, lastOutcome: "failure" })])[0],
  ).toMatchObject({
    successesSinceEdit: 1,
    failuresSinceEdit: 0,
    lastRunFailed: true,
  });
});

test("skills writes ours, leaves what is somebody else's, numbers what would be one folder, and deletes stale ones only when told", async () => {
  const script: Script = {
    answer: ({ params }) => (params.after === undefined ? [recipe("Deploy"), recipe("deploy!"), recipe("Weak", { reliability: 0.1 })] : []),
  };
  const host = fakeHost(script);
  const at = (folder: string) => join(host.home, "skills", folder, "SKILL.md");
  expect(await runCli(["skills", join(host.home, "skills"), "--min-reliability", "0.5"], host)).toBe(0);
  expect(host.out()).toContain("2 skills written");
  expect(readFileSync(at("deploy"), "utf8")).toContain('description: "Use before a release. Procedure: Deploy."');
  expect(existsSync(at("deploy-2"))).toBe(true);
  writeFileSync(at("deploy-2"), "my own skill\n");
  const again = fakeHost(script);
  expect(await runCli(["skills", join(host.home, "skills"), "--min-reliability", "0.5"], again)).toBe(1);
  expect(readFileSync(at("deploy-2"), "utf8")).toBe("my own skill\n");
  const none = fakeHost({ answer: () => [] });
  expect(await runCli(["skills", join(host.home, "skills")], none)).toBe(0);
  expect(none.out()).toContain("There are no procedures yet");
  expect(none.out()).toContain("--apply");
  expect(existsSync(at("deploy"))).toBe(true);
  expect(await runCli(["skills", join(host.home, "skills"), "--apply"], fakeHost({ answer: () => [] }))).toBe(0);
  expect(existsSync(at("deploy"))).toBe(false);
  expect(readFileSync(at("deploy-2"), "utf8")).toBe("my own skill\n");
});

test("skills of procedures below the wanted reliability are not said to be gone, and the line that deletes them asks for the same", async () => {
  const directory = (host: ReturnType<typeof fakeHost>) => join(host.home, "skills");
  const script: Script = {
    answer: ({ params }) => (params.after === undefined ? [recipe("Deploy"), recipe("Weak", { reliability: 0.1 })] : []),
  };
  const host = fakeHost(script);
  await runCli(["skills", directory(host)], host);
  const strict = fakeHost(script);
  expect(await runCli(["skills", directory(host), "--min-reliability", "0.5"], strict)).toBe(0);
  expect(strict.out()).toContain("The procedures of 1 are gone or below the wanted reliability: weak. They were left; to delete them:");
  expect(strict.out()).toContain("--min-reliability 0.5 --apply");
  expect(existsSync(join(directory(host), "weak", "SKILL.md"))).toBe(true);
});
