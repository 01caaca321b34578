/**
 * The real program with the official MCP client: one scenario over stdio through a bridge and its daemon, over stdio in one process, and over HTTP; from
 * source and as the compiled file, alone in an empty directory.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { z } from "zod";
import { build } from "../../scripts/build.ts";
import { hostTarget } from "../../scripts/targets.ts";
import { readOwner } from "../../src/daemon/owner-lock.ts";
import { VERSION } from "../../src/kernel/version.ts";
import { writeTinyModel } from "../support/tiny-model.ts";
import { lives, until } from "./processes/harness.ts";

/** Building takes seconds; a first start unpacks the database; the machine may be busy. */
setDefaultTimeout(180_000);

const root = resolve(import.meta.dir, "../..");
const work = mkdtempSync(join(tmpdir(), "mi-program-"));
const compiled = join(work, process.platform === "win32" ? "memory-industry.exe" : "memory-industry");
const programs: Record<string, readonly [string, ...string[]]> = {
  "from source": [process.execPath, join(root, "src/main.ts")],
  compiled: [compiled],
};

beforeAll(async () => {
  const host = hostTarget();
  if (host === undefined) throw new Error(`there is no build target for ${process.platform}-${process.arch}`);
  await build(host, "src/main.ts", compiled);
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** A home of its own, an empty directory to start in, and no other variable; what was started in it ends with it. */
async function place() {
  const home = mkdtempSync(join(work, "home-"));
  const directory = join(home, "empty");
  mkdirSync(directory);
  const data = join(home, "data");
  const env = { HOME: home, PATH: "/usr/bin:/bin", MEMORY_INDUSTRY_DATA_DIR: data, MEMORY_INDUSTRY_LOG: "debug" };
  return {
    directory,
    env,
    async [Symbol.asyncDispose]() {
      const owner = readOwner(join(data, "daemon.lock"));
      if (owner === undefined || !lives(owner.pid)) return;
      process.kill(owner.pid, "SIGTERM");
      await until("the daemon of the test to end", () => !lives(owner.pid));
    },
  };
}

/** Whatever the client could not read on stdout: there must be nothing but JSON-RPC. */
async function connect(transport: Transport): Promise<{ client: Client; unreadable: readonly Error[] }> {
  const unreadable: Error[] = [];
  const client = new Client({ name: "contract", version: "1.0.0" });
  client.onerror = (error) => unreadable.push(error);
  await client.connect(transport);
  return { client, unreadable };
}

const answer = z.object({ structuredContent: z.record(z.string(), z.unknown()), isError: z.boolean().optional() });

async function scenario(client: Client): Promise<void> {
  expect(client.getServerVersion()).toMatchObject({ version: VERSION });
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toContain("cuba_cronica");
  const call = async (name: string, args: Record<string, unknown>) => answer.parse(await client.callTool({ name, arguments: args }));

  for (const name of ["gateway", "billing"]) expect((await call("cuba_alma", { action: "create", name })).isError).not.toBe(true);
  const stored = await call("cuba_cronica", { action: "add", entity_name: "gateway", content: "The API gateway listens on port 9090." });
  expect(stored.structuredContent).toMatchObject({ action: "add", entity_name: "gateway", superseded: 0 });
  const related = await call("cuba_puente", {
    action: "create",
    from_entity: "gateway",
    to_entity: "billing",
    relation_type: "depends_on",
  });
  expect(related.isError).not.toBe(true);

  const { structuredContent: found } = await call("cuba_alma", { action: "get", name: "gateway" });
  expect(found).toMatchObject({ observation_count: 1 });
  expect(JSON.stringify(found)).toContain("The API gateway listens on port 9090.");
  expect(JSON.stringify(found)).toContain("billing");
  const { resources } = await client.listResources();
  expect(resources.map(({ uri }) => uri)).toEqual(expect.arrayContaining(["memory://context", "cuba://entity/gateway"]));
  const { contents } = await client.readResource({ uri: "cuba://entity/gateway" });
  expect(JSON.stringify(contents)).toContain("The API gateway listens on port 9090.");
  const wrong = await call("cuba_cronica", { action: "add", entity_name: "gateway" });
  expect(wrong.isError).toBe(true);
  expect(JSON.stringify(wrong.structuredContent)).toContain("content");
}

describe.each(Object.keys(programs))("the program %s", (name) => {
  const command = () => programs[name] ?? [compiled];
  const stdio = (env: Record<string, string>, cwd: string) => {
    const [program, ...args] = command();
    return new StdioClientTransport({ command: program, args, env, cwd, stderr: "ignore" });
  };

  test("says its version, alone", async () => {
    await using here = await place();
    const child = Bun.spawn([...command(), "--version"], { env: here.env, cwd: here.directory, stdout: "pipe", stderr: "pipe" });
    expect(await child.stdout.text()).toBe(`memory-industry ${VERSION}\n`);
    expect(await child.stderr.text()).toBe("");
    expect(await child.exited).toBe(0);
  });

  test("stores, relates and finds over stdio through a daemon, and a second window sees it", async () => {
    await using here = await place();
    const { client, unreadable } = await connect(stdio(here.env, here.directory));
    await scenario(client);
    const second = await connect(stdio(here.env, here.directory));
    const seen = answer.parse(await second.client.callTool({ name: "cuba_alma", arguments: { action: "get", name: "gateway" } }));
    expect(seen.structuredContent).toMatchObject({ observation_count: 1 });
    await Promise.all([client.close(), second.client.close()]);
    expect([...unreadable, ...second.unreadable]).toEqual([]);
    expect(readdirSync(here.directory)).toEqual([]);
  });

  test("does the same in one process, and leaves no other behind", async () => {
    await using here = await place();
    const { client, unreadable } = await connect(stdio({ ...here.env, MEMORY_INDUSTRY_DAEMON: "off" }, here.directory));
    await scenario(client);
    await client.close();
    expect(unreadable).toEqual([]);
    expect(readOwner(join(here.env.MEMORY_INDUSTRY_DATA_DIR, "daemon.lock"))).toBeUndefined();
  });

  test("does the same over HTTP", async () => {
    await using here = await place();
    const server = Bun.spawn([...command(), "serve", "127.0.0.1:0"], {
      env: here.env,
      cwd: here.directory,
      stdout: "pipe",
      stderr: "pipe",
    });
    let log = "";
    const reading = (async () => {
      const decoder = new TextDecoder();
      for await (const bytes of server.stderr) log += decoder.decode(bytes, { stream: true });
    })();
    const address = () => /"message":"listening","address":"(http:[^"]+)"/.exec(log)?.[1];
    await until("the server to listen", () => address() !== undefined || server.exitCode !== null);
    const { client, unreadable } = await connect(new StreamableHTTPClientTransport(new URL(`${address()}/mcp`)));
    await scenario(client);
    await client.close();
    server.kill("SIGTERM");
    expect(await server.exited).toBe(0);
    await reading;
    expect(await server.stdout.text()).toBe("");
    expect(unreadable).toEqual([]);
  });
});

/** Needs strace; where it is missing or may not trace, the test is skipped and says so. */
const traceable =
  process.platform === "linux" && Bun.which("strace") !== null && Bun.spawnSync(["strace", "-o", "/dev/null", "true"]).exitCode === 0;

test.skipIf(!traceable)("opens no connection and writes nowhere but in its own directories, a model loaded (strace)", async () => {
  await using here = await place();
  const model = join(here.env.HOME, "model");
  const trace = join(here.env.HOME, "trace");
  await writeTinyModel(model);
  const env = { ...here.env, MEMORY_INDUSTRY_DAEMON: "off", ONNX_MODEL_PATH: model };
  const child = Bun.spawn(["strace", "-f", "-qq", "-e", "trace=socket,connect,sendto,sendmsg,sendmmsg", "-o", trace, compiled], {
    env,
    cwd: here.directory,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  const request = { action: "add", entity_name: "gateway", content: "The API gateway listens on port 9090." };
  child.stdin.write(
    `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "cuba_cronica", arguments: request } })}\n`,
  );
  child.stdin.end();
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  expect(await child.exited).toBe(0);
  expect(stdout).toContain('\\"embedding\\":\\"pending\\"');
  // The runtime of 1.29 and 1.30 would have made a device id and a queue of events here, and an uploader's socket (decision 0020).
  expect(stderr).toContain('"message":"embedding model loaded"');
  expect(readFileSync(trace, "utf8")).not.toMatch(/AF_INET/);
  expect(readdirSync(here.env.HOME).sort()).toEqual([".cache", "data", "empty", "model", "trace"]);
  expect(readdirSync(join(here.env.HOME, ".cache"))).toEqual(["memory-industry"]);
  expect(readdirSync(here.directory)).toEqual([]);
});
