/**
 * The project that a client works in, in the real program: the daemon is killed with `kill -9` and told to stop, and its clients go on where they were.
 * On the embedded database, and on the server of `MEMORY_INDUSTRY_TEST_PG`.
 */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { sql } from "drizzle-orm";
import { readOwner } from "../../../src/daemon/owner-lock.ts";
import { daemonPaths } from "../../../src/daemon/paths.ts";
import { openEmbedded } from "../../../src/store/pglite.ts";
import type { Database } from "../../../src/store/port.ts";
import { migratedDirectory, openTestServerDatabase, type ServerTestDatabase, testAssets, testScope } from "../../support/engines.ts";
import { rows } from "../../support/statements.ts";
import { type Client, createClient, lives, request, textOf, until } from "./harness.ts";

const main = resolve(import.meta.dir, "../../../src/main.ts");
const adminUrl = process.env.MEMORY_INDUSTRY_TEST_PG;
/** Many processes on a machine that may be busy. */
setDefaultTimeout(180_000);

let base: string;
let data: string;
let server: ServerTestDatabase | undefined;
const children: Bun.Subprocess[] = [];

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "mi-chosen-"));
  data = join(base, "data");
  mkdirSync(join(base, "home"));
  mkdirSync(join(base, "web"));
  mkdirSync(data, { mode: 0o700 });
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill("SIGKILL");
    await child.exited;
  }
  if (daemon() !== undefined) await end("SIGKILL");
  await server?.[Symbol.asyncDispose]();
  server = undefined;
  rmSync(base, { recursive: true, force: true });
});

const environment = (more: Record<string, string>) => ({
  HOME: join(base, "home"),
  CUBA_DATA_DIR: data,
  PATH: "/nonexistent",
  LANG: "C",
  ...(server === undefined ? {} : { DATABASE_URL: server.url }),
  ...more,
});

/** A window: a bridge that works in the folder `web`. */
function openWindow(env: Record<string, string> = {}): Client {
  const child = Bun.spawn([process.execPath, main], { cwd: join(base, "web"), env: environment(env), stdio: ["pipe", "pipe", "pipe"] });
  children.push(child);
  return createClient(child);
}

/** The daemon of this test; undefined where none lives. */
function daemon(): number | undefined {
  const place = { dataDir: data, databaseUrl: server?.url, temporaryDir: tmpdir(), platform: process.platform, uid: process.getuid?.() };
  const pid = readOwner(daemonPaths(place).lock)?.pid;
  return pid !== undefined && lives(pid) ? pid : undefined;
}

async function end(signal: "SIGKILL" | "SIGTERM", pid = daemon()): Promise<void> {
  if (pid === undefined) throw new Error("no daemon lives that could be ended");
  process.kill(pid, signal);
  await until("the daemon to end", () => !lives(pid));
}

const answerOf = async (window: Client, name: string, args: object) => JSON.parse(textOf(await window.call(name, args)));
const project = (window: Client, args: object) => answerOf(window, "cuba_proyecto", args);
const session = (window: Client, args: object) => answerOf(window, "cuba_jornada", args);
const whereIs = async (window: Client) => {
  const { source, project: at } = await project(window, { action: "current" });
  return `${source} ${at?.name}`;
};

/** Clients whose choice is kept; nobody else may have the embedded database open. */
async function keptClients(): Promise<unknown[]> {
  const read = (db: Database) =>
    rows(db, sql`select source from brain_client_projects order by 1`, testScope({ scope: { kind: "everything" } }));
  if (server !== undefined) return await read(server);
  const db = await openEmbedded({ directory: join(data, "db"), assets: await testAssets(), nodeName: "test" });
  try {
    return await read(db);
  } finally {
    await db[Symbol.asyncDispose]();
  }
}

async function bridges(): Promise<void> {
  const label = { CUBA_CLIENT_ID: "cursor" };
  const windows = {
    one: openWindow(label),
    two: openWindow(label),
    plain: openWindow(label),
    env: openWindow({ CUBA_PROJECT: "payments" }),
    envSwitched: openWindow({ CUBA_PROJECT: "payments" }),
    session: openWindow(label),
    sessionSwitched: openWindow(label),
  };
  const all = Object.values(windows);
  for (const window of all)
    window.send({ jsonrpc: "2.0", id: "i", method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {} } });
  await Promise.all(all.map((window) => window.answerTo("i")));
  await project(windows.one, { action: "switch", name: "alpha" });
  await project(windows.two, { action: "switch", name: "beta" });
  await project(windows.envSwitched, { action: "switch", name: "gamma" });
  await session(windows.session, { action: "start", name: "s", project: "delta" });
  await session(windows.sessionSwitched, { action: "start", name: "t", project: "delta" });
  await project(windows.sessionSwitched, { action: "switch", name: "epsilon" });
  const expected = {
    one: "switch alpha",
    two: "switch beta",
    plain: "directory web",
    env: "env payments",
    envSwitched: "switch gamma",
    session: "session delta",
    sessionSwitched: "session epsilon",
  };
  const told = async () =>
    Object.fromEntries(await Promise.all(Object.entries(windows).map(async ([name, window]) => [name, await whereIs(window)])));
  expect(await told()).toEqual(expected);
  for (const [round, signal] of (["SIGKILL", "SIGKILL", "SIGTERM"] as const).entries()) {
    await end(signal);
    const losses = ["SIGKILL", "SIGKILL", "SIGTERM"].slice(0, round + 1).filter((each) => each === "SIGKILL").length;
    await until("the windows to notice", () => all.every((window) => window.errors().split("the daemon was lost").length > losses));
    // The first call after the loss is a write.
    const content = `round ${round} of window one`;
    expect(await answerOf(windows.one, "cuba_cronica", { action: "add", entity_name: "Gateway", content })).toMatchObject({
      action: "add",
    });
    expect(await told()).toEqual(expected);
  }
  // What window one wrote is where it said it would be, and nowhere else.
  const gateway = async (name: string) => {
    const window = openWindow({ CUBA_PROJECT: name });
    const text = textOf(await window.call("cuba_cronica", { action: "list", entity_name: "Gateway" }));
    window.end();
    await window.exited;
    return ["round 0", "round 1", "round 2"].filter((words) => text.includes(words));
  };
  expect(await Promise.all(["alpha", "beta", "web", "payments"].map(gateway))).toEqual([["round 0", "round 1", "round 2"], [], [], []]);
  for (const window of [windows.one, windows.envSwitched, windows.plain]) window.end();
  for (const window of [windows.one, windows.envSwitched, windows.plain]) expect(await window.exited).toBe(0);
  await end("SIGTERM");
  expect(await keptClients()).toEqual([{ source: "switch" }]);
  expect(await whereIs(windows.two)).toBe("switch beta");
}

/** Two windows of one program, each a process with everything in it; the embedded database belongs to one process at a time. */
async function alone(): Promise<void> {
  const open = async (env: Record<string, string> = {}) => {
    const window = openWindow({ MEMORY_INDUSTRY_DAEMON: "off", ...env });
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "claude-code", version: "1" } };
    window.send({ jsonrpc: "2.0", id: "i", method: "initialize", params });
    await window.answerTo("i");
    return window;
  };
  const close = async (window: Client) => {
    window.end();
    expect(await window.exited).toBe(0);
  };
  const notes = async (window: Client) =>
    (await answerOf(window, "cuba_pizarra", { action: "read" })).entries.map(({ content }: { content: string }) => content);

  const first = await open();
  await session(first, { action: "start", name: "s", project: "alpha" });
  await answerOf(first, "cuba_pizarra", { action: "write", content: "a note of the first window" });
  if (server === undefined) await close(first);
  const second = await open();
  expect(await whereIs(second)).toBe("directory web");
  expect(await session(second, { action: "current" })).toMatchObject({ session: null });
  expect(await notes(second)).toEqual([]);
  expect(await session(second, { action: "start", name: "t", project: "beta" })).toMatchObject({ replaced_previous: false });
  if (server !== undefined) {
    expect(await whereIs(first)).toBe("session alpha");
    expect(await notes(first)).toEqual(["a note of the first window"]);
    expect(await session(first, { action: "end" })).toMatchObject({ updated: true });
    await close(first);
  }
  await close(second);

  // A label is said on purpose: whoever says it is the same client again.
  const label = { CUBA_CLIENT_ID: "builder" };
  const builder = await open(label);
  await session(builder, { action: "start", name: "u", project: "gamma" });
  await close(builder);
  const again = await open(label);
  expect(await whereIs(again)).toBe("session gamma");
  await close(again);
}

async function overHttp(): Promise<void> {
  const serve = async () => {
    const child = Bun.spawn([process.execPath, main, "start"], {
      cwd: base,
      env: environment({ CUBA_HTTP_ADDR: "127.0.0.1:0" }),
      stdio: ["ignore", "pipe", "ignore"],
    });
    children.push(child);
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of child.stdout) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes("Try it")) break;
    }
    const [, url = "none"] = /is running at (http:\S+)\/mcp/.exec(text) ?? [];
    const post = (headers: Record<string, string>, body: object) =>
      fetch(`${url}/mcp`, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
    const said = async (headers: Record<string, string>, name: string, args: object) =>
      textOf(JSON.parse(await (await post(headers, request(1, name, args))).text()));
    const call = async (headers: Record<string, string>, name: string, args: object) => JSON.parse(await said(headers, name, args));
    const current = async (headers: Record<string, string>) => {
      const { source, project: at } = await call(headers, "cuba_proyecto", { action: "current" });
      return `${source} ${at?.name}`;
    };
    return { post, said, call, current };
  };
  const agent = { "mcp-client-id": "agent" };
  const chat = { "mcp-client-id": "agent", "mcp-session-id": "chat-9" };
  const heldSession = { "mcp-session-id": "from before" };
  const rooted = { "mcp-client-id": "rooted" };
  const first = await serve();
  await first.call(agent, "cuba_proyecto", { action: "switch", name: "alpha" });
  await first.call(chat, "cuba_proyecto", { action: "switch", name: "beta" });
  await first.call(heldSession, "cuba_proyecto", { action: "switch", name: "gamma" });
  const roots = { jsonrpc: "2.0", id: "cuba_roots", result: { roots: [{ uri: `file://${join(base, "web")}` }] } };
  expect((await first.post(rooted, roots)).status).toBe(202);
  const told = async ({ current }: Awaited<ReturnType<typeof serve>>) => [
    await current(agent),
    await current(chat),
    await current(heldSession),
    await current(rooted),
  ];
  const expected = ["switch alpha", "switch beta", "switch gamma", "root web"];
  expect(await told(first)).toEqual(expected);
  await end("SIGKILL");
  const second = await serve();
  await second.call(rooted, "cuba_cronica", {
    action: "add",
    entity_name: "Gateway",
    content: "written first of all by the client with a root",
  });
  expect(await told(second)).toEqual(expected);
  const list = { action: "list", entity_name: "Gateway" };
  expect(await second.said(rooted, "cuba_cronica", list)).toContain("first of all");
  expect(await second.said(agent, "cuba_cronica", list)).not.toContain("first of all");
  await end("SIGTERM");
  expect(await told(await serve())).toEqual(expected);
}

describe("the project of a client, on the embedded database,", () => {
  beforeEach(async () => {
    cpSync(await migratedDirectory(), join(data, "db"), { recursive: true });
  });
  test("is the same for every window after its daemon was killed or stopped, and a window that closes leaves nothing", bridges);
  test("is the same over HTTP, a root that was posted too", overHttp);
  test("is no other window's where each process has everything in it, unless both say one label", alone);
});

describe.skipIf(adminUrl === undefined || adminUrl === "")("the project of a client, on a server,", () => {
  beforeEach(async () => {
    server = await openTestServerDatabase(adminUrl ?? "");
  });
  test("is the same for every window after its daemon was killed or stopped, and a window that closes leaves nothing", bridges);
  test("is the same over HTTP, a root that was posted too", overHttp);
  test("is no other window's where each process has everything in it, unless both say one label", alone);
});
