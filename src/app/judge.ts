/** The judge of this configuration: what a person chose, and nothing that merely lies there. */
import { randomBytes } from "node:crypto";
import { basename } from "node:path";
import { childEnvironment, environment, vendorKey } from "../config/environment.ts";
import type { Config } from "../config/load.ts";
import type { JudgeFacts } from "../doctor/check.ts";
import type { Entailment } from "../inference/port.ts";
import type { Sampling } from "../kernel/context.ts";
import type { Logger } from "../kernel/logger.ts";
import { type CliProgram, findProgram } from "../llm/cli.ts";
import { type LadderSettings, ladderOf } from "../llm/ladder.ts";
import type { Endpoint } from "../llm/openai-compatible.ts";
import { ANTHROPIC, type Provider, providers } from "../llm/providers.ts";
import { createJudge, type Judge } from "../services/judge/judge.ts";

/** Bytes of a marker's nonce: stored text cannot guess it. */
const NONCE_BYTES = 12;
const MODEL = { claude: "claude-haiku-4-5", gemini: "gemini-2.0-flash" };
/** A service that was set by its address alone serves whatever it has loaded. */
const CUSTOM: Provider = { id: "custom", baseUrl: "", model: "default", keys: ["OPENAI_API_KEY"] };

/** Unguessable text for the markers of a prompt. */
export const nonce = () => randomBytes(NONCE_BYTES).toString("hex");

/** Who may be asked. Looked at anew each time: a program that was installed meanwhile is found. */
export const ladderFor = (config: Config) => (sampling: Sampling | undefined) => ladderOf(ladderSettings(config), sampling);

export function judgeOf(config: Config, entailment: Entailment, log: Logger): Judge {
  const { settings } = config;
  const name = settings.LLM_PROVIDER.value?.toLowerCase();
  if (name !== undefined && settings.LLM_BASE_URL.value === undefined && !providers.some(({ id }) => id === name)) {
    log.warn("CUBA_LLM_PROVIDER names no provider that is known, and CUBA_LLM_BASE_URL is not set: no chat endpoint is used", {
      provider: name,
    });
  }
  return createJudge({
    choice: settings.JUDGE.value,
    entailment,
    ladder: ladderFor(config),
    timeoutMs: settings.JUEZ_TIMEOUT_SECS.value * 1_000,
    maxPairs: settings.JUEZ_MAX_PAIRS.value,
    escalate: settings.NLI_ESCALATE.value,
    nonce,
  });
}

/** Vendor variables of which a key may lie in the environment without being anybody's choice. */
const LYING_KEYS = [...new Set(providers.flatMap(({ keys }) => keys))];

/** For `doctor`: what is chosen, and what merely lies there. Nothing is started and no key is shown. */
export function judgeFacts(config: Config): JudgeFacts {
  const settings = ladderSettings(config);
  const chosen = ladderOf(settings, undefined);
  const path = environment()["PATH"] ?? "";
  const isChosen = (backend: string) => chosen.chats.some((chat) => chat.backend === backend);
  const used = [
    ...(isChosen("anthropic_api") ? ["ANTHROPIC_API_KEY"] : []),
    ...(isChosen("openai_compat") ? (providers.find(({ id }) => id === settings.endpoint?.provider)?.keys ?? CUSTOM.keys) : []),
  ];
  return {
    choice: config.settings.JUDGE.value,
    chosen: chosen.chats.map(({ backend, model }) => `${backend} (${model})`),
    problem: chosen.problem,
    lying: [
      ...["claude", "gemini"]
        .filter((name) => !isChosen(`${name}_cli`) && findProgram(name, path) !== undefined)
        .map((name) => `${name} on PATH`),
      ...LYING_KEYS.filter((name) => !used.includes(name) && vendorKey([name]) !== undefined),
    ],
  };
}

/** For `cuba_whoami`: the endpoint that was set, and what merely lies there. */
export function chatFacts(config: Config) {
  const { endpoint, isAnthropicSet } = ladderSettings(config);
  return {
    configured: endpoint !== undefined || isAnthropicSet,
    provider: endpoint?.provider ?? (isAnthropicSet ? ANTHROPIC : null),
    lying: config.settings.JUDGE.value === "auto" ? [] : judgeFacts(config).lying,
  };
}

/** What was chosen, resolved. Keys are looked for only under the names of a service that was chosen. */
export function ladderSettings({ settings }: Config): LadderSettings {
  const choice = settings.JUDGE.value;
  const name = settings.LLM_PROVIDER.value?.toLowerCase();
  const isAnthropicSet = name === ANTHROPIC;
  const wantsProgram = choice === "auto" || choice === "claude_cli" || choice === "gemini_cli";
  const wantsAnthropic = isAnthropicSet || choice === "auto" || choice === "anthropic_api";
  const key = wantsAnthropic ? ((isAnthropicSet ? settings.LLM_API_KEY.value : undefined) ?? vendorKey(["ANTHROPIC_API_KEY"])) : undefined;
  return {
    choice,
    endpoint: isAnthropicSet ? undefined : endpointOf(name, settings),
    program: wantsProgram ? programOf(choice, settings) : undefined,
    isAnthropicSet,
    anthropic: key === undefined ? undefined : { key, model: settings.JUEZ_MODEL.value ?? MODEL.claude },
  };
}

function endpointOf(name: string | undefined, settings: Config["settings"]): Endpoint | undefined {
  const address = settings.LLM_BASE_URL.value;
  const known = providers.find(({ id }) => id === name);
  const provider = known ?? (address === undefined ? undefined : CUSTOM);
  if (provider === undefined) return undefined;
  return {
    provider: provider.id,
    baseUrl: address ?? provider.baseUrl,
    model: settings.JUEZ_MODEL.value ?? provider.model,
    key: settings.LLM_API_KEY.value ?? vendorKey(provider.keys),
  };
}

function programOf(choice: LadderSettings["choice"], settings: Config["settings"]): CliProgram | undefined {
  const name = settings.JUEZ_CLI.value ?? (choice === "gemini_cli" ? "gemini" : "claude");
  const path = findProgram(name, environment()["PATH"] ?? "");
  if (path === undefined) return undefined;
  const isGemini = basename(name).toLowerCase().startsWith("gemini");
  return {
    backend: isGemini ? "gemini_cli" : "claude_cli",
    path,
    model: settings.JUEZ_MODEL.value ?? (isGemini ? MODEL.gemini : MODEL.claude),
    environment: childEnvironment(),
  };
}
