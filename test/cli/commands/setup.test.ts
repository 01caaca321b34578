import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { runCli } from "../../../src/cli/run.ts";
import { hookBlock } from "../../../src/cli/setup/hook.ts";
import { type FakeHost, fakeHost, type Script } from "../fake-host.ts";

const program = "/opt/memory industry/memory-industry";
const files = {
  claude: ".claude.json",
  cursor: ".cursor/mcp.json",
  codex: ".codex/config.toml",
  mcp: ".mcp.json",
  warp: ".warp/.mcp.json",
} as const;
type Client = keyof typeof files;
const clients = Object.keys(files).filter((name): name is Client => name in files);

/** A host whose home has `content` in the client's file, with `mode`. */
function withFile(client: Client, content: string, script: Script = {}, mode = 0o644): { host: FakeHost; file: string } {
  const host = fakeHost(script);
  const file = join(host.home, files[client]);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, mode);
  return { host, file };
}

/** Everything below a directory: path, kind, mode and bytes. */
function snapshot(root: string): Record<string, string> {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).map((entry): [string, string] => {
    const path = join(entry.parentPath, entry.name);
    const { mode } = lstatSync(path);
    const body = entry.isFile() ? readFileSync(path, "latin1") : entry.isSymbolicLink() ? "link" : "directory";
    return [path.slice(root.length), `${(mode & 0o777).toString(8)} ${body}`];
  });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

const backupsOf = (file: string): string[] => readdirSync(dirname(file)).filter((name) => /\.bak-\d{8}T\d{6}Z/.test(name));

const originals: Record<string, string> = {
  "comments and trailing commas": '// top\n{\n  "mcpServers": {\n    "other": { "command": "x" }, // mine\n  },\n}\n',
  "BOM and CRLF": '\uFEFF{\r\n\t"theme": "dark",\r\n\t"mcpServers": {\r\n\t\t"other": {}\r\n\t}\r\n}\r\n',
  "no section": '{"theme":"dark"}',
  "an empty section": '{ "mcpServers": { } }',
  "an empty object over lines": "{\n\n}\n",
  "the earlier generation": '{"mcpServers": {"cuba-memorys": {"command": "old"}}}\n',
  "an empty file": "",
};

describe("apply and remove", () => {
  test.each(Object.keys(originals))(
    "a file with %s comes back to the byte; applying twice changes nothing the second time",
    async (name) => {
      const original = originals[name] ?? "";
      for (const client of ["claude", "cursor", "mcp", "warp"] as const) {
        const { host, file } = withFile(client, original, {}, 0o600);
        const before = snapshot(host.home);
        expect(await runCli(["setup", client, "--apply"], host)).toBe(0);
        const once = snapshot(host.home);
        expect(readFileSync(file, "utf8")).toContain(JSON.stringify(program));
        expect(statSync(file).mode & 0o777).toBe(0o600);
        expect(backupsOf(file)).toHaveLength(1);
        expect(readFileSync(join(dirname(file), backupsOf(file)[0] ?? ""), "utf8")).toBe(original);
        await runCli(["setup", client, "--apply"], host);
        expect(snapshot(host.home)).toEqual(once);
        expect(await runCli(["setup", "remove", client, "--apply"], host)).toBe(0);
        expect(snapshot(host.home)).toEqual(before);
        expect(await runCli(["setup", "remove", client, "--apply"], host)).toBe(0);
        expect(snapshot(host.home)).toEqual(before);
      }
    },
  );

  test("what was not there before is gone afterwards: files, directories, receipts", async () => {
    const host = fakeHost();
    for (const client of clients) expect(await runCli(["setup", client, "--apply"], host)).toBe(0);
    for (const client of clients) expect(statSync(join(host.home, files[client])).mode & 0o777).toBe(0o600);
    expect(await runCli(["setup", "remove", "--apply"], host)).toBe(0);
    expect(snapshot(host.home)).toEqual({});
  });

  test("Codex's file too, with comments and other tables", async () => {
    const { host, file } = withFile("codex", '# mine\r\nmodel = "o3"\r\n[mcp_servers.other]\r\ncommand = "x" # y\r\n', {}, 0o640);
    const before = snapshot(host.home);
    await runCli(["setup", "codex", "--apply"], host);
    expect(readFileSync(file, "utf8")).toContain("[mcp_servers.memory-industry]\r\n");
    await runCli(["setup", "remove", "--apply"], host);
    expect(snapshot(host.home)).toEqual(before);
  });

  test("a symlink stays one; the file behind it is edited", async () => {
    const host = fakeHost();
    const real = join(host.home, "dotfiles.json");
    writeFileSync(real, '{"a":1}\n');
    symlinkSync("dotfiles.json", join(host.home, ".claude.json"));
    const before = snapshot(host.home);
    await runCli(["setup", "claude", "--apply"], host);
    expect(lstatSync(join(host.home, ".claude.json")).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, "utf8")).toContain("memory-industry");
    await runCli(["setup", "remove", "--apply"], host);
    expect(snapshot(host.home)).toEqual(before);
  });

  test("what another program wrote in between stays; only our key goes", async () => {
    const { host, file } = withFile("claude", '{\n  "mcpServers": {}\n}\n');
    await runCli(["setup", "claude", "--apply"], host);
    const now = { ...JSON.parse(readFileSync(file, "utf8")), startups: 7 };
    now.mcpServers.other = { command: "x" };
    writeFileSync(file, JSON.stringify(now, null, 2));
    await runCli(["setup", "remove", "--apply"], host);
    expect(readFileSync(file, "utf8")).toBe('{\n  "mcpServers": {\n    "other": {\n      "command": "x"\n    }\n  },\n  "startups": 7\n}');
    expect(backupsOf(file)).toEqual([]);
  });

  test("an entry that somebody has edited since is named and kept", async () => {
    const { host, file } = withFile("cursor", "{}");
    await runCli(["setup", "cursor", "--apply"], host);
    const edited = readFileSync(file, "utf8").replace('"args": []', '"args": ["--mine"]');
    writeFileSync(file, edited);
    expect(await runCli(["setup", "remove", "--apply"], host)).toBe(0);
    expect(readFileSync(file, "utf8")).toBe(edited);
    expect(host.err()).toContain(`Kept: ${file} (somebody has edited this entry since)`);
  });

  test("one broken file does not keep the others", async () => {
    const host = fakeHost();
    await runCli(["setup", "claude", "--apply"], host);
    await runCli(["setup", "cursor", "--apply"], host);
    writeFileSync(join(host.home, ".claude.json"), "{ broken");
    await runCli(["setup", "remove", "--apply"], host);
    expect(existsSync(join(host.home, ".cursor"))).toBe(false);
    expect(readFileSync(join(host.home, ".claude.json"), "utf8")).toBe("{ broken");
    expect(host.err()).toContain(".claude.json");
  });

  test("an update of the program replaces the entry, and removing takes the new one", async () => {
    const { host, file } = withFile("mcp", '{"mcpServers":{"other":{}}}');
    await runCli(["setup", "mcp", "--apply"], host);
    await runCli(["setup", "mcp", "--apply"], { ...host, program: ["/opt/new/memory-industry"] });
    expect(JSON.parse(readFileSync(file, "utf8")).mcpServers["memory-industry"].command).toBe("/opt/new/memory-industry");
    await runCli(["setup", "remove", "--apply"], host);
    expect(readFileSync(file, "utf8")).toBe('{"mcpServers":{"other":{}}}');
    expect(readdirSync(host.home)).toEqual([".mcp.json"]);
  });

  test("applying and removing is nothing, for any JSON file", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.constantFrom(0, 1, 2, "\t"),
        fc.boolean(),
        async (value, indent, crlf) => {
          const text = JSON.stringify({ ...value, mcpServers: undefined }, null, indent);
          const { host } = withFile("claude", crlf ? text.replaceAll("\n", "\r\n") : text);
          const before = snapshot(host.home);
          await runCli(["setup", "claude", "--apply"], host);
          await runCli(["setup", "remove", "--apply"], host);
          expect(snapshot(host.home)).toEqual(before);
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe("plans and refusals", () => {
  test("without --apply nothing is written, and the line that applies it is printed", async () => {
    const { host } = withFile("claude", "{}");
    const before = snapshot(host.home);
    expect(await runCli(["setup", "claude", "--with-database-url"], host)).toBe(0);
    expect(host.out()).toContain("Nothing was changed. To apply it:\n  memory-industry setup claude --with-database-url --apply\n");
    expect(await runCli(["setup", "remove"], host)).toBe(0);
    expect(snapshot(host.home)).toEqual(before);
  });

  test("a file that is not valid is refused untouched", async () => {
    for (const [client, content] of [
      ["claude", "{ invalid"],
      ["cursor", "[]"],
      ["codex", "= 1"],
      ["warp", '{"mcpServers": []}'],
    ] as const) {
      const { host } = withFile(client, content);
      const before = snapshot(host.home);
      expect(await runCli(["setup", client, "--apply"], host)).toBe(1);
      expect(host.err()).toContain(files[client].split("/").at(-1) ?? "?");
      expect(snapshot(host.home)).toEqual(before);
    }
  });

  test("bytes that are no UTF-8 and symlinks into nothing are refused untouched", async () => {
    const { host, file } = withFile("claude", "");
    writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d]));
    expect(await runCli(["setup", "claude", "--apply"], host)).toBe(1);
    expect([...readFileSync(file)]).toEqual([0x7b, 0xff, 0x7d]);
    const other = fakeHost();
    symlinkSync("nowhere.json", join(other.home, ".claude.json"));
    expect(await runCli(["setup", "claude", "--apply"], other)).toBe(1);
    expect(lstatSync(join(other.home, ".claude.json")).isSymbolicLink()).toBe(true);
  });

  test("without a home directory nothing is written anywhere", async () => {
    const host = fakeHost({ installation: { home: undefined } });
    expect(await runCli(["setup", "claude", "--apply"], host)).toBe(1);
    expect(host.err()).toContain("HOME and USERPROFILE");
  });
});

describe("the entry", () => {
  const entryOf = (file: string) => JSON.parse(readFileSync(file, "utf8")).mcpServers["memory-industry"];

  test("holds what is set here and nothing that is unset", async () => {
    const { host, file } = withFile("claude", "{}", {
      installation: { clientVariables: [{ name: "ONNX_MODEL_PATH", value: "/no/such/model", isPath: true }] },
    });
    await runCli(["setup", "claude", "--apply"], host);
    expect(entryOf(file)).toEqual({ command: program, args: [], env: { ONNX_MODEL_PATH: "/no/such/model" } });
    expect(host.err()).toContain("/no/such/model does not exist yet");
  });

  test("a password is copied only when asked to", async () => {
    const clientVariables = [{ name: "DATABASE_URL", value: "postgres://me:hunter2@db/x", isPath: false }];
    const { host, file } = withFile("claude", "{}", { installation: { clientVariables } });
    await runCli(["setup", "claude", "--apply"], host);
    expect(readFileSync(file, "utf8")).not.toContain("hunter2");
    expect(host.err()).toContain("--with-database-url");
    await runCli(["setup", "claude", "--with-database-url", "--apply"], host);
    expect(entryOf(file).env.DATABASE_URL).toBe("postgres://me:hunter2@db/x");
  });

  test("the working directory's name is the label where it is a project", async () => {
    const { host, file } = withFile("claude", "{}");
    mkdirSync(join(host.home, "my api", ".git"), { recursive: true });
    const installation = () => ({ ...host.installation(), workingDirectory: join(host.home, "my api") });
    await runCli(["setup", "claude", "--apply"], { ...host, installation });
    expect(entryOf(file).env).toEqual({ MEMORY_INDUSTRY_CLIENT_ID: "my api" });
  });

  test("the clone of this program lends no client its name: everybody runs setup there", async () => {
    const { host, file } = withFile("claude", "{}");
    const clone = join(host.home, "memory-industry");
    mkdirSync(join(clone, ".git"), { recursive: true });
    const installation = () => ({ ...host.installation(), workingDirectory: clone });
    await runCli(["setup", "claude", "--apply"], { ...host, installation, program: ["/bun", join(clone, "src", "main.ts")] });
    expect(entryOf(file).env).toEqual({});
  });

  test("over HTTP it is a url with a client id", async () => {
    const { host, file } = withFile("claude", "{}");
    await runCli(["setup", "claude", "--http", "--apply"], host);
    expect(entryOf(file)).toEqual({ type: "http", url: "http://127.0.0.1:8787/mcp", headers: { "Mcp-Client-Id": "claude" } });
  });
});

describe("check", () => {
  const put = (host: FakeHost, client: Client, entry: unknown) => {
    const file = join(host.home, files[client]);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify({ mcpServers: { "memory-industry": entry } }));
  };

  test("a fresh machine has no problems", async () => {
    const host = fakeHost();
    expect(await runCli(["setup"], host)).toBe(0);
    expect(host.out()).toContain("memory-industry setup claude --apply");
  });

  test("the session hook is among what is looked at", async () => {
    const host = fakeHost();
    await runCli(["setup"], host);
    expect(host.out()).toMatch(/^Session hook {3}not configured {2}\S+settings\.json$/m);
    await runCli(["setup", "hook", "--apply"], host);
    await runCli(["setup"], host);
    expect(host.out()).toMatch(/^Session hook {3}configured {6}\S+settings\.json$/m);
  });

  test("one client with another dimension is a serious divergence, an absent value counting as the default", async () => {
    const host = fakeHost();
    put(host, "claude", { command: process.execPath, env: { CUBA_EMBEDDING_DIM: "1024" } });
    put(host, "cursor", { command: process.execPath });
    expect(await runCli(["setup", "check", "--json"], host)).toBe(1);
    expect(JSON.parse(host.out()).divergences).toEqual([
      { variable: "CUBA_EMBEDDING_DIM", serious: true, values: { "Claude Code": "1024", Cursor: "384" } },
    ]);
  });

  test("a missing program, a dead path, an HTTP entry without a client id and the earlier generation are named", async () => {
    const host = fakeHost();
    put(host, "claude", { command: "/no/such/program", env: { ONNX_MODEL_PATH: "/no/model" } });
    put(host, "cursor", { url: "http://127.0.0.1:8787/mcp" });
    const project = join(host.home, "projects", "api");
    mkdirSync(project, { recursive: true });
    writeFileSync(join(project, ".mcp.json"), JSON.stringify({ mcpServers: { "cuba-memorys": { command: "x" } } }));
    expect(await runCli(["setup", "check"], host)).toBe(1);
    for (const text of ["/no/such/program does not exist", "ONNX_MODEL_PATH=/no/model does not exist", "Mcp-Client-Id", "'cuba-memorys'"])
      expect(host.out()).toContain(text);
  });
});

describe("the hook command", () => {
  const commandOf = (program: string[], platform: string) => {
    const { hooks } = hookBlock(program, platform);
    return Array.isArray(hooks) ? hooks[0].command : undefined;
  };
  test("is quoted for a POSIX shell, and runs there as it stands", () => {
    const program = `/tmp/it's "here" $HOME & 项目/memory-industry`;
    const command = commandOf([program], "linux");
    // The shell itself says which words it sees.
    const seen = Bun.spawnSync(["/bin/sh", "-c", `set -- ${command}; printf '%s\\n' "$@"`]).stdout.toString();
    expect(seen.split("\n")).toEqual([program, "recall", "--quiet", ""]);
  });
  test("is quoted for cmd where the platform is Windows", () => {
    expect(commandOf(["C:\\Users\\Jane Doe\\memory-industry.exe"], "win32")).toBe(
      '"C:\\Users\\Jane Doe\\memory-industry.exe" recall --quiet',
    );
    expect(commandOf(["C:\\bin\\memory-industry.exe"], "win32")).toBe('"C:\\bin\\memory-industry.exe" recall --quiet');
  });
});

describe("the session hook", () => {
  const recall = { name: "recall", summary: "", needs: "nothing", writes: "no", args: {}, start: async () => 0 } as const;

  test("is not offered while there is nothing for it to run", async () => {
    const { commands } = await import("../../../src/cli/registry.ts");
    const without = commands.filter(({ name }) => name !== "recall");
    const host = fakeHost();
    expect(await runCli(["setup", "hook", "--apply"], host, without)).toBe(2);
    expect(snapshot(host.home)).toEqual({});
  });

  test("quotes the program, is added once beside foreign hooks, and goes to the byte", async () => {
    const { commands } = await import("../../../src/cli/registry.ts");
    const all = [...commands.filter(({ name }) => name !== "recall"), recall];
    const host = fakeHost();
    const file = join(host.home, ".claude", "settings.json");
    mkdirSync(dirname(file));
    writeFileSync(
      file,
      '{\n  // mine\n  "hooks": {\n    "SessionStart": [\n      {"hooks": [{"type": "command", "command": "echo hi"}]}\n    ]\n  }\n}\n',
    );
    const before = snapshot(host.home);
    expect(await runCli(["setup", "hook", "--apply"], host, all)).toBe(0);
    expect(readFileSync(file, "utf8")).toContain(`"command": "'/opt/memory industry/memory-industry' recall --quiet"`);
    const once = snapshot(host.home);
    await runCli(["setup", "hook", "--apply"], host, all);
    expect(snapshot(host.home)).toEqual(once);
    await runCli(["setup", "remove", "hook", "--apply"], host, all);
    expect(snapshot(host.home)).toEqual(before);
  });

  test.each([
    ["a clone in a folder of any name", ["/home/ana/src/my clone/node_modules/bun/bin/bun.exe", "/home/ana/src/my clone/src/main.ts"]],
    ["a clone on Windows", ["C:\\dev\\mi\\node_modules\\bun\\bin\\bun.exe", "C:\\dev\\mi\\src\\main.ts"]],
    ["the one file under another name", ["/usr/local/bin/mi"]],
  ] as [string, [string, ...string[]]][])("of %s is known again: written once, and taken away", async (_, clone) => {
    const host = fakeHost({ program: clone });
    expect(await runCli(["setup", "hook", "--apply"], host)).toBe(0);
    const once = snapshot(host.home);
    expect(await runCli(["setup", "hook", "--apply"], host)).toBe(0);
    expect(snapshot(host.home)).toEqual(once);
    expect(await runCli(["setup", "remove", "--apply"], host)).toBe(0);
    expect(snapshot(host.home)).toEqual({});
  });

  test("of a clone that lay elsewhere is replaced, not added a second time", async () => {
    const elsewhere = fakeHost({ program: ["/old/bun", "/old/clone/src/main.ts"] });
    const file = join(elsewhere.home, ".claude", "settings.json");
    expect(await runCli(["setup", "hook", "--apply"], elsewhere)).toBe(0);
    const host = { ...elsewhere, program: ["/new/bun", "/new/clone/src/main.ts"] as const };
    expect(await runCli(["setup", "hook", "--apply"], host)).toBe(0);
    const { hooks } = JSON.parse(readFileSync(file, "utf8"));
    expect(hooks.SessionStart).toHaveLength(1);
    expect(hooks.SessionStart[0].hooks[0].command).toBe("/new/bun /new/clone/src/main.ts recall --quiet");
  });
});

test("the plan shows the entry as it will stand in the file: TOML for Codex", async () => {
  const host = fakeHost();
  expect(await runCli(["setup", "codex"], host)).toBe(0);
  expect(host.out()).toContain("[mcp_servers.memory-industry]\ncommand = ");
});
