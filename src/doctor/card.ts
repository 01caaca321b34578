/** What keeps the card of this machine from being used: for `doctor` and `/health`, from what was measured and from what the loaded model did. */
import type { ModelState } from "../inference/port.ts";
import type { PlanFacts } from "./check.ts";

/** A sentence; undefined where nothing is amiss, a machine without a card included. */
export function cardTrouble(
  { readings: { vramFreeMb, hasCard = false, hasCardLibrary = false }, rerankerOnCard }: PlanFacts,
  reranker: ModelState,
) {
  if (vramFreeMb === undefined && hasCardLibrary)
    return "a provider library of a card lies beside the runtime, and no card answers: every model runs on the processor";
  if (vramFreeMb === undefined && hasCard)
    return "a card is there, and no provider library beside the runtime: every model runs on the processor";
  // Planned is not placed: what the loaded session did counts.
  return rerankerOnCard && reranker.state !== "missing" && reranker.state !== "failed" ? reranker.displaced : undefined;
}
