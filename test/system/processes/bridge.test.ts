import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ownIdentity } from "../../../src/daemon/process-identity.ts";
import { createHouse, type House, lives, PATIENCE_MS, request, textOf, until } from "./harness.ts";

let house: House;
beforeEach(() => {
  house = createHouse();
});
afterEach(async () => {
  await house[Symbol.asyncDispose]();
});

const LIMIT_MS = 2 * PATIENCE_MS;

describe("one shot", () => {
  test(
    "one call without initialize and without a newline: stdout is one document, exit 0, and the next process reads what it wrote",
    async () => {
      const first = house.client();
      first.send(JSON.stringify(request("a", "note", { text: "kept" })));
      first.end();
      expect(await first.exited).toBe(0);
      expect(JSON.parse(first.raw())).toEqual({ jsonrpc: "2.0", id: "a", result: { content: [{ type: "text", text: "kept" }] } });

      const second = house.client();
      second.send(JSON.stringify(request("b", "notes")));
      second.end();
      expect(await second.exited).toBe(0);
      expect(JSON.parse(textOf(JSON.parse(second.raw())))).toEqual(["kept"]);
      expect(house.daemons()).toHaveLength(1);
    },
    LIMIT_MS,
  );

  test(
    "a refused call is an answer too, and exit 0",
    async () => {
      const client = house.client();
      client.send(JSON.stringify(request(1, "fail")));
      client.end();
      expect(await client.exited).toBe(0);
      expect(JSON.parse(client.raw())).toMatchObject({ id: 1, result: { isError: true } });
    },
    LIMIT_MS,
  );

  test(
    "no input at all starts nothing",
    async () => {
      const client = house.client();
      client.end();
      expect(await client.exited).toBe(0);
      expect(client.raw()).toBe("");
      expect(house.daemons()).toEqual([]);
    },
    LIMIT_MS,
  );
});

describe("standard output", () => {
  test(
    "every line is JSON-RPC, whatever is logged, and a malformed line costs nothing but its own answer",
    async () => {
      const client = house.client();
      client.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25" } });
      client.send('{"jsonrpc": broken\n\n\r\n');
      client.send({ jsonrpc: "2.0", id: 2, method: "tools/list" });
      client.send(request(3, "large", { chars: 3_000_000 }));
      client.send("[]\n");
      await client.answerTo(3);
      process.kill(house.owner() ?? -1, "SIGKILL");
      client.send(request(4, "echo", { text: "\ud800 界 \u0000" }));
      client.end();
      expect(await client.exited).toBe(0);
      const answers = client
        .raw()
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(answers.every((answer) => answer.jsonrpc === "2.0")).toBe(true);
      expect(answers.map((answer) => answer.id).toSorted()).toEqual([1, 2, 3, 4, null, null]);
      expect(
        answers
          .filter((answer) => answer.id === null)
          .map((answer) => answer.error.code)
          .toSorted(),
      ).toEqual([-32600, -32700]);
      expect(client.errors()).toContain("the daemon was lost");
    },
    LIMIT_MS,
  );
});

describe("two starters", () => {
  test(
    "race to one daemon, and both are answered",
    async () => {
      const clients = Array.from({ length: 4 }, () => house.client());
      const pids = await Promise.all(clients.map(async (client) => textOf(await client.call("pid"))));
      expect(new Set(pids).size).toBe(1);
      await until("the losers to end", () => house.daemons().length === 1);
      expect(house.daemons().map(String)).toEqual([pids[0] ?? ""]);
    },
    LIMIT_MS,
  );
});

describe("a daemon killed with -9", () => {
  test(
    "costs an error for the call in flight, and the next call is answered by a new one that knows the client",
    async () => {
      const client = house.client();
      client.send({ jsonrpc: "2.0", id: "i", method: "initialize", params: { protocolVersion: "2025-06-18", clientInfo: { name: "c" } } });
      await client.answerTo("i");
      client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
      await client.call("note", { text: "one" });
      const first = Number(textOf(await client.call("pid")));
      client.send(request("held", "hold"));
      await client.call("echo");
      process.kill(first, "SIGKILL");
      const lost = await client.answerTo("held");
      expect(lost.result?.isError).toBe(true);
      expect(textOf(lost)).toContain("outcome is unknown");
      const second = Number(textOf(await client.call("pid")));
      expect(second).not.toBe(first);
      expect(textOf(await client.call("notes"))).toBe('["one"]');
      expect(textOf(await client.call("methods"))).toContain("initialize");
      expect(
        client
          .raw()
          .split("\n")
          .filter((line) => line.includes('"protocolVersion"')),
      ).toHaveLength(1);
      expect(house.log()).toContain("took over the data directory of a dead owner");
    },
    LIMIT_MS,
  );

  test(
    "within 100 ms of its death a new bridge is answered",
    async () => {
      const one = house.client();
      const first = Number(textOf(await one.call("pid")));
      process.kill(first, "SIGKILL");
      const other = house.client();
      expect(Number(textOf(await other.call("pid")))).not.toBe(first);
    },
    LIMIT_MS,
  );
});

describe("a daemon whose database engine crashed", () => {
  test(
    "says so once and ends itself with 1, and the next call is answered by another that knows the client",
    async () => {
      const daemon = house.daemon();
      await until("the daemon to own the directory", () => house.owner() === daemon.pid && existsSync(join(house.dir, "daemon.sock")));
      const client = house.client();
      client.send({ jsonrpc: "2.0", id: "i", method: "initialize", params: { protocolVersion: "2025-06-18", clientInfo: { name: "c" } } });
      await client.answerTo("i");
      expect(textOf(await client.call("pid"))).toBe(String(daemon.pid));
      expect(textOf(await client.call("note", { text: "break" }))).toBe("kept");
      expect(await daemon.exited).toBe(1);
      const said = await new Response(daemon.stderr).text();
      // The debug log, which only tests have on, tells the cause beside the one line for a person.
      expect(said.split("\n").filter((line) => line.endsWith("The engine of the tests broke.") && !line.includes("cause"))).toHaveLength(1);
      expect(textOf(await client.call("notes"))).toBe('["break"]');
      expect(textOf(await client.call("methods"))).toContain("initialize");
      expect(textOf(await client.call("pid"))).not.toBe(String(daemon.pid));
    },
    LIMIT_MS,
  );
});

describe("what was left behind", () => {
  test.each([
    ["another boot", { bootId: "11111111-2222-3333-4444-555555555555" }],
    ["the pid of a living stranger", { processStart: "1" }],
  ])(
    "a lock of %s and a socket nobody answers are taken over at once",
    async (_, change) => {
      writeFileSync(
        join(house.dir, "daemon.lock"),
        JSON.stringify({ ...ownIdentity(), version: "1.0.0", address: "auto", since: "2026-01-01T00:00:00Z", ...change }),
      );
      writeFileSync(join(house.dir, "daemon.sock"), "");
      const client = house.client();
      const pid = Number(textOf(await client.call("pid")));
      expect(house.owner()).toBe(pid);
    },
    LIMIT_MS,
  );
});

describe("an auto-started daemon that nobody uses", () => {
  test(
    "ends with nothing left: no process, no lock, no socket",
    async () => {
      const client = house.client({ daemon: ["idle=300"] });
      const pid = Number(textOf(await client.call("pid")));
      client.end();
      expect(await client.exited).toBe(0);
      await until("the daemon to end", () => !lives(pid));
      expect(existsSync(join(house.dir, "daemon.lock"))).toBe(false);
      expect(existsSync(join(house.dir, "daemon.sock"))).toBe(false);
      expect(house.log()).toContain('"why":"idle"');
    },
    LIMIT_MS,
  );

  test(
    "stays for a bridge that is connected and silent, and for a call that takes longer than the window",
    async () => {
      const client = house.client({ daemon: ["idle=200"] });
      const pid = Number(textOf(await client.call("pid")));
      client.send(request("held", "hold"));
      await Bun.sleep(800);
      expect(lives(pid)).toBe(true);
      client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "held" } });
      await Bun.sleep(800);
      expect(textOf(await client.call("pid"))).toBe(String(pid));
    },
    LIMIT_MS,
  );
});

describe("a daemon that cannot start", () => {
  test(
    "the bridge answers the handshake itself and gives the reason as the result of each call",
    async () => {
      const client = house.client({ daemon: ["fail=brain_observations.embedding is vector(1024), the model makes vector(384)"] });
      client.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2099-01-01" } });
      expect((await client.answerTo(1)).result).toMatchObject({ protocolVersion: "2025-11-25" });
      client.send({ jsonrpc: "2.0", id: 2, method: "tools/list" });
      expect((await client.answerTo(2)).result).toMatchObject({ tools: [{ name: "echo" }] });
      const call = await client.call("note", { text: "x" });
      expect(call.result?.isError).toBe(true);
      expect(textOf(call)).toBe("brain_observations.embedding is vector(1024), the model makes vector(384)");
      client.end();
      expect(await client.exited).toBe(1);
      expect(house.daemons()).toEqual([]);
      expect(house.log()).toContain("]: brain_observations.embedding is vector(1024)");
    },
    LIMIT_MS,
  );

  test(
    "a data directory that cannot be made is the reason",
    async () => {
      writeFileSync(join(house.dir, "file"), "");
      const client = createHouseIn(join(house.dir, "file", "data")).client();
      const call = await client.call("note", { text: "x" });
      expect(call.result?.isError).toBe(true);
      expect(textOf(call)).toContain("CUBA_DATA_DIR");
      client.end();
      expect(await client.exited).toBe(1);
    },
    LIMIT_MS,
  );
});

describe("a client that gave up", () => {
  test(
    "leaves no bridge behind: without a valid request it ends with exit 1",
    async () => {
      const client = house.client({ bridge: ["handshake=300"] });
      client.send("[]\n");
      expect(await client.exited).toBe(1);
      expect(client.errors()).toContain("handshake");
      expect(house.daemons()).toEqual([]);
    },
    LIMIT_MS,
  );

  test(
    "killed, its bridge sees the end of its input and its daemon loses the bridge",
    async () => {
      const client = house.client({ daemon: ["idle=300"] });
      const pid = Number(textOf(await client.call("pid")));
      client.kill("SIGKILL");
      await until("the daemon to end", () => !lives(pid));
    },
    LIMIT_MS,
  );

  test(
    "SIGTERM is an orderly end: what was asked is answered, exit 0",
    async () => {
      const client = house.client();
      await client.call("echo");
      client.send(request("late", "slow", { ms: 200 }));
      await Bun.sleep(50);
      client.kill("SIGTERM");
      expect(await client.exited).toBe(0);
      expect(textOf(await client.answerTo("late"))).toBe("slept");
    },
    LIMIT_MS,
  );
});

describe("versions", () => {
  const startCount = () => readFileSync(join(house.dir, "starts"), "utf8").trim().split("\n").length;

  test(
    "a newer bridge takes over once; older bridges follow and never take it back",
    async () => {
      const mark = `mark=${join(house.dir, "starts")}`;
      const old = Array.from({ length: 3 }, () => house.client({ bridge: ["version=1.0.0"], daemon: [mark] }));
      const firstPid = textOf(await (old[0] ?? house.client()).call("pid"));
      await Promise.all(old.map((client) => client.call("note", { text: "before" })));
      const young = Array.from({ length: 3 }, () => house.client({ bridge: ["version=1.1.0"], daemon: [mark] }));
      const both = [...old, ...young];
      const rounds = 30;
      const answers = await Promise.all(
        both.map(async (client, at) => {
          const texts: string[] = [];
          for (let round = 0; round < rounds; round++) texts.push(textOf(await client.call("note", { text: `${at}:${round}` })));
          return texts;
        }),
      );
      expect(answers.flat().every((text) => text === "kept")).toBe(true);
      const pids = new Set(await Promise.all(both.map(async (client) => textOf(await client.call("pid")))));
      expect(pids.size).toBe(1);
      expect([...pids][0]).not.toBe(firstPid);
      const notes: string[] = JSON.parse(textOf(await (young[0] ?? house.client()).call("notes")));
      expect(notes).toHaveLength(3 + both.length * rounds);
      expect(new Set(notes).size).toBe(1 + both.length * rounds);
      expect(startCount()).toBe(2);
      // Killed, the newer program comes back even where an older bridge is the one that asks.
      const [survivor = house.client()] = old;
      process.kill(Number([...pids][0]), "SIGKILL");
      await until("the bridge to notice", () => survivor.errors().includes("the daemon was lost"));
      expect(textOf(await survivor.call("version"))).toBe("1.1.0");
    },
    LIMIT_MS,
  );
});

function createHouseIn(dir: string): Pick<House, "client"> {
  return { client: () => house.client({ bridge: [`dir=${dir}`] }) };
}
