import { cardTrouble } from "../card.ts";
import { ok, ownerCheck, warn } from "../check.ts";

const HOW = "'memory-industry models runtime --gpu' installs the libraries, or says how";

/** Only the reranker ever asks for a card; the embedder's and the entailment model's kernels are not there (`config-packaging.md` §5). */
export default ownerCheck("gpu", async ({ plan, reranker }) => {
  const { vramFreeMb } = plan.readings;
  const trouble = cardTrouble(plan, reranker.status());
  if (trouble !== undefined) return warn(trouble, HOW);
  if (vramFreeMb === undefined) return ok("no card and no provider library beside the runtime: every model runs on the processor");
  const place = plan.rerankerOnCard && plan.card !== undefined ? `on the card, cap ${plan.card.capMb} MiB` : "on the processor";
  return ok(`reranker ${place}; embedder and entailment model on the processor; ${vramFreeMb} MiB were free on the card`);
});
