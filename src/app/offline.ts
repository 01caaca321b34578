/** The conversation of a bridge whose daemon cannot start: the protocol is answered, each tool call says why it cannot work. */
import { unavailable } from "../kernel/errors.ts";
import { silentLogger } from "../kernel/logger.ts";
import type { Connection } from "../mcp/connection.ts";
import { createMcpServer } from "../mcp/server.ts";
import type { Identity } from "../services/identity/identity.ts";
import { tools } from "../tools/registry.ts";

/** Longest time of a call that is refused at once, milliseconds. */
const TIMEOUT_MS = 5_000;

/** Nobody is known where there is no database. */
const nobody: Identity = {
  caller: () => ({
    bound: false,
    key: () => "anonymous",
    introduce: () => {},
    adoptRoots: async () => {},
    awaitRoots: () => {},
    resolve: async () => ({ scope: { kind: "none" }, session: undefined }),
    lookAgain: () => {},
    leave: () => {},
  }),
  active: () => undefined,
  sessionKey: (client) => client,
};

/** @param reason what a person needs to know, a whole sentence. */
export function offlineConnection(reason: string, profile: string | undefined): Connection {
  const server = createMcpServer({
    tools,
    dispatcher: {
      call: async () => {
        const { message } = unavailable(reason);
        return { ok: false, answer: { error: message, code: "unavailable" }, text: message };
      },
      abandoned: () => {},
    },
    identity: nobody,
    log: silentLogger,
    handlerTimeoutMs: TIMEOUT_MS,
    profile,
    ownerMethods: new Map(),
    resources: {
      list: async () => ({ resources: [] }),
      read: async () => {
        throw unavailable(reason);
      },
    },
  });
  return server.connect({
    transport: "stdio",
    principal: { kind: "owner" },
    label: undefined,
    machine: undefined,
    protocolSession: undefined,
    project: undefined,
    directory: undefined,
    profile,
  });
}
