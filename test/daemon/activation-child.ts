/** A process of the tests that a service manager would start: serves on descriptor 3 and tells what it adopted. */
import { findAdoptedSocket } from "../../src/daemon/activation.ts";
import { createActivity } from "../../src/daemon/activity.ts";
import { createEventBus } from "../../src/daemon/events.ts";
import { openHttpDoor } from "../../src/daemon/http-server.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { createSmallServer } from "../transports/small-server.ts";

const adopted = findAdoptedSocket({ listenPid: String(process.pid), listenFds: process.env.LISTEN_FDS });
process.stdout.write(`${JSON.stringify(adopted ?? null)}\n`);
const door = await openHttpDoor({
  address: { host: "127.0.0.1", port: 1 },
  adopted,
  version: "1",
  adminToken: undefined,
  peerToken: undefined,
  allowedHosts: [],
  allowedOrigins: [],
  handlerTimeoutMs: 5_000,
  events: createEventBus(),
  log: silentLogger,
});
const mcp = createSmallServer();
const health = async () => ({ status: "ok", version: "1", database: "up", ready: true, models: {} }) as const;
const app = Promise.resolve({ mcp, health, drain: async () => 0, beforeIdleStop: async () => {}, close: async () => {} });
door.open({ app, activity: createActivity(), local: () => [], startedAt: performance.now() });
