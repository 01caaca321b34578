/** The port of `serve`: guard, token, routes (`cli-daemon.md` §4.2). What a route does lies in its own file; this one only says which. */
import { networkInterfaces } from "node:os";
import { MemoryError, rpcCode } from "../kernel/errors.ts";
import { type SocketAddress, showAddress } from "../kernel/kinds.ts";
import type { Logger } from "../kernel/logger.ts";
import { createMcpEndpoint, type McpEndpoint, refuse } from "../transports/http.ts";
import { type AdoptedSocket, type PortRelay, relayConnections } from "./activation.ts";
import { createClients } from "./clients.ts";
import { type EventBus, TICKET_SECS } from "./events.ts";
import { isLoopback } from "./exposure.ts";
import { type DoorRules, isForwarded, knock, type Verdict } from "./guard.ts";
import { healthBody } from "./health.ts";
import { within } from "./leave.ts";
import { connectPage } from "./pages.ts";
import type { Door, House } from "./run.ts";
import type { HealthFacts, ServedApp } from "./served-app.ts";
import { type Access, createTokens } from "./tokens.ts";

/** A connection that is quiet for this long is closed, in seconds; the longest the server takes. A POST is answered within 120 s, an event stream speaks every 15 s. */
const QUIET_CONNECTION_SECS = 255;

const INNER: SocketAddress = { host: "127.0.0.1", port: 0 };

/** How long answers that are due may take to leave once the daemon has made them. */
const LAST_ANSWERS_MS = 2_000;

/** How long the program on a taken port has to say who it is: `serve` must fail within 2 s. */
const NEIGHBOUR_LIMIT_MS = 700;

/** How long `/health` waits for its facts: it must not look slow because something else is. */
const HEALTH_LIMIT_MS = 2_000;

export interface HttpDoorOptions {
  /** Where to listen; not looked at where a socket was adopted. */
  readonly address: SocketAddress;
  /** The service manager's socket. */
  readonly adopted?: AdoptedSocket | undefined;
  readonly version: string;
  readonly adminToken: string | undefined;
  readonly peerToken: string | undefined;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  readonly handlerTimeoutMs: number;
  readonly events: EventBus;
  /** `GET /panel`; undefined where the panel is off and the route does not exist. */
  readonly panel?: ((request: Request) => Response | Promise<Response>) | undefined;
  /** The panel's methods, for full scope. */
  readonly admin?: ((method: string, params: Readonly<Record<string, unknown>>, app: ServedApp) => Promise<unknown>) | undefined;
  readonly log: Logger;
}

/** Where a request came from, as the server knows it. */
export interface Origin {
  readonly address: string;
}

export interface HttpDoor extends Door {
  readonly port: number;
  /** The same answers without a port, for tests. */
  handle(request: Request, from: Origin): Promise<Response>;
}

/**
 * Binds the port. Requests that come before {@link Door.open} wait.
 * @throws MemoryError `busy` where the port is taken, naming it, who answers there, and the remedy
 */
export async function openHttpDoor(options: HttpDoorOptions): Promise<HttpDoor> {
  const opened = Promise.withResolvers<House>();
  const { events, adopted } = options;
  const address = adopted ?? options.address;
  let relay: PortRelay | undefined;
  let rules: DoorRules | undefined;
  const handle = createHandler(options, opened.promise, () => rules ?? rulesOf(options, address));
  let server: ReturnType<typeof listen>;
  try {
    server = listen(options, handle, (port) => relay?.clientOf(port));
  } catch (error) {
    throw await taken(options, error);
  }
  if (adopted !== undefined && server.port !== undefined) relay = relayConnections(adopted.descriptor, server.port);
  const port = adopted?.port ?? server.port ?? address.port;
  rules = rulesOf(options, { host: address.host, port });
  let emptied: Promise<void> | undefined;
  const shown = showAddress({ host: address.host, port });
  return {
    address: shown,
    url: `${rules.scheme}://${shown}`,
    port,
    handle,
    open: (house) => opened.resolve(house),
    dismiss() {
      // Streams never end by themselves; requests in flight do, and are answered.
      events.close();
      relay?.stop();
      emptied ??= server.stop(false);
    },
    async close() {
      opened.promise.catch(() => {});
      opened.reject(new MemoryError("unavailable", "The daemon ended before it was ready; nothing was done."));
      events.close();
      relay?.stop();
      if (emptied !== undefined) await within(LAST_ANSWERS_MS, emptied);
      await server.stop(true);
    },
  };
}

function listen(options: HttpDoorOptions, handle: HttpDoor["handle"], clientOf: (port: number) => string | undefined) {
  // Behind an adopted socket nobody needs to know our own port.
  const { host, port } = options.adopted === undefined ? options.address : INNER;
  return Bun.serve({
    hostname: host,
    port,
    idleTimeout: QUIET_CONNECTION_SECS,
    // Counted by ourselves while it comes in, so that the answer is one a client understands.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    fetch(request, server) {
      const peer = server.requestIP(request);
      return handle(request, { address: (peer === null ? undefined : clientOf(peer.port)) ?? peer?.address ?? "" });
    },
    error(error) {
      options.log.error("a request failed unexpectedly", { cause: error.message });
      return refuse(500, rpcCode.internal, "An unexpected fault happened inside MemoryIndustry; the log has the cause.");
    },
  });
}

const rulesOf = ({ tls, allowedHosts, allowedOrigins }: HttpDoorOptions, { host, port }: SocketAddress): DoorRules => ({
  host,
  port,
  scheme: tls === undefined ? "http" : "https",
  ownAddresses: () => Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map((entry) => entry.address.toLowerCase())),
  allowedHosts,
  allowedOrigins,
});

async function taken({ address }: HttpDoorOptions, cause: unknown): Promise<MemoryError> {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const where = showAddress(address);
  if (code !== "EADDRINUSE")
    return new MemoryError(
      "unavailable",
      `Cannot listen on ${where} (${code || "unknown reason"}); nothing was started. Choose another address: memory-industry serve 127.0.0.1:8788`,
      { cause },
    );
  const neighbour = await whoAnswers(address);
  const next = showAddress({ host: address.host, port: address.port + 1 });
  return new MemoryError(
    "busy",
    `The address ${where} is already in use${neighbour}; nothing was started. Is another daemon running? Stop it, or take another port: memory-industry serve ${next} (or CUBA_HTTP_ADDR=${next}). Editors on this machine need no port at all.`,
    { cause },
  );
}

async function whoAnswers({ host, port }: SocketAddress): Promise<string> {
  try {
    const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
    const response = await fetch(`http://${showAddress({ host: reachable, port })}/health`, {
      signal: AbortSignal.timeout(NEIGHBOUR_LIMIT_MS),
    });
    const body: unknown = await response.json();
    const version = typeof body === "object" && body !== null && "version" in body && "requests_served" in body ? body.version : undefined;
    return typeof version === "string" ? ` by a memory-industry serve, version ${version.slice(0, 32)}` : " by another program";
  } catch {
    return " by another program";
  }
}

type Handler = (request: Request, from: Origin) => Promise<Response>;

function createHandler(options: HttpDoorOptions, opened: Promise<House>, rules: () => DoorRules): Handler {
  const { events, log } = options;
  const tokens = createTokens(options.adminToken, options.peerToken);
  const clients = createClients();
  let endpoint: McpEndpoint | undefined;
  const mcp = async (): Promise<McpEndpoint> => {
    const house = await opened;
    endpoint ??= createMcpEndpoint({
      mcp: house.app.then((app) => app.mcp),
      handlerTimeoutMs: options.handlerTimeoutMs,
      admin: options.admin === undefined ? undefined : async (method, params) => await options.admin?.(method, params, await house.app),
      begin: () => house.activity.begin(),
      saw: clients.saw,
      log,
    });
    return endpoint;
  };

  const onMcp = async (request: Request, from: Origin, access: Access): Promise<Response> => {
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
    if (access === "throttled") return refusal(429);
    if (access === "none") return refusal(401);
    return await (await mcp())(request, { access, address: from.address, isLocal: isLoopback(from.address) });
  };
  const onHealth = async (access: Access): Promise<Response> => {
    const house = await Promise.race([opened.catch(() => undefined), Bun.sleep(0).then(() => undefined)]);
    const facts = await within(HEALTH_LIMIT_MS, factsOf(house));
    const context = {
      version: options.version,
      uptimeSecs: house === undefined ? 0 : Math.round((performance.now() - house.startedAt) / 1000),
      served: house?.activity.served ?? 0,
      clients: [...clients.list(), ...(house?.local() ?? []).map(({ label, idleSecs }) => ({ client: label, idleSecs }))],
    };
    return Response.json(healthBody(facts, context, access === "full" ? "full" : "restricted"), {
      headers: { "cache-control": "no-store", "x-content-type-options": "nosniff" },
    });
  };
  const onEvents = (request: Request, access: Access): Response => {
    if (request.method !== "GET") return new Response(null, { status: 405, headers: { allow: "GET" } });
    const ticket = new URL(request.url).searchParams.get("ticket");
    if (ticket === null ? access !== "full" : !events.redeem(ticket))
      return refusal(ticket === null && access === "peer" ? 403 : access === "throttled" ? 429 : 401);
    return new Response(events.stream().pipeThrough(new TextEncoderStream()), {
      headers: {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
      },
    });
  };
  const onTicket = (request: Request, access: Access): Response => {
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
    if (access !== "full") return refusal(access === "peer" ? 403 : access === "throttled" ? 429 : 401);
    return Response.json(
      { ticket: events.ticket(), expires_in_secs: TICKET_SECS, events: "/events" },
      { headers: { "cache-control": "no-store" } },
    );
  };

  const route = async (request: Request, from: Origin): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const access = tokens.access(request.headers.get("authorization"), from.address);
    switch (pathname) {
      case "/mcp":
        return await onMcp(request, from, access);
      case "/events":
        return onEvents(request, access);
      case "/events/ticket":
        return onTicket(request, access);
      default:
        break;
    }
    if (request.method !== "GET" && request.method !== "HEAD") return new Response(null, { status: 405, headers: { allow: "GET" } });
    if (pathname === "/health") return await onHealth(access);
    if ((pathname === "/" || pathname === "/connect") && !isForwarded(request.headers))
      return connectPage({
        origin: `${rules().scheme}://${request.headers.get("host") ?? ""}`,
        needsToken: options.adminToken !== undefined,
        hasPanel: options.panel !== undefined,
      });
    if (pathname === "/panel" && options.panel !== undefined) return await options.panel(request);
    return new Response("Not found. MCP clients POST to /mcp; people open /connect.\n", {
      status: 404,
      headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
    });
  };

  return async (request, from) => {
    const verdict = knock(request, rules());
    if (verdict.kind === "refuse") return refuse(verdict.status, rpcCode.door, verdict.message);
    if (request.method === "OPTIONS") return preflight(request, verdict);
    const response = await route(request, from);
    if (verdict.cors !== undefined) allow(response.headers, verdict.cors);
    return response;
  };
}

async function factsOf(house: House | undefined): Promise<HealthFacts | undefined> {
  if (house === undefined) return undefined;
  const app = await Promise.race([house.app.catch(() => undefined), Bun.sleep(0).then(() => undefined)]);
  return await app?.health().catch(() => undefined);
}

function refusal(status: 401 | 403 | 429): Response {
  switch (status) {
    case 401: {
      const response = refuse(401, rpcCode.forbidden, "invalid bearer token");
      response.headers.set("www-authenticate", "Bearer");
      return response;
    }
    case 403:
      return refuse(403, rpcCode.forbidden, "A peer token may not read this; only the admin token may.");
    case 429: {
      const response = refuse(429, rpcCode.door, "Too many wrong tokens from this address; wait a minute.");
      response.headers.set("retry-after", "60");
      return response;
    }
  }
}

function allow(headers: Headers, origin: string): void {
  headers.set("access-control-allow-origin", origin);
  headers.append("vary", "Origin");
}

/** Answers a browser's question before a cross-origin request: only a listed origin gets a yes. */
function preflight(request: Request, verdict: Verdict & { kind: "pass" }): Response {
  const response = new Response(null, { status: 204, headers: { allow: "GET, POST" } });
  if (verdict.cors === undefined) return response;
  allow(response.headers, verdict.cors);
  response.headers.set("access-control-allow-methods", "GET, POST");
  const asked = request.headers.get("access-control-request-headers");
  if (asked !== null) response.headers.set("access-control-allow-headers", asked);
  return response;
}
