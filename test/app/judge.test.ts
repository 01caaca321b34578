/** What counts as a person's choice. The process's own environment stands in for one in which keys and programs merely lie. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { judgeFacts, ladderSettings } from "../../src/app/judge.ts";
import { loadConfig } from "../../src/config/load.ts";
import { ladderOf } from "../../src/llm/ladder.ts";

const names = ["PATH", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GROQ_API_KEY"] as const;
const before = Object.fromEntries(names.map((name) => [name, process.env[name]]));
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "mi-judge-"));
  await writeFile(join(directory, "claude"), "#!/bin/sh\nexit 1\n");
  await chmod(join(directory, "claude"), 0o755);
  Object.assign(process.env, { PATH: directory, ANTHROPIC_API_KEY: "a-key", OPENAI_API_KEY: "o-key", GROQ_API_KEY: "" });
});
afterEach(async () => {
  for (const name of names) {
    if (before[name] === undefined) delete process.env[name];
    else process.env[name] = before[name];
  }
  await rm(directory, { recursive: true, force: true });
});

const config = (environment: Record<string, string>) =>
  loadConfig({ environment: { HOME: "/home/ana", ...environment }, machine: { platform: process.platform, workingDirectory: "/" } });
const rungs = (environment: Record<string, string>) =>
  ladderOf(ladderSettings(config(environment)), undefined).chats.map(({ backend, model }) => `${backend} ${model}`);

test.skipIf(process.platform === "win32")(
  "a program on PATH and keys in the environment are nobody's choice, and doctor says that they lie there",
  () => {
    expect(rungs({})).toEqual([]);
    expect(rungs({ CUBA_JUDGE: "nli" })).toEqual([]);
    expect(judgeFacts(config({}))).toEqual({
      choice: undefined,
      chosen: [],
      problem: undefined,
      lying: ["claude on PATH", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"],
    });
  },
);

test.skipIf(process.platform === "win32")("what a person names joins, with the models and keys that belong to it", () => {
  expect(rungs({ CUBA_JUDGE: "auto" })).toEqual(["claude_cli claude-haiku-4-5", "anthropic_api claude-haiku-4-5"]);
  expect(rungs({ CUBA_JUDGE: "cli", CUBA_JUEZ_MODEL: "other" })).toEqual(["claude_cli other"]);
  expect(rungs({ CUBA_JUDGE: "gemini" })).toEqual([]);
  expect(rungs({ MEMORY_INDUSTRY_LLM_PROVIDER: "anthropic" })).toEqual(["anthropic_api claude-haiku-4-5"]);
  expect(rungs({ CUBA_LLM_PROVIDER: "ollama" })).toEqual(["openai_compat ollama:llama3.2"]);
  expect(rungs({ CUBA_LLM_BASE_URL: "http://127.0.0.1:9/v1" })).toEqual(["openai_compat custom:default"]);
  expect(rungs({ CUBA_LLM_PROVIDER: "nobody" })).toEqual([]);
});

test.skipIf(process.platform === "win32")("what was chosen does not lie there unused, and the rest still does", () => {
  const lying = (environment: Record<string, string>) => judgeFacts(config(environment)).lying;
  expect(lying({ CUBA_JUDGE: "claude_cli" })).toEqual(["OPENAI_API_KEY", "ANTHROPIC_API_KEY"]);
  expect(lying({ CUBA_JUDGE: "anthropic_api" })).toEqual(["claude on PATH", "OPENAI_API_KEY"]);
  expect(lying({ CUBA_LLM_PROVIDER: "openai" })).toEqual(["claude on PATH", "ANTHROPIC_API_KEY"]);
  expect(lying({ CUBA_LLM_PROVIDER: "groq" })).toEqual(["claude on PATH", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"]);
  expect(lying({ CUBA_JUDGE: "auto" })).toEqual(["OPENAI_API_KEY"]);
});

test("a vendor's key goes to that vendor and to no other", () => {
  const keyFor = (environment: Record<string, string>) => ladderSettings(config(environment)).endpoint?.key;
  expect(keyFor({ CUBA_LLM_PROVIDER: "openai" })).toBe("o-key");
  expect(keyFor({ CUBA_LLM_PROVIDER: "groq" })).toBeUndefined();
  expect(keyFor({ CUBA_LLM_PROVIDER: "ollama" })).toBeUndefined();
  expect(keyFor({ CUBA_LLM_PROVIDER: "groq", CUBA_LLM_API_KEY: "own" })).toBe("own");
});
