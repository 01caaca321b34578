import { describe, expect, test } from "bun:test";
import { invalid } from "../../src/kernel/errors.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { createMcpEndpoint, type HttpCaller, type McpEndpointOptions } from "../../src/transports/http.ts";
import { createSmallServer } from "./small-server.ts";

const LOCAL: HttpCaller = { access: "full", address: "127.0.0.1", isLocal: true };
const FAR: HttpCaller = { access: "full", address: "10.0.0.7", isLocal: false };

function start(options: Partial<McpEndpointOptions> = {}) {
  const server = createSmallServer();
  const seen: string[] = [];
  let begun = 0;
  const endpoint = createMcpEndpoint({
    mcp: Promise.resolve(server),
    handlerTimeoutMs: 1_000,
    begin: () => {
      begun++;
      return { [Symbol.dispose]() {} };
    },
    saw: (key) => seen.push(key),
    log: silentLogger,
    ...options,
  });
  const post = async (body: unknown, headers: Record<string, string> = {}, caller = LOCAL, signal?: AbortSignal) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const request = new Request("http://127.0.0.1:8787/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: text,
      ...(signal ? { signal } : {}),
    });
    const response = await endpoint(request, caller);
    const raw = await response.text();
    return { status: response.status, type: response.headers.get("content-type"), raw, body: raw === "" ? undefined : JSON.parse(raw) };
  };
  return { server, seen, post, endpoint, begun: () => begun };
}

const call = (id: unknown, name: string, args: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args },
});
const ping = (id: number) => ({ jsonrpc: "2.0", id, method: "ping" });

describe("what POST /mcp answers", () => {
  test("a request gets one object, a batch an array in order, and a batch of one an array", async () => {
    const { post } = start();
    expect(await post(ping(1))).toMatchObject({ status: 200, type: "application/json", body: { jsonrpc: "2.0", id: 1, result: {} } });
    expect((await post([ping(2)])).body).toEqual([{ jsonrpc: "2.0", id: 2, result: {} }]);
    const batch = await post([ping(1), { jsonrpc: "2.0", method: "notifications/initialized" }, call("a", "echo"), { nonsense: true }]);
    expect(batch.body.map(({ id }: { id: unknown }) => id)).toEqual([1, "a", null]);
    expect(batch.body[2].error.code).toBe(-32600);
  });

  test("initialize is plain JSON, also for a client that announces roots", async () => {
    const { post } = start();
    const params = { protocolVersion: "2099-01-01", capabilities: { roots: { listChanged: true } } };
    const answer = await post({ jsonrpc: "2.0", id: 1, method: "initialize", params }, { accept: "application/json, text/event-stream" });
    expect(answer).toMatchObject({ status: 200, type: "application/json", body: { result: { protocolVersion: "2025-11-25" } } });
  });

  test("notifications and answers alone get 202 and not one byte", async () => {
    const { post } = start();
    expect(await post({ jsonrpc: "2.0", method: "notifications/initialized" })).toMatchObject({ status: 202, raw: "" });
    expect(
      await post([
        { jsonrpc: "2.0", method: "notifications/initialized" },
        { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 9 } },
      ]),
    ).toMatchObject({ status: 202, raw: "" });
    expect(await post({ jsonrpc: "2.0", id: "cuba_roots", result: { roots: [{ uri: "file:///a" }] } })).toMatchObject({
      status: 202,
      raw: "",
    });
  });

  test("an empty batch is -32600 with 200", async () => {
    expect(await start().post([])).toMatchObject({ status: 200, body: { id: null, error: { code: -32600 } } });
  });

  test("256 messages are served, 257 get 413 and not one of them ran", async () => {
    const { post, server } = start();
    const many = (count: number) => Array.from({ length: count }, (_, id) => call(id, "echo"));
    expect((await post(many(256))).body).toHaveLength(256);
    expect(server.handled).toHaveLength(256);
    const refused = await post(many(257));
    expect(refused).toMatchObject({ status: 413, body: { id: null, error: { code: -32600 } } });
    expect(refused.body.error.message).toContain("257");
    expect(server.handled).toHaveLength(256);
  });

  test("what is no JSON or no UTF-8 is 400 with -32700", async () => {
    const { post, endpoint } = start();
    expect(await post("{broken")).toMatchObject({ status: 400, body: { id: null, error: { code: -32700 } } });
    expect(await post("")).toMatchObject({ status: 400, body: { error: { code: -32700 } } });
    const bytes = new Uint8Array([0x22, 0xff, 0x22]);
    const response = await endpoint(new Request("http://localhost/mcp", { method: "POST", body: bytes }), LOCAL);
    expect(response.status).toBe(400);
  });

  test("a body over 8 MiB is 413: at once where its length is told, else without reading on", async () => {
    const { endpoint } = start();
    const told = new Request("http://localhost/mcp", { method: "POST", headers: { "content-length": "8388609" }, body: "x" });
    expect((await endpoint(told, LOCAL)).status).toBe(413);
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled++;
        controller.enqueue(new Uint8Array(1024 * 1024).fill(0x20));
      },
    });
    expect((await endpoint(new Request("http://localhost/mcp", { method: "POST", body: endless }), LOCAL)).status).toBe(413);
    expect(pulled).toBeLessThan(14);
  });

  test("an unknown MCP-Protocol-Version is 400 and nothing runs; a known one and none are served", async () => {
    const { post, server } = start();
    expect(await post(call(1, "echo"), { "mcp-protocol-version": "2099-01-01" })).toMatchObject({
      status: 400,
      body: { error: { code: -32600 } },
    });
    expect(server.handled).toEqual([]);
    expect((await post(ping(1), { "mcp-protocol-version": "2025-06-18" })).status).toBe(200);
  });

  test("a POST that takes longer than four calls may gets 504, and its work is stopped", async () => {
    const { post, server } = start({ handlerTimeoutMs: 5 });
    expect(await post(call(1, "hold"))).toMatchObject({ status: 504, body: { id: null, error: { code: -32000 } } });
    expect(server.open).toBe(0);
  });

  test("a client that hangs up cancels its call", async () => {
    const { post, server } = start();
    const gone = new AbortController();
    const answered = post(call(1, "hold"), {}, LOCAL, gone.signal);
    while (server.handled.length === 0) await Bun.sleep(1);
    gone.abort();
    await answered;
    expect(server.open).toBe(0);
  });

  test("where the product cannot be composed the caller gets a JSON-RPC error, not a broken connection", async () => {
    const mcp = Promise.reject(invalid("the database is from a newer version"));
    mcp.catch(() => {});
    const { post } = start({ mcp });
    expect(await post(ping(1))).toMatchObject({
      status: 200,
      body: { id: null, error: { message: "the database is from a newer version" } },
    });
  });
});

describe("who is calling", () => {
  const peerOf = async (body: unknown, headers: Record<string, string> = {}, caller = LOCAL) => {
    const it = start();
    const { status } = await it.post(body, headers, caller);
    return { status, peer: it.server.peers[0], key: it.seen[0] };
  };
  const withMeta = (meta: object) => ({ ...ping(1), params: { _meta: meta } });

  test.each([
    ["the header", ping(1), { "mcp-client-id": " cursor " }, "cursor"],
    ["the message", withMeta({ "io.modelcontextprotocol/client-id": "cursor" }), {}, "cursor"],
    ["the older name in the message", withMeta({ clientId: "cursor" }), {}, "cursor"],
    ["the header before the message", withMeta({ clientId: "other" }), { "mcp-client-id": "cursor" }, "cursor"],
    ["the message where the header is blank", withMeta({ clientId: "cursor" }), { "mcp-client-id": "  " }, "cursor"],
    ["the first message of a batch", [withMeta({ clientId: "cursor" }), withMeta({ clientId: "other" })], {}, "cursor"],
  ])("the label comes from %s", async (_, body, headers, label) => {
    expect((await peerOf(body, headers)).peer?.label).toBe(label);
  });

  test("clientInfo.name is shown, but is no identity", async () => {
    const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params: { clientInfo: { name: "editor" } } };
    const { peer, key } = await peerOf(initialize);
    expect(peer?.label).toBeUndefined();
    expect(key).toBe("editor");
    expect((await peerOf(ping(1))).key).toBe("anonymous");
  });

  test.each([
    [LOCAL, { "mcp-client-id": "cursor" }, "cursor"],
    [LOCAL, { "mcp-client-id": "cursor", "mcp-session-id": "chat-9", "mcp-machine-id": "laptop" }, "cursor::chat-9"],
    [FAR, { "mcp-client-id": "cursor" }, "cursor@10.0.0.7"],
    [FAR, { "mcp-client-id": "cursor", "mcp-machine-id": "laptop", "mcp-session-id": "chat-9" }, "cursor@laptop::chat-9"],
  ])("the key has the label, then the machine of a caller from elsewhere, then the session (%#)", async (caller, headers, key) => {
    expect((await peerOf(ping(1), headers, caller)).key).toBe(key);
  });

  test("ids that are too long are refused and not cut, since two could become one", async () => {
    expect((await peerOf(ping(1), { "mcp-client-id": "x".repeat(129) })).status).toBe(400);
    expect((await peerOf(withMeta({ clientId: "a\nb" }))).status).toBe(400);
    expect((await peerOf(ping(1), { "mcp-client-id": "x".repeat(128) })).status).toBe(200);
  });

  test("a peer token makes a peer, everything else the owner", async () => {
    expect((await peerOf(ping(1), { "mcp-machine-id": "laptop" }, { ...FAR, access: "peer" })).peer?.principal).toEqual({
      kind: "peer",
      id: "laptop",
    });
    expect((await peerOf(ping(1))).peer?.principal).toEqual({ kind: "owner" });
  });
});

describe("the panel's methods", () => {
  const status = { jsonrpc: "2.0", id: 1, method: "admin/status", params: { a: 1 } };

  test("are answered for the owner and do not count as use", async () => {
    const it = start({ admin: async (method, params) => ({ method, params }) });
    expect((await it.post(status)).body.result).toEqual({ method: "admin/status", params: { a: 1 } });
    expect(it.begun()).toBe(0);
    await it.post(ping(1));
    expect(it.begun()).toBe(1);
  });

  test("are refused for a peer", async () => {
    const it = start({ admin: async () => ({}) });
    expect((await it.post(status, {}, { ...LOCAL, access: "peer" })).body.error.code).toBe(-32001);
  });

  test("an unknown one is -32601", async () => {
    expect((await start().post(status)).body.error.code).toBe(-32601);
  });
});
