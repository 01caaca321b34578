/**
 * Which models may be asked, in which order (`design.md` §5, `tools-cognition.md` §3.1): the client's own first; those that spend somebody's money only
 * once a person has chosen them. A program or a key that merely lies there is never started or used. Pure: looks at nothing but its arguments.
 */
import type { Sampling } from "../kernel/context.ts";
import type { JudgeChoice } from "../kernel/judge-choice.ts";
import { type AnthropicAccess, anthropicChat } from "./anthropic.ts";
import { type CliProgram, cliChat } from "./cli.ts";
import { type Endpoint, endpointChat } from "./openai-compatible.ts";
import type { Chat } from "./port.ts";
import { samplingChat } from "./sampling.ts";

export interface LadderSettings {
  readonly choice: JudgeChoice | undefined;
  /** Set by a person (`llm set`, base URL or provider): that is its choice. */
  readonly endpoint: Endpoint | undefined;
  /** The program that the settings name, where it lies; undefined where it does not resolve. */
  readonly program: CliProgram | undefined;
  /** Provider `anthropic` was set, which chooses that rung. */
  readonly isAnthropicSet: boolean;
  /** With the key that lies in the environment; undefined without one. */
  readonly anthropic: AnthropicAccess | undefined;
}

export interface Ladder {
  readonly chats: readonly Chat[];
  /** One sentence where a person named a rung that cannot be used. */
  readonly problem: string | undefined;
}

/** @param sampling of the request; undefined where the client has none or the transport no way back. */
export function ladderOf({ choice, endpoint, program, isAnthropicSet, anthropic }: LadderSettings, sampling: Sampling | undefined): Ladder {
  const client = sampling === undefined ? [] : [samplingChat(sampling)];
  const set = endpoint === undefined ? [] : [endpointChat(endpoint)];
  const local = program === undefined ? [] : [cliChat(program)];
  const rented = anthropic === undefined ? [] : [anthropicChat(anthropic)];
  const needs = (found: readonly Chat[], problem: string): Ladder => ({
    chats: [...client, ...found],
    problem: found.length > 0 ? undefined : problem,
  });
  switch (choice) {
    case undefined:
    case "nli":
      return {
        chats: [...client, ...set, ...(isAnthropicSet ? rented : [])],
        problem: isAnthropicSet && rented.length === 0 ? NO_KEY : undefined,
      };
    case "auto":
      return { chats: [...client, ...set, ...local, ...rented], problem: undefined };
    case "mcp_sampling":
      return { chats: client, problem: client.length > 0 ? undefined : NO_SAMPLING };
    case "openai_compat":
      return needs(set, NO_ENDPOINT);
    case "claude_cli":
    case "gemini_cli":
      return needs(local, `CUBA_JUDGE=${choice} names a program that is not found on PATH; CUBA_JUEZ_CLI says its name or path.`);
    case "anthropic_api":
      return needs(rented, NO_KEY);
    case "heuristic":
      return { chats: [], problem: undefined };
  }
}

const NO_SAMPLING =
  "CUBA_JUDGE=mcp_sampling asks the client's own model, and this client does not offer it (or is connected over plain HTTP).";
const NO_ENDPOINT = "CUBA_JUDGE names the chat endpoint, and none is set. 'memory-industry llm set' sets one.";
const NO_KEY = "CUBA_JUDGE names the Anthropic API, and ANTHROPIC_API_KEY is not set.";
