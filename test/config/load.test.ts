import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Config, govern, loadConfig } from "../../src/config/load.ts";
import type { Environment } from "../../src/config/paths.ts";

const machine = { platform: "linux", workingDirectory: "/work dir" };
const load = (
  environment: Environment,
  { governor = {}, ...rest }: { files?: { path: string; values: Environment }[]; governor?: Environment } = {},
): Config => govern(loadConfig({ environment: { HOME: "/home/ana", ...environment }, machine, ...rest }), governor);

describe("names", () => {
  test("the new name wins where both are set", () => {
    const { settings } = load({ MEMORY_INDUSTRY_HANDLER_TIMEOUT_SECS: "41", CUBA_HANDLER_TIMEOUT_SECS: "42" });
    expect(settings.HANDLER_TIMEOUT_SECS).toEqual({ value: 41, layer: "environment", name: "MEMORY_INDUSTRY_HANDLER_TIMEOUT_SECS" });
  });
  test("the old name counts alone", () => {
    expect(load({ CUBA_HANDLER_TIMEOUT_SECS: "42" }).settings.HANDLER_TIMEOUT_SECS).toEqual({
      value: 42,
      layer: "environment",
      name: "CUBA_HANDLER_TIMEOUT_SECS",
    });
  });
  test("neither set leaves the default", () => {
    expect(load({}).settings.HANDLER_TIMEOUT_SECS).toEqual({ value: 30, layer: "default", name: undefined });
  });
  test("a blank new name is unset, so the old one counts", () => {
    expect(load({ MEMORY_INDUSTRY_PROJECT: "  ", CUBA_PROJECT: " api " }).settings.PROJECT.value).toBe("api");
  });
  test("vendor names have no alias", () => {
    const url = "postgres://u:p@db/x";
    expect(load({ DATABASE_URL: url }).settings.DATABASE_URL.value).toBe(url);
    expect(load({ CUBA_DATABASE_URL: url, MEMORY_INDUSTRY_DATABASE_URL: url }).settings.DATABASE_URL.value).toBeUndefined();
  });
  test("the shell's host name is the machine's label where none was given", () => {
    expect(load({ HOSTNAME: "workshop", COMPUTERNAME: "PC" }).settings.NODE_NAME.value).toBe("workshop");
    expect(load({ HOSTNAME: "workshop", CUBA_NODE_NAME: "desk" }).settings.NODE_NAME.value).toBe("desk");
  });
});

describe("layers", () => {
  const files = [
    { path: "/first.env", values: { CUBA_COMPACT_CHARS: "700" } },
    { path: "/second.env", values: { CUBA_COMPACT_CHARS: "800", CUBA_CHUNK_CHARS: "900" } },
  ];
  const governor = { CUBA_CHUNK_CHARS: "500", CUBA_DB_MAX_CONNECTIONS: "2" };
  test("an explicit variable wins over env files, they over the governor, it over the default", () => {
    const { settings } = load({ CUBA_COMPACT_CHARS: "600" }, { files, governor });
    expect(settings.COMPACT_CHARS.value).toBe(600);
    expect(settings.CHUNK_CHARS).toEqual({ value: 900, layer: "env file", name: "CUBA_CHUNK_CHARS", file: "/second.env" });
    expect(settings.DB_MAX_CONNECTIONS).toEqual({ value: 2, layer: "governor", name: "CUBA_DB_MAX_CONNECTIONS" });
    expect(settings.IO_CONCURRENCY.layer).toBe("default");
  });
  test("an earlier file wins over a later one", () => {
    expect(load({}, { files }).settings.COMPACT_CHARS.value).toBe(700);
  });
  test("a name set in a file beats an old name set by the governor, whatever they are called", () => {
    expect(
      load({}, { files: [{ path: "/f", values: { CUBA_CHUNK_CHARS: "900" } }], governor: { MEMORY_INDUSTRY_CHUNK_CHARS: "400" } }).settings
        .CHUNK_CHARS.value,
    ).toBe(900);
  });
  test("unset without a default says so", () => {
    expect(load({}).settings.DATABASE_URL).toEqual({ value: undefined, layer: "unset", name: undefined });
  });
});

describe("values", () => {
  test.each([
    ["CUBA_RANDOM_PAGE_COST", "50", "RANDOM_PAGE_COST", 1.1],
    ["CUBA_RANDOM_PAGE_COST", "0.1", "RANDOM_PAGE_COST", 0.1],
    ["CUBA_CHUNK_CHARS", "10", "CHUNK_CHARS", 200],
    ["CUBA_CHUNK_CHARS", "201", "CHUNK_CHARS", 201],
    ["CUBA_IDLE_SHUTDOWN_SECS", "x", "IDLE_SHUTDOWN_SECS", undefined],
    ["CUBA_IDLE_SHUTDOWN_SECS", "0", "IDLE_SHUTDOWN_SECS", 0],
    ["CUBA_HANDSHAKE_TIMEOUT_SECS", "off", "HANDSHAKE_TIMEOUT_SECS", 0],
    ["CUBA_HANDSHAKE_TIMEOUT_SECS", "-1", "HANDSHAKE_TIMEOUT_SECS", 60],
    ["CUBA_HANDLER_TIMEOUT_SECS", "0", "HANDLER_TIMEOUT_SECS", 30],
    ["CUBA_HANDLER_TIMEOUT_SECS", "0x10", "HANDLER_TIMEOUT_SECS", 30],
    ["CUBA_HANDLER_TIMEOUT_SECS", "1e2", "HANDLER_TIMEOUT_SECS", 30],
    ["CUBA_SKIP_MIGRATIONS", "TRUE", "SKIP_MIGRATIONS", true],
    ["CUBA_SKIP_MIGRATIONS", "SÍ", "SKIP_MIGRATIONS", true],
    ["CUBA_APP_ROLE", "Off", "APP_ROLE", false],
    ["CUBA_APP_ROLE", "perhaps", "APP_ROLE", true],
    ["CUBA_TOOL_PROFILE", "LEAN", "TOOL_PROFILE", "lean"],
    ["CUBA_TOOL_PROFILE", "toString", "TOOL_PROFILE", "full"],
    ["MEMORY_INDUSTRY_MODELS_URL", "ftp://mirror", "MODELS_URL", undefined],
    ["CUBA_PASSAGE_PREFIX", "", "PASSAGE_PREFIX", ""],
    ["CUBA_PASSAGE_PREFIX", "passage: ", "PASSAGE_PREFIX", "passage: "],
  ] as const)("%s=%p gives %s %p", (name, text, key, value) => {
    expect(load({ [name]: text }).settings[key].value).toEqual(value);
  });

  test("lists forget blanks and empty items", () => {
    expect(load({ CUBA_HTTP_ALLOWED_HOSTS: " a.example, ,b.example:8080," }).settings.HTTP_ALLOWED_HOSTS.value).toEqual([
      "a.example",
      "b.example:8080",
    ]);
  });
  test("addresses are IPv4, IPv6 in brackets or localhost, with a port", () => {
    const addressOf = (text: string) => load({ CUBA_HTTP_ADDR: text }).settings.HTTP_ADDR;
    expect(addressOf("0.0.0.0:80").value).toEqual({ host: "0.0.0.0", port: 80 });
    expect(addressOf("[::1]:8787").value).toEqual({ host: "::1", port: 8787 });
    expect(addressOf("localhost:0").value).toEqual({ host: "localhost", port: 0 });
    for (const bad of [
      "x",
      "127.0.0.1",
      "::1:8787",
      "[127.0.0.1]:1",
      "256.0.0.1:1",
      "127.0.0.1:65536",
      "http://127.0.0.1:1",
      "evil.example:1",
    ])
      expect(addressOf(bad)).toEqual({ value: { host: "127.0.0.1", port: 8787 }, layer: "default", name: undefined });
  });
});

describe("warnings", () => {
  test("a bad value is named once, with what is wanted and what stands", () => {
    expect(load({ CUBA_RANDOM_PAGE_COST: "50" }).warnings).toEqual([
      {
        key: "RANDOM_PAGE_COST",
        name: "CUBA_RANDOM_PAGE_COST",
        refused: true,
        message: "CUBA_RANDOM_PAGE_COST=50 is not usable: wanted a number from 0.1 to 10. It counts as unset; the default is 1.1.",
      },
    ]);
  });
  test("a corrected value is named too", () => {
    expect(load({ CUBA_CHUNK_CHARS: "10" }).warnings.map((warning) => [warning.refused, warning.message])).toEqual([
      [false, "CUBA_CHUNK_CHARS=10 is below the floor; 200 is used."],
    ]);
  });
  test("an unknown mode is warned about with the three names, once", () => {
    const config = load({ CUBA_MODE: "turbo" });
    expect(config.mode).toBe("local");
    expect(config.warnings).toHaveLength(1);
    expect(config.warnings[0]?.message).toContain("local, red, completo");
  });
  test("a secret is never repeated", () => {
    const [warning] = load({ DATABASE_URL: "mysql://root:hunter2secret@db/x" }).warnings;
    expect(warning?.message).toStartWith("DATABASE_URL is not usable");
    expect(JSON.stringify(warning)).not.toContain("hunter2secret");
  });
  test("a bad explicit value leaves the env file's", () => {
    const config = load({ CUBA_COMPACT_CHARS: "many" }, { files: [{ path: "/f.env", values: { CUBA_COMPACT_CHARS: "700" } }] });
    expect(config.settings.COMPACT_CHARS.value).toBe(700);
    expect(config.warnings).toHaveLength(1);
  });
  test("nothing set, nothing to warn about", () => {
    expect(load({}).warnings).toEqual([]);
  });
});

test("modes are read in any case and under their aliases", () => {
  for (const [text, mode] of [
    ["NUBE", "red"],
    ["cloud", "red"],
    ["Complete", "completo"],
    ["full", "completo"],
    ["local", "local"],
    ["", "local"],
  ] as const)
    expect(load({ CUBA_MODE: text }).mode).toBe(mode);
});

test("no environment makes loading throw", () => {
  const names = fc.constantFrom(
    "CUBA_MODE",
    "CUBA_HTTP_ADDR",
    "DATABASE_URL",
    "CUBA_CHUNK_CHARS",
    "CUBA_DATA_DIR",
    "HOME",
    "XDG_DATA_HOME",
    "MEMORY_INDUSTRY_LOG",
    "CUBA_HTTP_ALLOWED_HOSTS",
  );
  fc.assert(
    fc.property(fc.dictionary(names, fc.string({ unit: "binary" })), (environment) => {
      const config = loadConfig({ environment, machine });
      expect(config.settings.HANDLER_TIMEOUT_SECS.value).toBe(30);
      expect(config.settings.CHUNK_CHARS.value).toBeGreaterThanOrEqual(200);
    }),
  );
});

describe("the governor's values", () => {
  test("take the place of a default and of what is unset, and say where they come from", () => {
    const { settings } = load({}, { governor: { CUBA_RERANK_CHUNK: "4", CUBA_RERANKER_PATH: "/tmp/off", CUBA_NOT_OURS: "1" } });
    expect(settings.RERANK_CHUNK).toMatchObject({ value: 4, layer: "governor" });
    expect(settings.RERANKER_PATH).toMatchObject({ value: "/tmp/off", layer: "governor" });
    expect(settings.RERANK_TIMEOUT_SECS).toMatchObject({ value: 20, layer: "default" });
  });
  test("never touch what an operator set, under either name", () => {
    const set = { MEMORY_INDUSTRY_RERANK_CHUNK: "32", CUBA_NLI_PATH: "/models/nli" };
    const { settings } = load(set, { governor: { CUBA_RERANK_CHUNK: "4", CUBA_NLI_PATH: "/tmp/off" } });
    expect(settings.RERANK_CHUNK).toMatchObject({ value: 32, layer: "environment" });
    expect(settings.NLI_PATH.value).toBe("/models/nli");
  });
});

test.each([
  ["300", 0],
  ["0", 0],
  ["512", 512],
  ["32", 32],
  ["1024", 0],
])("CUBA_RERANK_BUCKET=%s pads to a multiple of %p (0: to the longest)", (text, value) => {
  expect(load({ CUBA_RERANK_BUCKET: text }).settings.RERANK_BUCKET.value ?? 0).toBe(value);
});

test("a judge is known under all its names; an unknown one counts as unset, with a warning", () => {
  const judge = (text: string) => load({ CUBA_JUDGE: text });
  expect(
    ["AUTO", "local", "sampling", "ollama", "cli", "gemini", "anthropic", "groq"].map((text) => judge(text).settings.JUDGE.value),
  ).toEqual(["auto", "nli", "mcp_sampling", "openai_compat", "claude_cli", "gemini_cli", "anthropic_api", "openai_compat"]);
  expect(judge("oracle").settings.JUDGE).toMatchObject({ value: undefined, layer: "unset" });
  expect(judge("oracle").warnings).toHaveLength(1);
});
