/** The client's own model, asked over MCP; the client asks its user. */
import type { Sampling } from "../kernel/context.ts";
import { chatFailure } from "./failures.ts";
import type { Chat } from "./port.ts";

export const samplingChat = (sampling: Sampling): Chat => ({
  backend: "mcp_sampling",
  model: "client_provided",
  async complete(request, signal) {
    try {
      return await sampling.complete(request, signal);
    } catch (error) {
      throw chatFailure("The client's model", error, signal);
    }
  },
});
