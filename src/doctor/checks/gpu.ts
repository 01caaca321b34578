import { ok, ownerCheck } from "../check.ts";

/** Only the reranker ever asks for a card; the embedder's and the entailment model's kernels are not there (`config-packaging.md` §5). */
export default ownerCheck("gpu", async ({ plan }) => {
  if (plan.readings.vramFreeMb === undefined)
    return ok("no provider library of a card beside the runtime: every model runs on the processor");
  const place = plan.rerankerOnCard && plan.card !== undefined ? `on the card, cap ${plan.card.capMb} MiB` : "on the processor";
  return ok(`reranker ${place}; embedder and entailment model on the processor; ${plan.readings.vramFreeMb} MiB were free on the card`);
});
