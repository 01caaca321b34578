import { expect, test } from "bun:test";
import { runCli } from "../../../src/cli/run.ts";
import { fakeHost, toolFailure, toolResult } from "../fake-host.ts";

const hits = {
  mode: "hybrid",
  results: [
    {
      id: "id-1",
      type: "observation",
      entity_name: "gateway",
      observation_type: "fact",
      content: `port\n9090 ${"é".repeat(200)}`,
      fused_score: 0.51239,
    },
    { id: "id-2", type: "error", error_type: "Timeout", error_message: "no answer in 30 s", resolved: false, fused_score: 0.2 },
  ],
  count: 2,
};

test("words are one question, options reach the tool, the list is for people", async () => {
  const host = fakeHost({ answer: () => toolResult(hits) });
  expect(await runCli(["search", "which", "port", "-n", "3", "--project", "api"], host)).toBe(0);
  expect(host.sent).toEqual([
    { method: "owner/project", params: { name: "api" } },
    {
      method: "tools/call",
      params: { name: "cuba_faro", arguments: { query: "which port", limit: 3, associative: false, format: "verbose" } },
    },
  ]);
  expect(host.out().split("\n")).toEqual([
    " 1. 0.5124  gateway (fact)",
    `    port 9090 ${"é".repeat(130)}…`,
    "    id-1",
    " 2. 0.2000  Timeout (error, UNRESOLVED)",
    "    no answer in 30 s",
    "    id-2",
    "",
  ]);
  expect(host.life).toEqual(["open api", "drain"]);
});

test("a project that is not there is a failure before anything is searched, which would make it", async () => {
  const host = fakeHost({
    answer: ({ method }) => {
      if (method === "owner/project") throw new Error("Project 'apl' not found. Close names: api.");
      return toolResult(hits);
    },
  });
  expect(await runCli(["search", "port", "-p", "apl"], host)).toBe(1);
  expect(host.sent.map(({ method }) => method)).toEqual(["owner/project"]);
  expect(host.err()).toContain("Project 'apl' not found. Close names: api.");
});

test("a recorded decision is shown by its choice", async () => {
  const content = `**Queue**\nContext: ${"x".repeat(300)}\nAlternatives: ["Kafka"]\nChosen: a table\nRationale: It runs already.`;
  const row = { id: "id-1", type: "observation", entity_name: "architecture_decisions", observation_type: "decision", content };
  const host = fakeHost({ answer: () => toolResult({ results: [row], count: 1 }) });
  await runCli(["search", "queue"], host);
  expect(host.out()).toContain("\n    Queue: a table. Why: It runs already.\n");
});

test("--json prints exactly one JSON value on standard output", async () => {
  const host = fakeHost({ answer: () => toolResult(hits) });
  await runCli(["search", "x", "--json"], host);
  expect(JSON.parse(host.out())).toEqual(hits);
});

test("a limited search says so beside the result, not in it", async () => {
  const host = fakeHost({
    answer: () => toolResult({ ...hits, degraded: true, degraded_reason: "no model: memory-industry models embed" }),
  });
  await runCli(["search", "x", "--json"], host);
  expect(() => JSON.parse(host.out())).not.toThrow();
  const plain = fakeHost({
    answer: () => toolResult({ ...hits, degraded: true, degraded_reason: "no model: memory-industry models embed" }),
  });
  await runCli(["search", "x"], plain);
  expect(plain.err()).toBe("Search was limited: no model: memory-industry models embed\n");
});

test("no hit points to doctor", async () => {
  const host = fakeHost({ answer: () => toolResult({ results: [], count: 0 }) });
  expect(await runCli(["search", "x"], host)).toBe(0);
  expect(host.out()).toContain("memory-industry doctor");
});

test("what the tool refuses is said on standard error, exit 1, and the gateway is drained all the same", async () => {
  const host = fakeHost({ answer: () => toolFailure("query must not be empty.") });
  expect(await runCli(["search", "x"], host)).toBe(1);
  expect(host.err()).toBe("memory-industry search: query must not be empty.\n");
  expect(host.life).toEqual(["open -", "drain"]);
});

test("a word with dashes in front is explained", async () => {
  const host = fakeHost();
  expect(await runCli(["search", "what", "is", "--frozen"], host)).toBe(2);
  expect(host.err()).toContain("Unknown flag --frozen. A word of the question that starts with dashes must come after '--'.");
});

test("where nothing is found it says in which project it looked: memories of another are not shown", async () => {
  const host = fakeHost({
    answer: ({ params }) => toolResult(params.name === "cuba_whoami" ? { project_name: "shop" } : { results: [], count: 0 }),
  });
  expect(await runCli(["search", "gateway"], host)).toBe(0);
  expect(host.out()).toBe(
    "Nothing found in the project 'shop' (--project searches another). If you expected something: 'memory-industry doctor' shows whether search works fully.\n",
  );
});
