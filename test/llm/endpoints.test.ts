import { afterEach, describe, expect, test } from "bun:test";
import { anthropicChat } from "../../src/llm/anthropic.ts";
import { endpointChat } from "../../src/llm/openai-compatible.ts";
import type { Chat } from "../../src/llm/port.ts";
import { samplingChat } from "../../src/llm/sampling.ts";

interface Asked {
  readonly path: string;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

const servers: { stop(force: boolean): unknown }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.stop(true);
});

/** A chat service of our own on a free port. */
function service(answer: (asked: Asked) => Response | Promise<Response>): { readonly url: string; readonly asked: Asked[] } {
  const asked: Asked[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const one = { path: new URL(request.url).pathname, headers: request.headers, body: JSON.parse(await request.text()) };
      asked.push(one);
      return await answer(one);
    },
  });
  servers.push(server);
  return { url: `http://127.0.0.1:${server.port}`, asked };
}

const patient = () => new AbortController().signal;
const ask = (chat: Chat, signal = patient()) => chat.complete({ prompt: "is it so?", maxTokens: 256 }, signal);
const endpoint = (url: string, key?: string) => endpointChat({ provider: "custom", baseUrl: `${url}/v1/`, model: "small", key });
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => ({ code: "none", message: "" }),
    (error: { code: string; message: string }) => error,
  );

describe("a chat endpoint", () => {
  test("is asked in the OpenAI form, with the key as bearer", async () => {
    const { url, asked } = service(() => Response.json({ choices: [{ message: { content: "yes" } }] }));
    const chat = endpoint(url, "k-123");
    expect(await ask(chat)).toBe("yes");
    expect([chat.backend, chat.model]).toEqual(["openai_compat", "custom:small"]);
    expect(asked[0]?.path).toBe("/v1/chat/completions");
    expect(asked[0]?.headers.get("authorization")).toBe("Bearer k-123");
    expect(asked[0]?.body).toEqual({
      model: "small",
      messages: [{ role: "user", content: "is it so?" }],
      max_tokens: 256,
      temperature: 0,
      stream: false,
    });
  });

  test("without a key gets a bearer all the same", async () => {
    const { url, asked } = service(() => Response.json({ choices: [{ message: { content: "yes" } }] }));
    await ask(endpoint(url));
    expect(asked[0]?.headers.get("authorization")).toBe("Bearer local");
  });

  test("that refuses is told by status and error type, never by its text", async () => {
    const { url } = service(() => Response.json({ error: { type: "rate_limit", message: "key k-123 of Ana" } }, { status: 429 }));
    const { code, message } = await failureOf(ask(endpoint(url, "k-123")));
    expect(code).toBe("unavailable");
    expect(message).toBe("The chat endpoint answered with status 429 (rate_limit). 'memory-industry llm status' shows what is chosen.");
  });

  test("that sends us elsewhere gets no second request", async () => {
    const other = service(() => Response.json({ choices: [{ message: { content: "stolen" } }] }));
    const { url } = service(() => Response.redirect(`${other.url}/v1/chat/completions`, 307));
    expect((await failureOf(ask(endpoint(url, "k-123")))).code).toBe("unavailable");
    expect(other.asked).toEqual([]);
  });

  test.each([
    ["no JSON", () => new Response("<html>")],
    ["no text", () => Response.json({ choices: [] })],
    ["more than a megabyte", () => new Response("x".repeat(1_100_000))],
  ])("that answers with %s is not understood", async (_, answer) => {
    expect((await failureOf(ask(endpoint(service(answer).url)))).code).toBe("unavailable");
  });

  test("that is slow is slow, not broken; a client that cancels is neither", async () => {
    const { url } = service(() => new Promise<Response>(() => undefined));
    expect((await failureOf(ask(endpoint(url), AbortSignal.timeout(50)))).code).toBe("timeout");
    const gone = new AbortController();
    const waiting = failureOf(ask(endpoint(url), gone.signal));
    gone.abort();
    expect((await waiting).code).toBe("cancelled");
  });

  test("where nobody listens is unavailable, without the address", async () => {
    const { url } = service(() => new Response());
    for (const server of servers.splice(0)) server.stop(true);
    const { code, message } = await failureOf(ask(endpoint(url)));
    expect(code).toBe("unavailable");
    expect(message).not.toContain("127.0.0.1");
  });
});

describe("the Anthropic API", () => {
  test("is asked in the Messages form; its text parts are joined", async () => {
    const parts = [{ type: "text", text: "a" }, { type: "tool_use" }, { type: "text", text: "b" }];
    const { url, asked } = service(() => Response.json({ content: parts }));
    expect(await ask(anthropicChat({ key: "sk-x", model: "claude-haiku-4-5", baseUrl: url }))).toBe("ab");
    expect(asked[0]?.path).toBe("/v1/messages");
    expect(asked[0]?.headers.get("x-api-key")).toBe("sk-x");
    expect(asked[0]?.headers.get("anthropic-version")).toBe("2023-06-01");
    expect(asked[0]?.body).toEqual({
      model: "claude-haiku-4-5",
      max_tokens: 256,
      temperature: 0,
      messages: [{ role: "user", content: "is it so?" }],
    });
  });
  test("that refuses is told by status and type", async () => {
    const { url } = service(() =>
      Response.json({ type: "error", error: { type: "authentication_error", message: "bad sk-x" } }, { status: 401 }),
    );
    const { message } = await failureOf(ask(anthropicChat({ key: "sk-x", model: "m", baseUrl: url })));
    expect(message).toContain("status 401 (authentication_error)");
    expect(message).not.toContain("sk-x");
  });
});

describe("the client's own model", () => {
  test("answers by its text", async () => {
    const chat = samplingChat({ complete: ({ prompt, maxTokens }) => Promise.resolve(`${prompt} ${maxTokens}`) });
    expect([chat.backend, chat.model, await ask(chat)]).toEqual(["mcp_sampling", "client_provided", "is it so? 256"]);
  });
  test("that is slow times out, and one that fails is unavailable", async () => {
    const slow = samplingChat({
      complete: (_, signal) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    });
    expect((await failureOf(ask(slow, AbortSignal.timeout(20)))).code).toBe("timeout");
    const broken = samplingChat({ complete: () => Promise.reject(new Error("user said no")) });
    expect((await failureOf(ask(broken))).code).toBe("unavailable");
  });
});
