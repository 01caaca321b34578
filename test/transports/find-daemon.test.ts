import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createActivity } from "../../src/daemon/activity.ts";
import { type LocalServer, serveLocal } from "../../src/daemon/local-server.ts";
import { unavailable } from "../../src/kernel/errors.ts";
import { createLogger } from "../../src/kernel/logger.ts";
import type { McpServer } from "../../src/mcp/connection.ts";
import { createDaemonFinder, type FinderOptions, type StartedDaemon } from "../../src/transports/find-daemon.ts";
import type { Welcome } from "../../src/transports/frames.ts";
import { createSmallServer } from "./small-server.ts";

let dir: string;
let socket: string;
const servers: LocalServer[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "mi-find-"));
  socket = join(dir, "daemon.sock");
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close(0);
  rmSync(dir, { recursive: true, force: true });
});

/** A daemon in this process. `drains` = it makes room when asked. */
function daemon(facts: Partial<Welcome> = {}, options: { drains?: boolean; mcp?: Promise<McpServer> } = {}): LocalServer {
  const server = serveLocal({
    path: socket,
    mcp: options.mcp ?? Promise.resolve(createSmallServer()),
    facts: { version: "1.0.0", pid: 7, owner: "auto", command: ["theirs"], ...facts },
    settings: { MODE: "1" },
    activity: createActivity(),
    answer: async () => {
      if (options.drains !== true) throw unavailable("not now");
      setTimeout(() => void server.close(0), 0);
      return {};
    },
    log: createLogger({ level: "off", write: () => {} }),
  });
  servers.push(server);
  return server;
}

function finder(options: Partial<FinderOptions> & { version?: string } = {}) {
  const log: string[] = [];
  const started: (readonly string[])[] = [];
  const found = createDaemonFinder({
    socket,
    hello: {
      kind: "bridge",
      version: options.version ?? "1.0.0",
      connection: "c",
      label: undefined,
      project: undefined,
      syncDir: undefined,
      profile: undefined,
      directory: undefined,
      settings: { MODE: "1" },
    },
    command: ["ours"],
    heir: () => undefined,
    startLimitMs: 20_000,
    log: createLogger({ level: "debug", write: (line) => log.push(line) }),
    ...options,
    start: (command) => {
      started.push(command);
      return options.start?.(command) ?? running();
    },
  });
  return { finder: found, started, log: () => log.join("\n") };
}

const running = (): StartedDaemon => ({ pid: 1, exitCode: () => undefined, reason: () => undefined });
const ended = (code: number | "killed", reason?: string): StartedDaemon => ({ pid: 1, exitCode: () => code, reason: () => reason });

describe("finding the daemon", () => {
  test("one that runs is used, none is started", async () => {
    daemon();
    const it = finder();
    const link = await it.finder.open();
    expect([link.welcome.pid, it.started]).toEqual([7, []]);
    link.abort();
  });

  test("none runs: one is started and waited for", async () => {
    const it = finder({
      start: () => {
        setTimeout(() => daemon(), 50);
        return running();
      },
    });
    (await it.finder.open()).abort();
    expect(it.started).toEqual([["ours"]]);
  });

  test("one that lost the race ended well: the winner is waited for", async () => {
    const it = finder({
      start: () => {
        setTimeout(() => daemon(), 100);
        return ended(0);
      },
    });
    (await it.finder.open()).abort();
    expect(it.started).toHaveLength(1);
  });

  test("one that cannot start: its own words are the reason", async () => {
    const it = finder({ start: () => ended(1, "the disk is full") });
    await expect(it.finder.open()).rejects.toThrow("the disk is full");
    const mute = finder({ start: () => ended(3) });
    await expect(mute.finder.open()).rejects.toThrow("exit code 3");
  });

  test("one that is killed while it starts is started again, but not for ever", async () => {
    const it = finder({ start: () => ended("killed") });
    await expect(it.finder.open()).rejects.toThrow("killed");
    expect(it.started).toHaveLength(5);
  });

  test("one that opens its socket and then cannot open its database says why", async () => {
    const composed = Promise.withResolvers<McpServer>();
    const server = daemon({}, { mcp: composed.promise });
    const opening = finder().finder.open();
    while (server.bridges === 0) await Bun.sleep(1);
    composed.reject(unavailable("a newer schema"));
    await expect(opening).rejects.toThrow("a newer schema");
  });

  test("one that is never ready is given up with a reason", async () => {
    daemon({}, { mcp: new Promise<McpServer>(() => {}) });
    await expect(finder({ startLimitMs: 50 }).finder.open()).rejects.toThrow("No memory daemon answered");
  });

  test("other settings are told once", async () => {
    daemon();
    const it = finder();
    (await it.finder.open()).abort();
    expect(it.log()).not.toContain("other values");
    const other = finder({
      hello: {
        kind: "bridge",
        version: "1.0.0",
        connection: "c",
        label: undefined,
        project: undefined,
        syncDir: undefined,
        profile: undefined,
        directory: undefined,
        settings: { MODE: "2" },
      },
    });
    (await other.finder.open()).abort();
    (await other.finder.open()).abort();
    expect(other.log().match(/other values of MODE/g)).toHaveLength(1);
  });
});

describe("versions", () => {
  test("an older auto-started daemon is asked to make room, then ours is started", async () => {
    daemon({ version: "0.9.0" }, { drains: true });
    const it = finder({
      start: () => {
        daemon({ version: "1.0.0", pid: 8 });
        return running();
      },
    });
    expect((await it.finder.open()).welcome.pid).toBe(8);
    expect(it.started).toEqual([["ours"]]);
  });

  test("at most once: one that comes back older is used as it is", async () => {
    daemon({ version: "0.9.0" }, { drains: true });
    const it = finder({
      start: () => {
        daemon({ version: "0.9.0", pid: 9 }, { drains: true });
        return running();
      },
    });
    expect((await it.finder.open()).welcome.pid).toBe(9);
    expect(it.started).toHaveLength(1);
  });

  test("one that will not is used and warned about; a person's serve is not even asked", async () => {
    const first = daemon({ version: "0.9.0" });
    const refused = finder();
    (await refused.finder.open()).abort();
    expect(refused.log()).toContain("goes on: not now");
    await first.close(0);
    daemon({ version: "0.9.0", owner: "serve" }, { drains: true });
    const person = finder();
    expect((await person.finder.open()).welcome.owner).toBe("serve");
    expect(person.log()).toContain("restart it when it suits you");
  });

  test("a newer daemon is never asked to go, and its program is the one that is started again", async () => {
    const newer = daemon({ version: "2.0.0", command: ["theirs", "daemon"] }, { drains: true });
    const it = finder({
      start: () => {
        daemon({ version: "2.0.0" });
        return running();
      },
    });
    (await it.finder.open()).abort();
    await newer.close(0);
    (await it.finder.open()).abort();
    expect(it.started).toEqual([["theirs", "daemon"]]);
  });

  test("an heir that is announced is waited for and not raced", async () => {
    const it = finder();
    it.finder.expectHeir();
    setTimeout(() => daemon({ version: "2.0.0" }), 100);
    (await it.finder.open()).abort();
    expect(it.started).toEqual([]);

    for (const server of servers.splice(0)) await server.close(0);
    const byRecord = finder({ heir: () => "2.0.0" });
    setTimeout(() => daemon({ version: "2.0.0" }), 100);
    (await byRecord.finder.open()).abort();
    expect(byRecord.started).toEqual([]);
  });
});
