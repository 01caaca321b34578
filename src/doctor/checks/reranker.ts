import { GOLDEN_MOST_DIFFERENCE, goldenDifference, scoredPairs } from "../../inference/models/golden.ts";
import { deadlineIn } from "../../kernel/deadline.ts";
import { fail, ok, ownerCheck, warn } from "../check.ts";

const INSTALL = "memory-industry models reranker";
/** Shows that the model answers, where nobody knows what it must answer. */
const PROBE = { pairs: [["doctor", "a passage to score"]] } satisfies { pairs: [string, string][] };

export default ownerCheck("reranker", async ({ reranker, rerank, goldenPairs, deep, deepMs, signal }) => {
  const use = rerank.byDefault ? "on by default" : "on request (mode completo or a card in use switches it on by default)";
  const before = reranker.status();
  if (before.state === "missing") {
    return before.isDisabledByPlan === true
      ? warn(before.reason, "only a restart with more memory, or an explicit CUBA_RERANKER_PATH, changes it")
      : warn(before.reason, before.remedy ?? INSTALL);
  }
  let golden = "";
  if (deep) {
    const asked = goldenPairs.reranker ?? PROBE;
    const answer = await scoredPairs(reranker, asked, { deadline: deadlineIn(deepMs), signal });
    if (answer.kind === "none") return fail(`${before.model}: ${answer.reason}`, INSTALL);
    if (goldenPairs.reranker !== undefined) {
      const difference = goldenDifference(goldenPairs.reranker, answer.values);
      if (difference > GOLDEN_MOST_DIFFERENCE)
        return fail(`${before.model}, but its golden scores are off by ${difference.toFixed(3)}`, INSTALL);
      golden = ", golden scores match";
    }
  }
  const now = reranker.status();
  if (now.state === "failed") return fail(`${now.model} does not load: ${now.reason}`, now.remedy ?? INSTALL);
  const place = now.state === "ready" ? "loaded" : now.state === "loading" ? "still loading" : "on disk, not tried yet";
  if (now.state !== "missing" && now.trouble !== undefined)
    return warn(
      `${before.model}, ${place}, but the last question got no answer: ${now.trouble}`,
      "memory-industry doctor --deep asks it again",
    );
  return ok(`${before.model}, ${place}${golden}, ${use}, depth ${rerank.depth}`);
});
