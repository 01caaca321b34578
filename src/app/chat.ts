/** What `llm status` tells of the chosen language model, and a look whether its endpoint is there. */
import type { ChatState } from "../cli/command.ts";
import type { Config } from "../config/load.ts";
import { judgeFacts, ladderSettings } from "./judge.ts";

/** Longest wait for an endpoint that is only looked at, milliseconds. */
const PROBE_MS = 5_000;

export function chatState(config: Config): ChatState {
  const { JUDGE: judge, LLM_PROVIDER: provider } = config.settings;
  const { endpoint, anthropic, program } = ladderSettings(config);
  const { choice, chosen, problem, lying } = judgeFacts(config);
  return {
    provider: endpoint?.provider ?? provider.value,
    url: endpoint?.baseUrl,
    model: endpoint?.model ?? program?.model ?? anthropic?.model,
    hasKey: endpoint?.key !== undefined || anthropic !== undefined,
    choice,
    overriding: judge.layer === "environment" ? judge.name : undefined,
    chosen,
    problem,
    lying,
    hasEndpoint: endpoint !== undefined,
  };
}

/** The list of models is what every such service gives away without being asked anything. */
export async function probeChat(config: Config, signal: AbortSignal): Promise<{ readonly reached: boolean; readonly detail: string }> {
  const { endpoint } = ladderSettings(config);
  if (endpoint === undefined) return { reached: false, detail: "none is set" };
  try {
    const answer = await fetch(`${endpoint.baseUrl.replace(/\/+$/, "")}/models`, {
      headers: endpoint.key === undefined ? {} : { authorization: `Bearer ${endpoint.key}` },
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]),
    });
    return answer.ok
      ? { reached: true, detail: `status ${answer.status}` }
      : {
          reached: false,
          detail: `status ${answer.status}${answer.status === 401 || answer.status === 403 ? ": the key is not accepted" : ""}`,
        };
  } catch (error) {
    // The error's own words may hold the address with a password in it.
    const late = error instanceof DOMException && error.name === "TimeoutError";
    return { reached: false, detail: late ? `no answer within ${PROBE_MS / 1_000} s` : "no connection" };
  }
}
