/** The Anthropic Messages API. Sends memory off the machine and costs money: used only once a person has chosen it. */
import { unavailable } from "../kernel/errors.ts";
import { postJson } from "./http.ts";
import type { Chat } from "./port.ts";

export interface AnthropicAccess {
  readonly key: string;
  readonly model: string;
  /** Tests point it at a server of their own. */
  readonly baseUrl?: string;
}

const BASE_URL = "https://api.anthropic.com";
const API_VERSION = "2023-06-01";
const WHAT = "The Anthropic API";

export const anthropicChat = ({ key, model, baseUrl = BASE_URL }: AnthropicAccess): Chat => ({
  backend: "anthropic_api",
  model,
  async complete({ prompt, maxTokens }, signal) {
    const answer = await postJson(
      {
        what: WHAT,
        url: `${baseUrl}/v1/messages`,
        headers: { "x-api-key": key, "anthropic-version": API_VERSION },
        body: { model, max_tokens: maxTokens, temperature: 0, messages: [{ role: "user", content: prompt }] },
      },
      signal,
    );
    const content: unknown = typeof answer === "object" && answer !== null ? Reflect.get(answer, "content") : undefined;
    const parts: unknown[] = Array.isArray(content) ? content : [];
    const texts = parts.flatMap((part) => {
      const text: unknown =
        typeof part === "object" && part !== null && Reflect.get(part, "type") === "text" ? Reflect.get(part, "text") : undefined;
      return typeof text === "string" ? [text] : [];
    });
    if (texts.length === 0) throw unavailable(`${WHAT} answered without text.`);
    return texts.join("");
  },
});
