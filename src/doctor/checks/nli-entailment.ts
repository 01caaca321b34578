import { entailedPairs, GOLDEN_MOST_DIFFERENCE, goldenDifference } from "../../inference/models/golden.ts";
import { deadlineIn } from "../../kernel/deadline.ts";
import { fail, ok, ownerCheck, warn } from "../check.ts";

const INSTALL = "memory-industry models nli";
/** Shows that the model answers, where nobody knows what it must answer. */
const PROBE = { pairs: [["The service listens on port 8080.", "The service listens on port 8080."]] } satisfies {
  pairs: [string, string][];
};

export default ownerCheck("nli_entailment", async ({ entailment, goldenPairs, deep, deepMs, signal }) => {
  const before = entailment.status();
  if (before.state === "missing") {
    return before.isDisabledByPlan === true
      ? warn(before.reason, "only a restart with more memory, or an explicit CUBA_NLI_PATH, changes it")
      : warn(`${before.reason} cuba_faro mode=verify answers unknown where no other judge is chosen.`, before.remedy ?? INSTALL);
  }
  let golden = "";
  if (deep) {
    const answer = await entailedPairs(entailment, goldenPairs.nli ?? PROBE, { deadline: deadlineIn(deepMs), signal });
    if (answer.kind === "none") return fail(`${before.model}: ${answer.reason}`, INSTALL);
    if (goldenPairs.nli !== undefined) {
      const difference = goldenDifference(goldenPairs.nli, answer.values);
      if (difference > GOLDEN_MOST_DIFFERENCE)
        return fail(`${before.model}, but its golden probabilities are off by ${difference.toFixed(3)}`, INSTALL);
      golden = ", golden probabilities match";
    }
  }
  const now = entailment.status();
  if (now.state === "failed") return fail(`${now.model} does not load: ${now.reason}`, now.remedy ?? INSTALL);
  const place = now.state === "ready" ? "loaded" : now.state === "loading" ? "still loading" : "on disk, not tried yet";
  if (now.state !== "missing" && now.trouble !== undefined)
    return warn(
      `${before.model}, ${place}, but the last question got no answer: ${now.trouble}`,
      "memory-industry doctor --deep asks it again",
    );
  return ok(`${before.model}, ${place}${golden}`);
});
