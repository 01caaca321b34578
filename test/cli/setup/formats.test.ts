import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parse } from "jsonc-parser";
import { parse as parseToml, stringify as printToml } from "smol-toml";
import { jsonServers } from "../../../src/cli/setup/json-servers.ts";
import { codexServers } from "../../../src/cli/setup/toml-servers.ts";

const json = jsonServers("mcpServers");
const block = { command: "/opt/memory industry/memory-industry", args: [], env: { DATABASE_URL: "postgres://db/x" } };
const readJson = (text: string): Record<string, unknown> => parse(text.replace(/^\uFEFF/, ""), [], { allowTrailingComma: true });

describe("JSON, by example", () => {
  test.each([
    ["an empty object", "{}", '{\n  "mcpServers": {\n    "memory-industry": {\n      "command": "x"\n    }\n  }\n}'],
    ["an empty file", "", '{\n  "mcpServers": {\n    "memory-industry": {\n      "command": "x"\n    }\n  }\n}\n'],
    ["one line stays one line", '{"a": 1}', '{"a": 1, "mcpServers":{"memory-industry":{"command":"x"}}}'],
    [
      "comments keep their place, tabs and trailing commas their style",
      '{\n\t"a": 1, // about a\n\t"mcpServers": {\n\t\t"other": {}, // mine\n\t},\n}\n',
      '{\n\t"a": 1, // about a\n\t"mcpServers": {\n\t\t"other": {}, // mine\n\t\t"memory-industry": {\n\t\t\t"command": "x"\n\t\t},\n\t},\n}\n',
    ],
    [
      "a comment behind the last server stays with that server",
      '{\n  "mcpServers": {\n    "other": {} // mine\n  }\n}\n',
      '{\n  "mcpServers": {\n    "other": {}, // mine\n    "memory-industry": {\n      "command": "x"\n    }\n  }\n}\n',
    ],
    [
      "CRLF and BOM stay",
      '\uFEFF{\r\n  "mcpServers": {}\r\n}\r\n',
      '\uFEFF{\r\n  "mcpServers": {\r\n    "memory-industry": {\r\n      "command": "x"\r\n    }\r\n  }\r\n}\r\n',
    ],
    [
      "the entry of the earlier generation goes",
      '{"mcpServers":{"cuba-memorys":{"command":"old"},"other":{}}}',
      '{"mcpServers":{"other":{}, "memory-industry":{"command":"x"}}}',
    ],
  ])("%s", (_name, before, after) => {
    expect(json.put(before, "f", { command: "x" })).toBe(after);
  });

  test("what is not valid is refused with the place, never rewritten", () => {
    for (const bad of ['{"a": }', "[1]", "nonsense", '{"mcpServers": []}', '{"mcpServers": {} ', "{'a': 1}"])
      expect(() => json.put(bad, "/home/x/.claude.json", block)).toThrow(/\/home\/x\/\.claude\.json .*left as it (is|was)/s);
    expect(() => json.put('{\n  "a": ,\n}', "f", block)).toThrow("line 2, column 8");
  });

  test("of two sections of one name the one that readers see is edited", () => {
    const text = '{"mcpServers":{"a":{}},"mcpServers":{"b":{}}}';
    expect(readJson(json.put(text, "f", block))).toEqual({ mcpServers: { b: {}, "memory-industry": block } });
  });
});

/** Prints a JSON value with random blanks, line endings, comments and trailing commas. */
function messy(value: unknown, pick: (bound: number) => number, ending: string, depth = 0): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((item: unknown) => messy(item, pick, ending, depth + 1))
    : Object.entries(value).map(
        ([key, item]) => `${JSON.stringify(key)}${pick(3) === 0 ? " " : ""}: ${messy(item, pick, ending, depth + 1)}`,
      );
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  const outer = "  ".repeat(depth);
  const style = pick(4);
  if (items.length === 0) return open + (["", " ", `${ending}${outer}`, "/* none */"][style] ?? "") + close;
  const trailing = pick(3) === 0 ? "," : "";
  if (style === 0) return open + items.join(",") + trailing + close;
  const comment = () => (pick(4) === 0 ? ` // ${pick(100)}, "}` : pick(5) === 0 ? ` /* ${pick(100)} */` : "");
  const lines = items.map((item, at) => `${outer}  ${item}${at < items.length - 1 ? "," : trailing}${comment()}${ending}`);
  return `${open}${comment()}${ending}${lines.join("")}${outer}${close}`;
}

const ours = new Set(["memory-industry", "cuba-memorys", "__proto__"]);
const server = fc.dictionary(fc.constantFrom("command", "args", "url", "x}"), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
const names = fc
  .oneof(fc.string({ minLength: 1, maxLength: 8 }), fc.constantFrom("other", "项目", 'a"b'))
  .filter((name) => !ours.has(name));
const configuration = fc.record(
  {
    before: fc.jsonValue({ maxDepth: 2 }),
    mcpServers: fc.dictionary(names, server, { maxKeys: 3 }),
    after: fc.jsonValue({ maxDepth: 2 }),
  },
  { requiredKeys: [] },
);
const jsonText = fc
  .tuple(
    configuration,
    fc.infiniteStream(fc.nat()),
    fc.constantFrom("\n", "\r\n"),
    fc.constantFrom("", "\uFEFF"),
    fc.constantFrom("", "\n", "\r\n// end"),
  )
  .map(([value, stream, ending, bom, tail]) => bom + messy(value, (bound) => Number(stream.next().value) % bound, ending) + tail);

const isSubsequence = (part: string, whole: string): boolean => {
  let at = 0;
  for (const char of whole) if (at < part.length && part.startsWith(char, at)) at += char.length;
  return at === part.length;
};

describe("JSON, any file", () => {
  test("put adds our entry, takes no byte away and leaves every other value as it was", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const put = json.put(text, "f", block);
        expect(isSubsequence(text, put)).toBe(true);
        const { mcpServers, ...rest } = readJson(put);
        const { mcpServers: old, ...oldRest } = readJson(text);
        expect(rest).toEqual(oldRest);
        expect(mcpServers).toEqual({ ...Object(old), "memory-industry": block });
      }),
      { numRuns: 500 },
    );
  });
  test("put twice is put once", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const put = json.put(text, "f", block);
        expect(json.put(put, "f", { env: block.env, args: [], command: block.command })).toBe(put);
      }),
    );
  });
  test("take leaves every other value, and no byte of the rest changes but blanks", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const had = readJson(text).mcpServers !== undefined;
        const taken = json.take(json.put(text, "f", block), "f", { container: !had });
        expect(readJson(taken)).toEqual(readJson(text));
        expect(taken.replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
      }),
      { numRuns: 500 },
    );
  });
  test("a changed entry is replaced in its place", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const put = json.put(json.put(text, "f", block), "f", { command: "/new" });
        expect(json.find(put, "f").entry).toEqual({ command: "/new" });
        expect(readJson(json.take(put, "f", { container: readJson(text).mcpServers === undefined }))).toEqual(readJson(text));
      }),
    );
  });
});

describe("TOML, by example", () => {
  const text = '# mine\nmodel = "o3" # best\n\n[mcp_servers.other]\ncommand = "x"\n';
  test("our table comes behind everything else, and goes again to the byte", () => {
    const put = codexServers.put(text, "f", { command: "/opt/m", args: [] });
    expect(put).toBe(`${text}\n[mcp_servers.memory-industry]\ncommand = "/opt/m"\nargs = []\n`);
    expect(codexServers.put(put, "f", { args: [], command: "/opt/m" })).toBe(put);
    expect(codexServers.take(put, "f", { container: false })).toBe(text);
  });
  test("tables that somebody wrote behind ours stay, with the comments above them", () => {
    const put = `${codexServers.put(text, "f", block)}\n# later\n[profiles.x]\nmodel = "y"\n`;
    expect(codexServers.take(put, "f", { container: false })).toBe(`${text}\n\n# later\n[profiles.x]\nmodel = "y"\n`);
  });
  test("the entry of the earlier generation goes", () => {
    const old = '[mcp_servers.cuba-memorys]\ncommand = "old"\n[mcp_servers.cuba-memorys.env]\nA = "1"\n';
    expect(parseToml(codexServers.put(old, "f", block))).toEqual({ mcp_servers: { "memory-industry": block } });
  });
  test("what is invalid, or in a form that a table cannot extend, is refused", () => {
    expect(() => codexServers.put("a = = 1", "f", block)).toThrow("not valid TOML");
    for (const form of [
      "mcp_servers = { other = { command = 'x' } }\n",
      "mcp_servers = 3\n",
      '[mcp_servers]\nmemory-industry = { command = "x" }\n',
    ])
      expect(() => codexServers.put(form, "f", block)).toThrow("left as it is");
  });
  test("a multi-line text that looks like our header is text", () => {
    const tricky = 'note = """\n[mcp_servers.memory-industry]\n"""\n';
    expect(() => codexServers.put(tricky, "f", block)).toThrow("left as it is");
    expect(() => codexServers.take(tricky, "f", { container: false })).toThrow("left as it is");
  });
});

const tomlValue = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.string(), { maxLength: 3 }));
const tomlText = fc
  .tuple(
    fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), tomlValue, { maxKeys: 3 }),
    fc.dictionary(names, fc.dictionary(fc.constantFrom("command", "x y"), tomlValue, { minKeys: 1 }), { maxKeys: 2 }),
    fc.constantFrom("\n", "\r\n"),
    fc.constantFrom("", "# end", "\n\n"),
  )
  .map(([top, servers, ending, tail]) => {
    const printed = printToml({ ...top, ...(Object.keys(servers).length > 0 ? { mcp_servers: servers } : {}) });
    return (printed + tail).replaceAll("\n", ending);
  });

describe("TOML, any file", () => {
  test("put adds our entry behind the rest, twice is once, take leaves the rest", () => {
    fc.assert(
      fc.property(tomlText, (text) => {
        const put = codexServers.put(text, "f", block);
        expect(put.startsWith(text)).toBe(true);
        expect(codexServers.find(put, "f").entry).toEqual(block);
        expect(codexServers.put(put, "f", block)).toBe(put);
        expect(codexServers.take(put, "f", { container: true }).trimEnd()).toBe(text.trimEnd());
      }),
    );
  });
});
