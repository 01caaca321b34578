import { afterEach, describe, expect, test } from "bun:test";
import { createActivity } from "../../src/daemon/activity.ts";
import { createEventBus } from "../../src/daemon/events.ts";
import { type HttpDoor, type HttpDoorOptions, openHttpDoor } from "../../src/daemon/http-server.ts";
import type { HealthFacts, ServedApp } from "../../src/daemon/served-app.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { createSmallServer } from "../transports/small-server.ts";

const ADMIN = "a".repeat(32);
const PEER = "p".repeat(32);
const doors: HttpDoor[] = [];
afterEach(async () => {
  for (const door of doors.splice(0)) await door.close();
});

const healthy: HealthFacts = {
  status: "ok",
  version: "9.9.9",
  database: "up",
  ready: true,
  models: { embedder: { state: "missing" } },
  runtime: { mode: "local" },
};

async function open(options: Partial<HttpDoorOptions> = {}, facts: HealthFacts | "opening" = healthy) {
  const events = createEventBus();
  const mcp = createSmallServer();
  const door = await openHttpDoor({
    address: { host: "127.0.0.1", port: 0 },
    version: "9.9.9",
    adminToken: undefined,
    peerToken: undefined,
    allowedHosts: [],
    allowedOrigins: ["https://app.example"],
    handlerTimeoutMs: 1_000,
    events,
    log: silentLogger,
    ...options,
  });
  doors.push(door);
  const app: ServedApp = {
    mcp,
    health: async () => (facts === "opening" ? healthy : facts),
    drain: async () => 0,
    beforeIdleStop: async () => {},
    close: async () => {},
  };
  const activity = createActivity();
  const house = {
    app: facts === "opening" ? new Promise<ServedApp>(() => {}) : Promise.resolve(app),
    activity,
    local: () => [{ kind: "bridge" as const, label: "cursor", version: "9.9.9", idleSecs: 3 }],
    startedAt: performance.now(),
  };
  door.open(house);
  const ask = (path: string, init: RequestInit = {}) => fetch(`${door.url}${path}`, init);
  const post = (body: unknown, headers: Record<string, string> = {}, path = "/mcp") =>
    ask(path, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
  return { door, events, mcp, activity, ask, post };
}

const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe("the routes", () => {
  test("GET and DELETE /mcp are 405 with Allow: POST", async () => {
    const { ask } = await open();
    for (const method of ["GET", "DELETE"]) {
      const response = await ask("/mcp", { method });
      expect([response.status, response.headers.get("allow"), await response.text()]).toEqual([405, "POST", ""]);
    }
  });

  test("a path that is not there is 404, and a GET never changes anything", async () => {
    const { ask, mcp } = await open();
    expect((await ask("/mcp?method=tools/call", { method: "GET" })).status).toBe(405);
    expect((await ask("/nothing")).status).toBe(404);
    expect((await ask("/panel")).status).toBe(404);
    expect((await ask("/events/ticket")).status).toBe(405);
    expect(mcp.handled).toEqual([]);
  });

  test("the panel is a route only where it is on", async () => {
    const { ask } = await open({ panel: () => new Response("panel") });
    expect(await (await ask("/panel")).text()).toBe("panel");
  });

  test("the connect page tells what to paste, holds no script, and is not there for what a proxy forwarded", async () => {
    const { ask, door } = await open();
    for (const path of ["/", "/connect"]) {
      const response = await ask(path);
      const html = await response.text();
      expect(response.status).toBe(200);
      expect(html).toContain(`${door.url}/mcp`);
      expect(html).not.toContain("<script");
      const policy = response.headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain("unsafe-inline");
      expect(html).toContain(/nonce-([^']+)/.exec(policy)?.[1] ?? "no nonce");
      expect(response.headers.get("x-frame-options")).toBe("DENY");
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("referrer-policy")).toBe("no-referrer");
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect((await ask(path, { headers: { "x-forwarded-for": "1.2.3.4" } })).status).toBe(404);
    }
  });
});

describe("any web page", () => {
  const attacks: [string, RequestInit][] = [
    ["a foreign Host", { headers: { host: "evil.example:8787" } }],
    ["a foreign Origin", { headers: { origin: "https://evil.example" } }],
    ["the Origin null", { headers: { origin: "null" } }],
    ["a cross-site fetch", { headers: { "sec-fetch-site": "cross-site" } }],
  ];
  test.each(attacks)("with %s is refused on every path, and nothing runs", async (_, init) => {
    const { ask, mcp } = await open();
    for (const path of ["/mcp", "/health", "/events", "/panel", "/connect", "/"]) {
      const response = await ask(path, init);
      expect([path, response.status]).toEqual([path, 403]);
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
      expect(await response.json()).toMatchObject({ id: null, error: { code: -32000 } });
    }
    const headers = { ...init.headers, "content-type": "application/json" };
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "note", arguments: { text: "from the web" } } };
    expect((await ask("/mcp", { method: "POST", headers, body: JSON.stringify(call) })).status).toBe(403);
    expect(mcp.handled).toEqual([]);
  });

  test("a POST of plain text that carries JSON is 415 and not executed", async () => {
    const { ask, mcp } = await open();
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "note", arguments: { text: "x" } } };
    expect((await ask("/mcp", { method: "POST", headers: { "content-type": "text/plain" }, body: JSON.stringify(call) })).status).toBe(415);
    expect(mcp.handled).toEqual([]);
  });

  test("a preflight gets a yes only for a listed origin", async () => {
    const { ask, post } = await open();
    const preflight = (origin: string) =>
      ask("/mcp", {
        method: "OPTIONS",
        headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "content-type,mcp-client-id" },
      });
    const no = await preflight("https://evil.example");
    expect([no.status, no.headers.get("access-control-allow-origin")]).toEqual([403, null]);
    const yes = await preflight("https://app.example");
    expect([yes.status, yes.headers.get("access-control-allow-origin"), yes.headers.get("access-control-allow-headers")]).toEqual([
      204,
      "https://app.example",
      "content-type,mcp-client-id",
    ]);
    expect((await post(ping, { origin: "https://app.example" })).headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect((await post(ping)).headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("tokens at the door", () => {
  test("without the right one 401 with WWW-Authenticate, and the body says so", async () => {
    const { post, mcp } = await open({ adminToken: ADMIN });
    const response = await post(ping);
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(await response.json()).toEqual({ jsonrpc: "2.0", id: null, error: { code: -32001, message: "invalid bearer token" } });
    expect(mcp.peers).toEqual([]);
    expect((await post(ping, bearer(ADMIN))).status).toBe(200);
  });

  test("a peer's call reaches the product as a peer's", async () => {
    const { post, mcp } = await open({ adminToken: ADMIN, peerToken: PEER });
    await post(ping, bearer(PEER));
    await post(ping, bearer(ADMIN));
    expect(mcp.peers.map(({ principal }) => principal.kind)).toEqual(["peer", "owner"]);
  });

  test("the eleventh wrong token in a minute gets 429", async () => {
    const { post } = await open({ adminToken: ADMIN });
    const statuses: number[] = [];
    for (let at = 0; at < 11; at++) statuses.push((await post(ping, bearer("wrong"))).status);
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429]);
    expect((await post(ping, bearer("wrong"))).headers.get("retry-after")).toBe("60");
  });
});

describe("health", () => {
  test("without a token when one is set: no names, a count; with it everything", async () => {
    const { ask } = await open({ adminToken: ADMIN });
    const little = await (await ask("/health")).json();
    expect(little).toMatchObject({
      status: "ok",
      version: "9.9.9",
      database: "up",
      ready: true,
      connect: "/connect",
      events: "/events",
      clients_count: 1,
      graph_db: { backend: "off", reachable: false },
    });
    expect(JSON.stringify(little)).not.toContain("cursor");
    expect(little).not.toHaveProperty("runtime");
    const all = await (await ask("/health", { headers: bearer(ADMIN) })).json();
    expect(all).toMatchObject({
      clients: [{ client: "cursor", idle_secs: 3 }],
      runtime: { mode: "local", models: { embedder: { state: "missing" } } },
    });
  });

  test("is 200 also when the database is down or still opening, and counts as no use", async () => {
    const down = await open({}, { ...healthy, status: "degraded", database: "unreachable", ready: false });
    const response = await down.ask("/health");
    expect([response.status, await response.json()]).toMatchObject([200, { status: "degraded", database: "unreachable" }]);
    expect(down.activity.served).toBe(0);
    const starting = await (await open({}, "opening")).ask("/health");
    expect([starting.status, await starting.json()]).toMatchObject([200, { status: "starting", ready: false }]);
  });
});

describe("events", () => {
  test("a ticket opens the stream once; a peer gets 403, nobody 401", async () => {
    const { ask, post, events } = await open({ adminToken: ADMIN, peerToken: PEER });
    expect((await ask("/events")).status).toBe(401);
    expect((await ask("/events", { headers: bearer(PEER) })).status).toBe(403);
    expect((await ask(`/events?token=${ADMIN}`)).status).toBe(401);
    expect((await post({}, {}, "/events/ticket")).status).toBe(401);
    expect((await post({}, bearer(PEER), "/events/ticket")).status).toBe(403);
    const given: Record<string, unknown> = JSON.parse(await (await post({}, bearer(ADMIN), "/events/ticket")).text());
    const { ticket } = given;
    expect(typeof ticket).toBe("string");
    // No expect.any here: bun 1.4.5 puts the matcher in the place of the value that it matched (toMatchObject only).
    expect(given).toMatchObject({ expires_in_secs: 120, events: "/events" });

    const stream = await ask(`/events?ticket=${ticket}`);
    expect([stream.status, stream.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    expect((await ask(`/events?ticket=${ticket}`)).status).toBe(401);
    const reader = stream.body?.getReader();
    const decoder = new TextDecoder();
    let text = decoder.decode((await reader?.read())?.value);
    events.publish("artifact.updated", { path: "p" });
    while (!text.includes("data:")) text += decoder.decode((await reader?.read())?.value);
    expect(text).toContain('"kind":"artifact.updated"');
    await reader?.cancel();
  });

  test("an open stream holds up no stop", async () => {
    const { ask, door, events } = await open();
    const stream = await ask("/events");
    expect(events.readers).toBe(1);
    door.dismiss();
    await stream.text();
    expect(events.readers).toBe(0);
  });
});

describe("a port that is taken", () => {
  test("is named with who answers there and the remedy", async () => {
    const { door } = await open();
    const again = openHttpDoor({
      address: { host: "127.0.0.1", port: door.port },
      version: "1",
      adminToken: undefined,
      peerToken: undefined,
      allowedHosts: [],
      allowedOrigins: [],
      handlerTimeoutMs: 1,
      events: createEventBus(),
      log: silentLogger,
    });
    await expect(again).rejects.toThrow(`127.0.0.1:${door.port} is already in use by a memory-industry serve, version 9.9.9`);
  });

  test("by a stranger says that too", async () => {
    using stranger = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: (socket) => void socket.end("nonsense\n") } });
    const taken = open({ address: { host: "127.0.0.1", port: stranger.port } });
    await expect(taken).rejects.toThrow(`memory-industry serve 127.0.0.1:${stranger.port + 1}`);
  });
});
