import { describe, expect, test } from "bun:test";
import { initialize, initialized, isLost, settle, startRelay as start } from "./relay-harness.ts";

describe("what passes a bridge", () => {
  test("requests wait for the daemon and reach it in order; answers come back as they were", async () => {
    const it = start();
    it.call(1);
    it.call("1");
    expect(it.opened()).toBe(1);
    const daemon = await it.connect();
    expect(daemon.got().map((message) => message.id)).toEqual([1, "1"]);
    daemon.say({ jsonrpc: "2.0", id: "1", result: { a: 1 } });
    daemon.say({ jsonrpc: "2.0", id: 1, error: { code: -32602, message: "no" } });
    expect(it.out()).toEqual([
      { jsonrpc: "2.0", id: "1", result: { a: 1 } },
      { jsonrpc: "2.0", id: 1, error: { code: -32602, message: "no" } },
    ]);
  });

  test("what is no request never reaches the daemon", () => {
    const it = start();
    it.type("{broken");
    it.type("[]");
    it.type({ id: 3, method: "ping" });
    it.type({ jsonrpc: "2.0", id: 4, result: {} });
    expect(it.out().map(({ id, error }) => [id, error.code])).toEqual([
      [null, -32700],
      [null, -32600],
      [3, -32600],
    ]);
    expect(it.opened()).toBe(0);
    expect(it.relay.greeted).toBe(false);
  });

  test("a client that skipped initialize gets answers only", async () => {
    const it = start();
    it.call(1);
    const daemon = await it.connect();
    daemon.say({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } });
    daemon.say({ jsonrpc: "2.0", id: 1, result: {} });
    expect(it.out()).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }]);
  });

  test("progress and requests of the daemon pass, and the client's answer goes back", async () => {
    const it = start();
    it.type(initialize);
    const daemon = await it.connect();
    daemon.say({ jsonrpc: "2.0", id: 0, result: {} });
    daemon.say({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } });
    daemon.say({ jsonrpc: "2.0", id: "srv_1", method: "sampling/createMessage", params: {} });
    it.type({ jsonrpc: "2.0", id: "srv_1", result: { content: { type: "text", text: "yes" } } });
    it.type({ jsonrpc: "2.0", id: "srv_9", result: {} });
    expect(
      it
        .out()
        .slice(1)
        .map((message) => message.method),
    ).toEqual(["notifications/progress", "sampling/createMessage"]);
    expect(daemon.got().slice(1)).toEqual([{ jsonrpc: "2.0", id: "srv_1", result: { content: { type: "text", text: "yes" } } }]);
  });

  test("a cancelled request is no longer waited for, and a late answer to it is dropped", async () => {
    const it = start();
    it.call(1);
    const daemon = await it.connect();
    it.type({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    expect(daemon.got().at(-1).method).toBe("notifications/cancelled");
    daemon.say({ jsonrpc: "2.0", id: 1, result: {} });
    await it.relay.finish();
    expect(it.out()).toEqual([]);
  });

  test("a request cancelled before there was a daemon is never sent", async () => {
    const it = start();
    it.call(1);
    it.call(2);
    it.type({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    const daemon = await it.connect();
    expect(daemon.got().map((message) => message.id)).toEqual([2]);
  });

  test("the end waits for every answer, then tells the daemon", async () => {
    const it = start();
    it.call(1);
    const daemon = await it.connect();
    let done = false;
    const finished = it.relay.finish().then(() => (done = true));
    await settle();
    expect(done).toBe(false);
    daemon.say({ jsonrpc: "2.0", id: 1, result: {} });
    await finished;
    expect(daemon.finished).toEqual([2_000]);
  });

  test("the end gives up after twice the handler timeout, with an error and not in silence", async () => {
    const it = start({ handlerTimeoutMs: 5 });
    it.call(1);
    await it.connect();
    await it.relay.finish();
    expect(it.out()).toMatchObject([
      { id: 1, result: { isError: true, content: [{ text: expect.stringContaining("outcome of this call is unknown") }] } },
    ]);
  });

  test("a daemon that is silent for three times a call's limit is reported, not waited for in silence; its late answer is dropped", async () => {
    const it = start({ handlerTimeoutMs: 20 });
    it.call(1);
    const daemon = await it.connect(77);
    while (it.out().length === 0) await Bun.sleep(10);
    expect(it.out()).toMatchObject([{ id: 1, result: { isError: true, content: [{ text: expect.stringContaining("process 77") }] } }]);
    daemon.say({ jsonrpc: "2.0", id: 1, result: {} });
    expect(it.out()).toHaveLength(1);
    await it.relay.finish();
  });

  test("an end without a question starts no daemon", async () => {
    const it = start();
    await it.relay.finish();
    expect(it.opened()).toBe(0);
  });
});

describe("a daemon that is lost", () => {
  test("calls in flight get an error that says how to check; the next call is answered after initialize was replayed", async () => {
    const it = start();
    it.type(initialize);
    const first = await it.connect(1);
    first.say({ jsonrpc: "2.0", id: 0, result: { protocolVersion: "2025-11-25" } });
    it.type(initialized);
    it.call(7);
    first.close();
    expect(it.out().slice(1)).toMatchObject([{ id: 7, ...isLost }]);
    expect(it.opened()).toBe(1);

    it.call(8);
    const second = await it.connect(2);
    const [replayed, again, call] = second.got();
    expect(replayed).toMatchObject({ method: "initialize", params: initialize.params });
    expect(replayed.id).not.toBe(0);
    expect(again).toEqual(initialized);
    expect(call.id).toBe(8);
    second.say({ jsonrpc: "2.0", id: replayed.id, result: { protocolVersion: "2025-11-25" } });
    second.say({ jsonrpc: "2.0", id: 8, result: { ok: true } });
    expect(it.out().slice(2)).toEqual([{ jsonrpc: "2.0", id: 8, result: { ok: true } }]);
  });

  test("requests that change nothing are asked again, once", async () => {
    const it = start();
    it.type({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const first = await it.connect(1);
    first.close();
    const second = await it.connect(2);
    expect(second.got()).toMatchObject([{ id: 1, method: "tools/list" }]);
    second.close();
    expect(it.out()).toMatchObject([{ id: 1, error: { code: -32603 } }]);
  });

  test("an initialize in flight is simply sent again", async () => {
    const it = start();
    it.type(initialize);
    (await it.connect(1)).close();
    const second = await it.connect(2);
    expect(second.got()).toEqual([initialize]);
    second.say({ jsonrpc: "2.0", id: 0, result: {} });
    expect(it.out()).toEqual([{ jsonrpc: "2.0", id: 0, result: {} }]);
  });

  test("the successor's questions get numbers the client has not seen, and a late answer to the dead one is dropped", async () => {
    const it = start();
    it.type(initialize);
    const first = await it.connect(1);
    first.say({ jsonrpc: "2.0", id: 0, result: {} });
    first.say({ jsonrpc: "2.0", id: "srv_1", method: "sampling/createMessage", params: { of: "first" } });
    first.close();
    expect(it.out().at(-1)).toMatchObject({ method: "notifications/cancelled", params: { requestId: "srv_1" } });
    it.call(1);
    const second = await it.connect(2);
    second.say({ jsonrpc: "2.0", id: "srv_1", method: "sampling/createMessage", params: { of: "second" } });
    expect(it.out().at(-1)).toMatchObject({ id: "srv_2", params: { of: "second" } });
    const before = second.got().length;
    it.type({ jsonrpc: "2.0", id: "srv_1", result: "late" });
    it.type({ jsonrpc: "2.0", id: "srv_2", result: "in time" });
    expect(second.got().slice(before)).toEqual([{ jsonrpc: "2.0", id: "srv_1", result: "in time" }]);
  });
});

describe("a daemon that says goodbye", () => {
  test("what it took is answered by it, what it did not take goes to the next, nothing is lost and nothing twice", async () => {
    const it = start();
    it.call(1);
    const first = await it.connect(1);
    it.call(2);
    it.call(3);
    first.bye({ reason: "handover", accepted: 2 });
    expect(it.heirs()).toBe(1);
    const second = await it.connect(2);
    expect(second.got().map((message) => message.id)).toEqual([3]);
    first.say({ jsonrpc: "2.0", id: 1, result: {} });
    first.say({ jsonrpc: "2.0", id: 2, result: {} });
    first.close({ reason: "handover", text: undefined, accepted: 2 });
    second.say({ jsonrpc: "2.0", id: 3, result: {} });
    expect(it.out().map((message) => [message.id, message.result])).toEqual([
      [1, {}],
      [2, {}],
      [3, {}],
    ]);
  });

  test("the answer it still waits for goes to it, and not to its successor", async () => {
    const it = start();
    it.type(initialize);
    const first = await it.connect(1);
    first.say({ jsonrpc: "2.0", id: 0, result: {} });
    first.say({ jsonrpc: "2.0", id: "srv_1", method: "sampling/createMessage", params: {} });
    first.bye({ reason: "handover", accepted: 1 });
    it.call(1);
    const second = await it.connect(2);
    const before = second.got().length;
    it.type({ jsonrpc: "2.0", id: "srv_1", result: "yes" });
    expect(first.got().at(-1)).toEqual({ jsonrpc: "2.0", id: "srv_1", result: "yes" });
    expect(second.got()).toHaveLength(before);
    first.say({ jsonrpc: "2.0", id: "srv_2", method: "sampling/createMessage", params: {} });
    first.close({ reason: "handover", text: undefined, accepted: 1 });
    it.type({ jsonrpc: "2.0", id: "srv_2", result: "late" });
    expect(second.got()).toHaveLength(before);
  });

  test("replayed messages count, so that the number it names means the same to both", async () => {
    const it = start();
    it.type(initialize);
    const first = await it.connect(1);
    first.say({ jsonrpc: "2.0", id: 0, result: {} });
    it.type(initialized);
    first.close();
    it.call(1);
    const second = await it.connect(2);
    it.call(2);
    second.bye({ reason: "stop", accepted: 3 });
    const third = await it.connect(3);
    expect(
      third
        .got()
        .map((message) => message.id ?? message.method)
        .slice(-1),
    ).toEqual([2]);
    second.close();
    expect(it.out().slice(1)).toMatchObject([{ id: 1, ...isLost }]);
  });

  test("one that cannot start gives its reason as the result of each tool call; the rest is answered without it", async () => {
    const it = start();
    it.type(initialize);
    it.call(1);
    const daemon = await it.connect();
    daemon.bye({ reason: "failed", text: "vector(1024) is not vector(384)" });
    daemon.close({ reason: "failed", text: undefined, accepted: 0 });
    await settle();
    expect(it.out()).toMatchObject([
      { id: 0, result: { offline: true } },
      { id: 1, result: { isError: true, content: [{ text: "vector(1024) is not vector(384)" }] } },
    ]);
    expect(it.opened()).toBe(1);
  });
});

describe("no daemon at all", () => {
  test("initialize and ping are answered, a call gets the reason, and later calls do not wait for another try at once", async () => {
    const it = start();
    it.type(initialize);
    await it.fail("disk full");
    it.type({ jsonrpc: "2.0", id: 1, method: "ping" });
    it.call(2);
    await settle();
    expect(it.out()).toMatchObject([
      { id: 0, result: { offline: true } },
      { id: 1, result: { offline: true } },
      { id: 2, result: { isError: true, content: [{ text: "disk full" }] } },
    ]);
    expect(it.opened()).toBe(1);
  });

  test("a later call tries again, and initialize is replayed to the daemon that then comes", async () => {
    const it = start({ retryAfterMs: 0 });
    it.type(initialize);
    await it.fail("disk full");
    it.call(1);
    expect(it.opened()).toBe(2);
    const daemon = await it.connect();
    expect(daemon.got().map((message) => message.method)).toEqual(["initialize", "tools/call"]);
  });

  test("while a start takes long the handshake is answered without it, and a call says so after its own time", async () => {
    const it = start({ patienceMs: 0, handlerTimeoutMs: 600 });
    it.type(initialize);
    it.call(1);
    await Bun.sleep(400);
    expect(it.out()).toMatchObject([{ id: 0, result: { offline: true } }]);
    await Bun.sleep(600);
    expect(it.out()[1]).toMatchObject({ id: 1, result: { isError: true, content: [{ text: expect.stringContaining("still starting") }] } });
    const daemon = await it.connect();
    expect(daemon.got().map((message) => message.method)).toEqual(["initialize"]);
    await it.relay.finish();
  });
});
