/** The program itself, from its sources, on a home of its own: bridge, daemon and embedded database as a user has them. */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { readOwner } from "../../../src/daemon/owner-lock.ts";
import { migratedDirectory } from "../../support/engines.ts";
import { type Client, createClient, request, textOf, until } from "./harness.ts";

const main = resolve(import.meta.dir, "../../../src/main.ts");
/** A first start without the built template sets a database up: some seconds, more where others use the processor too. */
setDefaultTimeout(180_000);

let base: string;
let data: string;
const children: Bun.Subprocess[] = [];

beforeEach(async () => {
  base = mkdtempSync(join(tmpdir(), "mi-program-"));
  data = join(base, "data");
  mkdirSync(join(base, "home"));
  mkdirSync(data, { mode: 0o700 });
  cpSync(await migratedDirectory(), join(data, "db"), { recursive: true });
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill("SIGKILL");
    await child.exited;
  }
  for (const pid of daemons()) process.kill(pid, "SIGKILL");
  await until("every daemon to end", () => daemons().length === 0);
  rmSync(base, { recursive: true, force: true });
});

/** Daemons of this test: they work in its data directory, wherever they came from. */
function daemons(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`) === data && readFileSync(`/proc/${pid}/cmdline`).length > 0;
      } catch {
        return false;
      }
    });
}

function start(env: Record<string, string> = {}): Client {
  const child = Bun.spawn([process.execPath, main], {
    cwd: base,
    // Nothing on PATH: neither node nor bun.
    env: { HOME: join(base, "home"), CUBA_DATA_DIR: data, PATH: "/nonexistent", LANG: "C", ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  children.push(child);
  return createClient(child);
}

const initialize = { jsonrpc: "2.0", id: "i", method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {} } };
const add = (entity: string, content: string) => ["cuba_cronica", { action: "add", entity_name: entity, content }] as const;
const list = (entity: string) => ["cuba_cronica", { action: "list", entity_name: entity }] as const;

/** One process a call: no initialize, no newline, end of input. */
async function oneShot(name: string, args: object, env: Record<string, string> = {}): Promise<string> {
  const client = start(env);
  client.send(JSON.stringify(request("one", name, args)));
  client.end();
  expect([await client.exited, client.errors()]).toEqual([0, client.errors()]);
  const answer = JSON.parse(client.raw());
  expect(answer.id).toBe("one");
  return textOf(answer);
}

describe("npm start", () => {
  const run = (...words: string[]) => {
    const child = Bun.spawn([process.execPath, main, ...words], {
      cwd: base,
      env: { HOME: join(base, "home"), CUBA_DATA_DIR: data, CUBA_HTTP_ADDR: "127.0.0.1:0", PATH: "/nonexistent", LANG: "C" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.push(child);
    return child;
  };
  const npm = Bun.which("npm");
  const readUntil = async (stream: ReadableStream<Uint8Array>, word: string) => {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of stream) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes(word)) break;
    }
    return text;
  };

  test("a second one says where the first listens and ends well; a second serve promises no port and says who has the directory", async () => {
    const first = await readUntil(run("start").stdout, "Try it");
    const [, url = "none"] = /is running at (http:\S+)\/mcp/.exec(first) ?? [];
    expect(url).toStartWith("http://127.0.0.1:");
    const second = run("start");
    expect(await new Response(second.stdout).text()).toContain(`already runs at ${url}/mcp`);
    expect(await second.exited).toBe(0);
    const third = run("serve");
    const said = await new Response(third.stderr).text();
    expect(await third.exited).toBe(1);
    expect(said).toContain(`listening on ${url.slice("http://".length)}`);
  });

  test.skipIf(npm === null)("says that it runs when a call is answered, and stops when npm is told to stop", async () => {
    const child = Bun.spawn([npm ?? "npm", "start"], {
      cwd: resolve(import.meta.dir, "../../.."),
      env: { ...process.env, HOME: join(base, "home"), CUBA_DATA_DIR: data, CUBA_HTTP_ADDR: "127.0.0.1:0" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    children.push(child);
    const [, url = "none"] = /is running at (http:\S+)\/mcp/.exec(await readUntil(child.stdout, "Try it")) ?? [];
    const health = await fetch(`${url}/health`);
    expect(await health.json()).toMatchObject({ database: "up" });
    const owner = readOwner(join(data, "daemon.lock"))?.pid ?? 0;
    expect(existsSync(`/proc/${owner}`)).toBe(true);
    try {
      child.kill("SIGTERM");
      await until("the server to end", () => !existsSync(`/proc/${owner}`));
    } finally {
      // Not a child of this test: npm's shell is.
      if (existsSync(`/proc/${owner}`)) process.kill(owner, "SIGKILL");
    }
  });
});

test("with neither a home nor a data directory the handshake is answered, each call says why, and the end is 1", async () => {
  const child = Bun.spawn([process.execPath, main], { cwd: base, env: { PATH: "/nonexistent" }, stdio: ["pipe", "pipe", "pipe"] });
  children.push(child);
  const client = createClient(child);
  client.send(initialize);
  expect((await client.answerTo("i")).result).toMatchObject({ serverInfo: { name: "MemoryIndustry" } });
  const refused = await client.call(...list("Gateway"));
  expect(refused.result?.isError).toBe(true);
  expect(textOf(refused)).toStartWith("No home directory: HOME and USERPROFILE are both unset");
  client.end();
  expect(await client.exited).toBe(1);
  expect(client.errors()).toStartWith("memory-industry: No home directory");
});

test.skipIf(process.platform === "win32")(
  "with too few open files every call says how many are needed; with few a handful of clients is served",
  async () => {
    const limited = (files: number) => {
      const child = Bun.spawn(["/bin/sh", "-c", `ulimit -n ${files}; exec "$0" "$@"`, process.execPath, main], {
        cwd: base,
        env: { HOME: join(base, "home"), CUBA_DATA_DIR: data, PATH: "/nonexistent", LANG: "C" },
        stdio: ["pipe", "pipe", "pipe"],
      });
      children.push(child);
      return createClient(child);
    };
    for (const files of [20, 64, 127]) {
      const client = limited(files);
      client.send(initialize);
      expect((await client.answerTo("i")).result).toMatchObject({ serverInfo: { name: "MemoryIndustry" } });
      const refused = await client.call(...add("Gateway", "never"));
      expect(textOf(refused)).toStartWith(
        `This process may open only ${files} files, and the embedded database needs 128. Nothing was written.`,
      );
      client.end();
      expect(await client.exited).toBe(1);
    }
    const few = Array.from({ length: 8 }, () => limited(128));
    const answers = await Promise.all(few.map((client, at) => client.call(...add("Gateway", `kept ${at} of few`))));
    expect(answers.map(({ result }) => result?.isError)).toEqual(few.map(() => undefined));
  },
);

describe("one process a call", () => {
  test("stdout is one document, and the next process reads what the one before wrote", async () => {
    await oneShot(...add("Gateway", "The gateway listens on port 9090"));
    const nowhere = join(base, "empty");
    mkdirSync(nowhere);
    expect(await oneShot(...list("Gateway"), { CUBA_RERANKER_PATH: nowhere, MEMORY_INDUSTRY_LOG: "debug" })).toContain("port 9090");
    const client = start();
    client.send(JSON.stringify(request("r", "cuba_cronica", { action: "erase" })));
    client.end();
    expect(await client.exited).toBe(0);
    expect(JSON.parse(client.raw())).toMatchObject({ id: "r", result: { isError: true } });
    expect(daemons()).toHaveLength(1);
    expect(statSync(data).mode & 0o777).toBe(0o700);
    for (const name of ["daemon.lock", "daemon.sock", "daemon.log"])
      expect([name, statSync(join(data, name)).mode & 0o077]).toEqual([name, 0]);
  });

  test("the same without a daemon, which leaves no process and no lock", async () => {
    const off = { MEMORY_INDUSTRY_DAEMON: "off" };
    await oneShot(...add("Gateway", "The gateway listens on port 9090"), off);
    expect(daemons()).toEqual([]);
    expect(existsSync(join(data, "daemon.lock"))).toBe(false);
    expect(await oneShot(...list("Gateway"), off)).toContain("port 9090");
    expect(await oneShot(...list("Gateway"))).toContain("port 9090");
  });

  test("without a daemon, while somebody else owns the directory, the call says who", async () => {
    await oneShot(...add("Gateway", "The gateway listens on port 9090"));
    const client = start({ MEMORY_INDUSTRY_DAEMON: "off" });
    client.send(initialize);
    expect((await client.answerTo("i")).result).toMatchObject({ serverInfo: { name: "MemoryIndustry" } });
    const refused = await client.call(...list("Gateway"));
    expect(refused.result?.isError).toBe(true);
    expect(textOf(refused)).toContain(`process ${readOwner(join(data, "daemon.lock"))?.pid}`);
    client.end();
    expect(await client.exited).toBe(1);
  });
});

describe("standard output", () => {
  const isClean = (client: Client) =>
    client
      .raw()
      .trimEnd()
      .split("\n")
      .every((line) => JSON.parse(line).jsonrpc === "2.0");

  test("is JSON-RPC and nothing else while a database is set up, with everything logged and a nonsense setting", async () => {
    rmSync(data, { recursive: true });
    const client = start({ MEMORY_INDUSTRY_LOG: "debug", CUBA_PANEL: "1", CUBA_JUDGE: "xyz" });
    client.send(initialize);
    client.send({ jsonrpc: "2.0", id: "l", method: "tools/list" });
    client.send("{malformed\n");
    client.send(request("a", ...add("E", "one")));
    client.end();
    expect(await client.exited).toBe(0);
    expect(isClean(client)).toBe(true);
    const answers = client
      .raw()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(answers.map(({ id }) => id).toSorted()).toEqual(["a", "i", "l", null]);
    expect(answers.find(({ id }) => id === null).error.code).toBe(-32700);
  });

  test("also with a database that is not there: the handshake is answered, the call says what is wrong", async () => {
    const client = start({ DATABASE_URL: "postgres://nobody:hunter2@127.0.0.1:1/none" });
    client.send(initialize);
    await client.answerTo("i");
    client.send({ jsonrpc: "2.0", id: "l", method: "tools/list" });
    expect((await client.answerTo("l")).result?.tools).toBeDefined();
    const call = await client.call(...list("E"));
    expect(call.result?.isError).toBe(true);
    client.end();
    expect(await client.exited).toBe(0);
    expect(isClean(client)).toBe(true);
    expect(client.raw() + client.errors()).not.toContain("hunter2");
  });
});

describe("a daemon killed with -9 in the middle of writing", () => {
  test("loses no acknowledged write, and nobody sees a locked database", async () => {
    const clients = Array.from({ length: 4 }, () => start());
    for (const client of clients) client.send(initialize);
    await Promise.all(clients.map((client) => client.answerTo("i")));
    const acknowledged: string[] = [];
    const unknown: string[] = [];
    let written = 0;
    const ROUNDS = 25;
    const work = clients.map(async (client, at) => {
      for (let round = 0; round < ROUNDS; round++) {
        const content = `fact number ${at * 1000 + round} of bridge ${at}`;
        const answer = await client.call(...add(`Entity ${at}`, content));
        written++;
        if (answer.result?.isError !== true) acknowledged.push(content);
        else if (textOf(answer).includes("outcome is unknown")) unknown.push(content);
        else throw new Error(textOf(answer));
      }
    });
    const kills = [0.3, 0.6].map(async (share) => {
      await until("a part of the work", () => written >= share * clients.length * ROUNDS);
      process.kill(readOwner(join(data, "daemon.lock"))?.pid ?? -1, "SIGKILL");
    });
    await Promise.all([...work, ...kills]);
    const [client = start()] = clients;
    const kept = await Promise.all(
      clients.map(async (_, at) => textOf(await client.call("cuba_cronica", { action: "list", entity_name: `Entity ${at}`, limit: 100 }))),
    );
    expect(acknowledged.filter((content) => !kept.some((text) => text.includes(`${content}"`)))).toEqual([]);
    expect(acknowledged.length + unknown.length).toBe(clients.length * ROUNDS);
    expect(unknown.length).toBeLessThanOrEqual(2 * clients.length);
    expect(daemons()).toHaveLength(1);
  });
});
