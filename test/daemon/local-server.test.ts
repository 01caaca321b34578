import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, lchownSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Activity, createActivity } from "../../src/daemon/activity.ts";
import { type LocalServer, serveLocal } from "../../src/daemon/local-server.ts";
import { refused, unavailable } from "../../src/kernel/errors.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import type { McpServer } from "../../src/mcp/connection.ts";
import { type DaemonLink, linkTo } from "../../src/transports/daemon-link.ts";
import type { Bye, Hello } from "../../src/transports/frames.ts";
import { connectLocal } from "../../src/transports/socket.ts";
import { createSmallServer, type SmallServer } from "../transports/small-server.ts";

let dir: string;
let path: string;
const servers: LocalServer[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "mi-local-"));
  path = join(dir, "daemon.sock");
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close(0);
  rmSync(dir, { recursive: true, force: true });
});

const hello: Hello = {
  kind: "bridge",
  version: "1.0.0",
  connection: "c1",
  label: "cursor",
  project: "p",
  syncDir: undefined,
  profile: "lean",
  directory: "/w",
  settings: {},
};

function start(mcp: Promise<McpServer> | McpServer = createSmallServer()): { server: LocalServer; activity: Activity } {
  const activity = createActivity();
  const server = serveLocal({
    path,
    mcp: Promise.resolve(mcp),
    facts: { version: "1.0.0", pid: 7, owner: "auto", command: ["x", "daemon"] },
    settings: { MODE: "1", EMBED_MODEL: "2" },
    activity,
    answer: async (question, version) => {
      if (question === "drain") throw refused("not now");
      return { question, version };
    },
    log: silentLogger,
  });
  servers.push(server);
  return { server, activity };
}

async function link(change: Partial<Hello> = {}) {
  const found = await linkTo(path, { ...hello, ...change }, 5_000);
  if (found.kind !== "linked") throw new Error(`the daemon is ${found.kind}`);
  const lines: string[] = [];
  const byes: Bye[] = [];
  const waiting: (() => void)[] = [];
  found.link.attach({
    onLine(text) {
      lines.push(text);
      for (const check of waiting) check();
    },
    onBye: (bye) => byes.push(bye),
    onClosed: () => {},
  });
  const until = (count: number) =>
    new Promise<void>((resolve) => {
      const check = () => lines.length >= count && resolve();
      waiting.push(check);
      check();
    });
  return { link: found.link, answers: () => lines.map((line) => JSON.parse(line)), byes, until };
}

const call = (to: DaemonLink, id: number, name: string, args: object = {}) =>
  to.send(JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } }));

describe("the local socket", () => {
  test("is for its owner alone, and gone after the end", async () => {
    const { server } = start();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await server.close(0);
    expect(existsSync(path)).toBe(false);
    expect(await linkTo(path, hello, 1_000)).toEqual({ kind: "absent" });
  });

  test.skipIf(process.getuid?.() !== 0)("of a stranger is not spoken to: it could have been put there to listen", async () => {
    const mcp = createSmallServer();
    start(mcp);
    lchownSync(path, 12_345, 12_345);
    expect(await linkTo(path, hello, 1_000)).toEqual({ kind: "absent" });
    expect(mcp.peers).toEqual([]);
  });

  test("welcomes with who it is and in which settings the caller differs", async () => {
    start();
    const { link: opened } = await link({ settings: { MODE: "1", EMBED_MODEL: "3", CHUNK_CHARS: "4" } });
    expect(opened.welcome).toEqual({
      version: "1.0.0",
      pid: 7,
      owner: "auto",
      command: ["x", "daemon"],
      differs: ["EMBED_MODEL", "CHUNK_CHARS"],
    });
    await opened.ready;
    expect((await link({ settings: {} })).link.welcome.differs).toEqual(["MODE", "EMBED_MODEL"]);
    expect((await link({ kind: "cli" })).link.welcome.differs).toEqual([]);
  });

  test("tells the product who is at the other end", async () => {
    const mcp = createSmallServer();
    start(mcp);
    const it = await link();
    call(it.link, 1, "echo");
    await it.until(1);
    expect(mcp.peers).toEqual([
      {
        transport: "bridge",
        principal: { kind: "owner" },
        label: "cursor",
        machine: undefined,
        protocolSession: "c1",
        project: "p",
        directory: "/w",
        profile: "lean",
      },
    ]);
  });

  test("a malformed line costs its sender an error and nobody a connection", async () => {
    start();
    const it = await link();
    it.link.send("{broken");
    call(it.link, 1, "echo");
    await it.until(2);
    expect(it.answers().map(({ id }) => id)).toEqual([null, 1]);
  });

  test("who does not greet first is no client", async () => {
    const mcp = createSmallServer();
    start(mcp);
    const closed = Promise.withResolvers<void>();
    const channel = await connectLocal(path, { onLine: () => {}, onClose: () => closed.resolve() });
    channel.writer.send('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    await closed.promise;
    expect(mcp.peers).toEqual([]);
  });

  test("questions are answered or refused with the reason", async () => {
    start();
    const { link: opened } = await link();
    expect(await opened.ask("status", "2.0.0")).toEqual({ question: "status", version: "2.0.0" });
    await expect(opened.ask("drain", "2.0.0")).rejects.toThrow("not now");
  });

  test("bridges are counted while they are connected, commands are not bridges", async () => {
    const { server, activity } = start();
    const bridge = await link();
    const command = await link({ kind: "cli", label: undefined });
    expect(server.bridges).toBe(1);
    expect(server.clients().map(({ kind, label }) => [kind, label])).toEqual([
      ["bridge", "cursor"],
      ["cli", "anonymous"],
    ]);
    call(command.link, 1, "echo");
    await command.until(1);
    expect(activity.served).toBe(1);
    await bridge.link.finish(1_000);
    while (server.bridges > 0) await Bun.sleep(1);
    expect(server.clients()).toHaveLength(1);
  });

  test("large answers pass whole and in order", async () => {
    start();
    const it = await link();
    for (let id = 0; id < 5; id++) call(it.link, id, "large", { chars: 2_000_000 });
    await it.until(5);
    expect(it.answers().map(({ id, result }) => [id, result.content[0].text.length])).toEqual([0, 1, 2, 3, 4].map((id) => [id, 2_000_000]));
  });

  test("an end of input is answered in full, then closed", async () => {
    const mcp = createSmallServer();
    start(mcp);
    const it = await link();
    call(it.link, 1, "hold");
    while (mcp.handled.length === 0) await Bun.sleep(1);
    const finished = it.link.finish(60_000);
    mcp.release();
    await finished;
    expect(it.answers()).toMatchObject([{ id: 1 }]);
    while (mcp.open > 0) await Bun.sleep(1);
  });

  test("one that says so is told apart from one that is cut off, by its machine or by us: that one may come back", async () => {
    const mcp = createSmallServer();
    const { server } = start(mcp);
    const [done, lost, dismissed] = [await link(), await link(), await link()];
    for (const it of [done, lost, dismissed]) await it.link.ready;
    await done.link.finish(60_000);
    while (mcp.ends.length < 1) await Bun.sleep(1);
    lost.link.abort();
    while (mcp.ends.length < 2) await Bun.sleep(1);
    server.dismiss("handover");
    await server.close(60_000);
    await dismissed.link.closed;
    expect(mcp.ends).toEqual(["left", undefined, undefined]);
  });

  test("a client that goes takes its calls with it", async () => {
    const mcp = createSmallServer();
    const { activity } = start(mcp);
    const it = await link();
    call(it.link, 1, "hold");
    while (mcp.handled.length === 0) await Bun.sleep(1);
    it.link.abort();
    expect(await activity.settled(30_000)).toBe(true);
    expect(mcp.open).toBe(0);
  });
});

describe("a daemon that is not ready", () => {
  test("welcomes, and works on messages once it is", async () => {
    const composed = Promise.withResolvers<SmallServer>();
    start(composed.promise);
    const it = await link();
    call(it.link, 1, "echo");
    composed.resolve(createSmallServer());
    await it.link.ready;
    await it.until(1);
    expect(it.answers()).toMatchObject([{ id: 1 }]);
  });

  test("and never will be, says why, and that it took nothing", async () => {
    const composed = Promise.withResolvers<SmallServer>();
    const { server } = start(composed.promise);
    const it = await link();
    call(it.link, 1, "echo");
    composed.reject(unavailable("vector(1024) is not vector(384)"));
    await expect(it.link.ready).rejects.toThrow("vector(1024) is not vector(384)");
    await server.close(0);
    await it.link.closed;
    expect(it.byes).toEqual([{ reason: "failed", text: "vector(1024) is not vector(384)", accepted: 0 }]);
    expect(it.answers()).toEqual([]);
  });
});

describe("a daemon that goes", () => {
  test("says how many messages it took, answers those, and takes no more", async () => {
    const mcp = createSmallServer();
    const { server } = start(mcp);
    const it = await link();
    call(it.link, 1, "hold");
    call(it.link, 2, "echo");
    await it.until(1);
    server.dismiss("handover");
    call(it.link, 3, "echo");
    mcp.release();
    await server.close(60_000);
    await it.link.closed;
    expect(it.byes).toEqual([{ reason: "handover", text: undefined, accepted: 2 }]);
    expect(it.answers().map(({ id }) => id)).toEqual([2, 1]);
    expect(mcp.handled).toEqual(["hold", "echo"]);
  });

  test("hears the answers that its running calls wait for, and no further call", async () => {
    const mcp = createSmallServer();
    const { server } = start(mcp);
    const it = await link();
    call(it.link, 1, "sample");
    await it.until(1);
    server.dismiss("handover");
    while (it.byes.length === 0) await Bun.sleep(1);
    call(it.link, 2, "echo");
    it.link.send('{"jsonrpc":"2.0","id":"srv_1","result":"yes"}');
    await it.until(2);
    expect(it.answers()[1]).toMatchObject({ id: 1, result: { content: [{ text: '"yes"' }] } });
    expect(mcp.handled).toEqual(["sample"]);
    expect(it.byes).toMatchObject([{ accepted: 1 }]);
  });

  test("does not wait for ever for a call", async () => {
    const mcp = createSmallServer();
    const { server } = start(mcp);
    const it = await link();
    call(it.link, 1, "hold");
    while (mcp.handled.length === 0) await Bun.sleep(1);
    await server.close(5);
    await it.link.closed;
    expect(mcp.open).toBe(0);
  });
});
