import { ok, ownerCheck, warn } from "../check.ts";

const HOW = "'memory-industry models runtime --gpu' says how";

/** Only the reranker ever asks for a card; the embedder's and the entailment model's kernels are not there (`config-packaging.md` §5). */
export default ownerCheck("gpu", async ({ plan }) => {
  const { vramFreeMb, hasCard = false, hasCardLibrary = false } = plan.readings;
  if (vramFreeMb !== undefined) {
    const place = plan.rerankerOnCard && plan.card !== undefined ? `on the card, cap ${plan.card.capMb} MiB` : "on the processor";
    return ok(`reranker ${place}; embedder and entailment model on the processor; ${vramFreeMb} MiB were free on the card`);
  }
  if (hasCardLibrary)
    return warn("a provider library of a card lies beside the runtime, and no card answers: every model runs on the processor", HOW);
  if (hasCard) return warn("a card is there, and no provider library beside the runtime: every model runs on the processor", HOW);
  return ok("no card and no provider library beside the runtime: every model runs on the processor");
});
