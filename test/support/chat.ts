/** Models whose replies are known. */
import type { Ladder } from "../../src/llm/ladder.ts";
import type { Chat } from "../../src/llm/port.ts";
import type { Reply } from "./graph.ts";

/** A model with its answers in turn, the last one for ever; an error is what it throws, a function what it does. */
export function chat(
  ...replies: readonly (Reply | string | Error | ((signal: AbortSignal) => Promise<string>))[]
): Chat & { readonly prompts: string[] } {
  const prompts: string[] = [];
  return {
    backend: "mcp_sampling",
    model: "client_provided",
    prompts,
    complete({ prompt }, signal) {
      prompts.push(prompt);
      const reply = replies[Math.min(prompts.length, replies.length) - 1] ?? "";
      if (typeof reply === "function") return reply(signal);
      if (reply instanceof Error) return Promise.reject(reply);
      return Promise.resolve(typeof reply === "string" ? reply : JSON.stringify(reply));
    },
  };
}
export const ladder =
  (...chats: Chat[]) =>
  () =>
    ({ chats, problem: undefined }) satisfies Ladder;
export const factsReply = (...list: [entity: string, content: string, type?: string][]) => ({
  facts: list.map(([entity_name, content, observation_type = "fact"]) => ({ entity_name, content, observation_type })),
});
