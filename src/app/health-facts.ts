/** What `/health` tells whoever has full scope, beside the state of the parts (`cli-daemon.md` §4.7): no key, no path, no address with a password. */
import { cardTrouble } from "../doctor/card.ts";
import { providerBuild } from "../inference/models/provider-libraries.ts";
import type { ModelState } from "../inference/port.ts";
import { ladderOf } from "../llm/ladder.ts";
import { ladderSettings } from "./judge.ts";
import type { Models } from "./models.ts";

type Device = "cpu" | "gpu";

interface ModelHealth {
  readonly state: ModelState["state"] | "not_loaded";
  readonly device: Device;
  readonly reason?: string;
}

/** Installed and not asked for yet is no fault: `not_loaded`. */
function modelHealth(status: ModelState, device: Device): ModelHealth {
  const state = status.state === "idle" ? "not_loaded" : status.state;
  const reason = "reason" in status ? status.reason : status.trouble;
  return { state, device, ...(reason === undefined ? {} : { reason }) };
}

/** Reading it loads nothing and asks nobody. */
export function modelsHealth({ embedder, reranker, entailment, plan }: Models) {
  const status = reranker.status();
  const onCard = plan.rerankerOnCard && !("displaced" in status && status.displaced !== undefined);
  return {
    embedder: modelHealth(embedder.status(), "cpu"),
    reranker: modelHealth(status, onCard ? "gpu" : "cpu"),
    nli: modelHealth(entailment.status(), "cpu"),
  };
}

export function runtimeHealth(models: Models): Readonly<Record<string, unknown>> {
  const { config, plan, reranker } = models;
  const { embedder: embed, reranker: rerank, nli } = modelsHealth(models);
  const trouble = cardTrouble(plan, reranker.status());
  const settings = ladderSettings(config);
  const [chosen] = ladderOf(settings, undefined).chats;
  return {
    mode: config.mode,
    resource_tier: plan.level,
    gpu: {
      build: `${process.platform}-${process.arch}` === providerBuild.platform ? "cuda" : "cpu",
      degraded: trouble !== undefined,
      ...(trouble === undefined ? {} : { reason: trouble }),
      placement: { embedder: embed.device, reranker: rerank.device, nli: nli.device },
    },
    llm: {
      configured: chosen !== undefined,
      backend: chosen?.backend ?? null,
      model: chosen?.model ?? null,
      base_url: chosen?.backend === "openai_compat" && settings.endpoint !== undefined ? bare(settings.endpoint.baseUrl) : null,
    },
  };
}

/** Without user, password, query and fragment; undefined text where it is no address. */
function bare(address: string): string | null {
  try {
    const { protocol, host, pathname } = new URL(address);
    return `${protocol}//${host}${pathname}`;
  } catch {
    return null;
  }
}
