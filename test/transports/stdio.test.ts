import { describe, expect, test } from "bun:test";
import { createLogger, silentLogger } from "../../src/kernel/logger.ts";
import { linkInProcess } from "../../src/transports/in-process.ts";
import { type ClientOptions, serveClient } from "../../src/transports/stdio.ts";
import { createSmallServer, ownerOnStdio } from "./small-server.ts";

/** A process's streams without the process: write text in, read parsed lines out. */
function start(options: Partial<ClientOptions> = {}) {
  const server = createSmallServer();
  const input = new TransformStream<Uint8Array, Uint8Array>();
  const typing = input.writable.getWriter();
  let out = "";
  const seen: (() => void)[] = [];
  const ended = serveClient(
    {
      input: input.readable,
      output: async (text) => {
        out += text;
        for (const check of seen) check();
      },
      offline: () => Promise.reject(new Error("not needed here")),
      handlerTimeoutMs: 1_000,
      handshakeLimitMs: undefined,
      log: silentLogger,
      ...options,
    },
    { open: async () => linkInProcess("1.0.0", (send) => server.connect(ownerOnStdio, send)), expectHeir: () => {} },
  );
  const lines = () =>
    out
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  return {
    server,
    ended,
    lines,
    raw: () => out,
    type: (text: string) => typing.write(new TextEncoder().encode(text)),
    end: () => typing.close(),
    until: (count: number) =>
      new Promise<void>((resolve) => {
        const check = () => lines().length >= count && resolve();
        seen.push(check);
        check();
      }),
  };
}

const call = (id: unknown, name: string, args: object = {}) =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } })}\n`;

describe("MCP on a pair of streams", () => {
  test("one call without a newline and without initialize, then end of input: one document, nothing else", async () => {
    const it = start();
    await it.type(call("a", "echo", { x: "界" }).trimEnd());
    await it.end();
    expect(await it.ended).toBe(0);
    expect(JSON.parse(it.raw())).toEqual({ jsonrpc: "2.0", id: "a", result: { content: [{ type: "text", text: '{"x":"界"}' }] } });
  });

  test("a parse error between two good lines loses neither", async () => {
    const it = start();
    await it.type(`${call(1, "echo")}{broken\n${call(2, "echo")}`);
    await it.end();
    await it.ended;
    const ids = it.lines().map((line) => line.id);
    expect(ids.toSorted()).toEqual([1, 2, null]);
    expect(it.lines().find((line) => line.id === null).error.code).toBe(-32700);
  });

  test("a call that waits holds up no other, and answers come in order of completion", async () => {
    const it = start();
    await it.type(call(1, "hold") + call(2, "echo"));
    await it.until(1);
    expect(it.lines().map((line) => line.id)).toEqual([2]);
    it.server.release();
    await it.until(2);
    expect(it.lines().map((line) => line.id)).toEqual([2, 1]);
    await it.end();
    await it.ended;
  });

  test("what was asked before the end of input is answered before the end", async () => {
    const it = start();
    await it.type(call(1, "hold"));
    await it.end();
    await Promise.resolve();
    it.server.release();
    expect(await it.ended).toBe(0);
    expect(it.lines()).toMatchObject([{ id: 1, result: { content: [{ text: "released" }] } }]);
    expect(it.server.open).toBe(0);
  });

  test("a call that never ends is waited for twice the handler timeout, then aborted", async () => {
    const it = start({ handlerTimeoutMs: 10 });
    await it.type(call(1, "hold"));
    await it.end();
    expect(await it.ended).toBe(0);
    expect(it.server.open).toBe(0);
  });

  test("a batch is answered by the protocol layer, not by the transport", async () => {
    const it = start();
    await it.type("[]\n");
    await it.end();
    await it.ended;
    expect(it.lines()).toMatchObject([{ id: null, error: { code: -32600 } }]);
  });

  test("our own requests reach the client and its answer comes back", async () => {
    const it = start();
    await it.type(call(1, "sample", { prompt: "p" }));
    await it.until(1);
    expect(it.lines()).toMatchObject([{ id: "srv_1", method: "sampling/createMessage" }]);
    await it.type('{"jsonrpc":"2.0","id":"srv_1","result":"yes"}\n');
    await it.until(2);
    expect(it.lines()[1]).toMatchObject({ id: 1, result: { content: [{ text: '"yes"' }] } });
    await it.end();
    await it.ended;
  });

  test("without a valid request within the limit it ends and says why", async () => {
    const log: string[] = [];
    const it = start({ handshakeLimitMs: 5, log: createLogger({ level: "error", write: (line) => log.push(line) }) });
    await it.type("[]\n");
    expect(await it.ended).toBe(1);
    expect(log.join()).toContain("handshake");
  });

  test("any valid request satisfies the watchdog, also without initialize", async () => {
    const it = start({ handshakeLimitMs: 60 });
    await it.type(call(1, "hold"));
    await Bun.sleep(120);
    it.server.release();
    await it.until(1);
    await it.end();
    expect(await it.ended).toBe(0);
  });

  test("a stop signal takes the same road as end of input", async () => {
    const stop = new AbortController();
    const it = start({ stop: stop.signal });
    await it.type(call(1, "echo"));
    await it.until(1);
    stop.abort();
    expect(await it.ended).toBe(0);
    expect(it.server.open).toBe(0);
  });

  test("a client that is gone ends it", async () => {
    const it = start({ output: () => Promise.reject(new Error("EPIPE")) });
    await it.type(call(1, "echo"));
    expect(await it.ended).toBe(0);
  });
});
