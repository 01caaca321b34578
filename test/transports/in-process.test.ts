import { describe, expect, test } from "bun:test";
import { linkInProcess } from "../../src/transports/in-process.ts";
import { createSmallServer, ownerOnStdio } from "./small-server.ts";

function start() {
  const server = createSmallServer();
  const out: string[] = [];
  const link = linkInProcess("1.0.0", (send) => server.connect(ownerOnStdio, send));
  let closed = 0;
  link.attach({ onLine: (text) => out.push(text), onBye: () => {}, onClosed: () => closed++ });
  const call = (id: number, name: string) => link.send(JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name } }));
  return { server, link, out, call, closed: () => closed };
}

describe("a daemon in this process", () => {
  test("answers what it is sent, and its own requests come the same way", async () => {
    const it = start();
    it.call(1, "sample");
    it.link.send('{"jsonrpc":"2.0","id":"srv_1","result":"yes"}');
    await it.link.finish(60_000);
    expect(it.out.map((line) => JSON.parse(line)).map(({ id, method }) => [id, method])).toEqual([
      ["srv_1", "sampling/createMessage"],
      [1, undefined],
    ]);
  });

  test("its end waits for what runs, then closes once", async () => {
    const it = start();
    it.call(1, "hold");
    const finished = it.link.finish(60_000);
    it.server.release();
    await finished;
    it.link.abort();
    expect(it.out).toHaveLength(1);
    expect([it.server.open, it.closed()]).toEqual([0, 1]);
  });

  test("its end does not wait for ever", async () => {
    const it = start();
    it.call(1, "hold");
    await it.link.finish(5);
    expect(it.server.open).toBe(0);
  });
});
