/** A model that writes: one prompt in, one reply out. Prompts are redacted before they come here; what comes back is somebody else's text. */

/** Who answers. The last four spend somebody's money and are used only once a person has chosen them (`design.md` §5). */
export const chatBackends = ["mcp_sampling", "openai_compat", "claude_cli", "gemini_cli", "anthropic_api"] as const;
export type ChatBackend = (typeof chatBackends)[number];

export interface ChatRequest {
  readonly prompt: string;
  readonly maxTokens: number;
}

export interface Chat {
  readonly backend: ChatBackend;
  /** `provider:model` for an endpoint, `client_provided` for the client's own. */
  readonly model: string;
  /**
   * @throws MemoryError `timeout` where the signal fired for time (slow is not broken), `cancelled` where it fired for another reason, `unavailable` where
   * nothing usable came back. The text holds no key, no prompt and nothing of the reply.
   */
  complete(request: ChatRequest, signal: AbortSignal): Promise<string>;
}
