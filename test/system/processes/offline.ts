/** The conversation without a daemon, as a bridge of the tests has it. */
import type { Connection } from "../../../src/mcp/connection.ts";
import { answer, fault, negotiate, readEnvelope } from "../../../src/mcp/protocol.ts";

export function offlineConnection(reason: string): Connection {
  return {
    async handle(message) {
      const envelope = readEnvelope(message);
      if (envelope.kind !== "request") return undefined;
      const { id, method, params } = envelope;
      if (method === "initialize")
        return answer(id, { protocolVersion: negotiate(params.protocolVersion), capabilities: {}, serverInfo: {} });
      if (method === "ping") return answer(id, {});
      if (method === "tools/list") return answer(id, { tools: [{ name: "echo" }] });
      if (method === "tools/call") return answer(id, { content: [{ type: "text", text: reason }], isError: true });
      return fault(id, -32601, `Unknown method: ${method}`);
    },
    greeted: true,
    inFlight: 0,
    settled: async () => {},
    close() {},
  };
}
