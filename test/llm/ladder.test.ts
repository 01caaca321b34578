import { describe, expect, test } from "bun:test";
import { type LadderSettings, ladderOf } from "../../src/llm/ladder.ts";

const sampling = { complete: () => Promise.resolve("") };
const endpoint = { provider: "ollama", baseUrl: "http://127.0.0.1:1/v1", model: "m", key: undefined };
const program = { backend: "claude_cli", path: "/nowhere/claude", model: "m", environment: {} } as const;
const anthropic = { key: "k", model: "m" };
/** Everything lies there; nobody chose anything. */
const lying: LadderSettings = { choice: undefined, endpoint: undefined, program, isAnthropicSet: false, anthropic };
const everything: LadderSettings = { ...lying, endpoint };
const rungs = (settings: LadderSettings, client = true) =>
  ladderOf(settings, client ? sampling : undefined).chats.map(({ backend }) => backend);

describe("who may be asked", () => {
  test("a program and a key that merely lie there are nobody's choice", () => {
    expect(rungs(lying)).toEqual(["mcp_sampling"]);
    expect(rungs(lying, false)).toEqual([]);
    expect(rungs({ ...lying, choice: "nli" }, false)).toEqual([]);
  });
  test("an endpoint that is set is chosen by that", () => {
    expect(rungs(everything)).toEqual(["mcp_sampling", "openai_compat"]);
  });
  test("the provider anthropic chooses its rung", () => {
    expect(rungs({ ...lying, isAnthropicSet: true })).toEqual(["mcp_sampling", "anthropic_api"]);
    expect(ladderOf({ ...lying, isAnthropicSet: true, anthropic: undefined }, undefined).problem).toContain("ANTHROPIC_API_KEY");
  });
  test("auto is the whole ladder, in order", () => {
    expect(rungs({ ...everything, choice: "auto" })).toEqual(["mcp_sampling", "openai_compat", "claude_cli", "anthropic_api"]);
  });
  test.each([
    ["openai_compat", ["mcp_sampling", "openai_compat"]],
    ["claude_cli", ["mcp_sampling", "claude_cli"]],
    ["anthropic_api", ["mcp_sampling", "anthropic_api"]],
    ["mcp_sampling", ["mcp_sampling"]],
    ["heuristic", []],
  ] as const)("%s: of those that cost money only it", (choice, expected) => {
    expect<readonly string[]>(rungs({ ...everything, choice })).toEqual(expected);
  });
  test.each([
    ["openai_compat", "none is set"],
    ["claude_cli", "not found on PATH"],
    ["gemini_cli", "CUBA_JUEZ_CLI"],
    ["anthropic_api", "ANTHROPIC_API_KEY is not set"],
    ["mcp_sampling", "does not offer it"],
  ] as const)("%s that cannot be used is a problem with a name", (choice, words) => {
    const ladder = ladderOf({ choice, endpoint: undefined, program: undefined, isAnthropicSet: false, anthropic: undefined }, undefined);
    expect(ladder.chats).toEqual([]);
    expect(ladder.problem).toContain(words);
  });
});
