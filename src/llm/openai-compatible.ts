/** Any service that speaks the OpenAI chat form: local ones (Ollama, LM Studio, vLLM) and rented ones. */
import { unavailable } from "../kernel/errors.ts";
import { postJson } from "./http.ts";
import type { Chat } from "./port.ts";

export interface Endpoint {
  /** Provider id, or `custom`; for people. */
  readonly provider: string;
  /** Up to the version, without a trailing slash: `http://127.0.0.1:11434/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  /** Undefined where none is needed. */
  readonly key: string | undefined;
}

/** Local services want a bearer that is there, whatever it says. */
const NO_KEY = "local";
const WHAT = "The chat endpoint";

export const endpointChat = ({ provider, baseUrl, model, key }: Endpoint): Chat => ({
  backend: "openai_compat",
  model: `${provider}:${model}`,
  async complete({ prompt, maxTokens }, signal) {
    const answer = await postJson(
      {
        what: WHAT,
        url: `${baseUrl.replace(/\/+$/, "")}/chat/completions`,
        headers: { authorization: `Bearer ${key ?? NO_KEY}` },
        body: { model, messages: [{ role: "user", content: prompt }], max_tokens: maxTokens, temperature: 0, stream: false },
      },
      signal,
    );
    const choices: unknown = typeof answer === "object" && answer !== null ? Reflect.get(answer, "choices") : undefined;
    const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
    const message: unknown = typeof first === "object" && first !== null ? Reflect.get(first, "message") : undefined;
    const content: unknown = typeof message === "object" && message !== null ? Reflect.get(message, "content") : undefined;
    if (typeof content !== "string") throw unavailable(`${WHAT} answered without text.`);
    return content;
  },
});
