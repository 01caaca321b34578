import { deadlineIn } from "../../kernel/deadline.ts";
import { fail, ok, ownerCheck, warn } from "../check.ts";

const INSTALL = "memory-industry models nli";

export default ownerCheck("nli_entailment", async ({ entailment, deep, deepMs, signal }) => {
  const before = entailment.status();
  if (before.state === "missing") {
    return before.isDisabledByPlan === true
      ? warn(before.reason, "only a restart with more memory, or an explicit CUBA_NLI_PATH, changes it")
      : warn(`${before.reason} cuba_faro mode=verify answers unknown where no other judge is chosen.`, INSTALL);
  }
  if (deep) {
    const pair = { premise: "The service listens on port 8080.", hypothesis: "The service listens on port 8080." };
    const answer = await entailment.entail([pair], { deadline: deadlineIn(deepMs), signal });
    if (answer.kind === "none") return fail(`${before.model}: ${answer.reason}`, INSTALL);
  }
  const now = entailment.status();
  if (now.state === "failed") return fail(`${now.model} does not load: ${now.reason}`, INSTALL);
  return ok(`${before.model}, ${now.state === "ready" ? "loaded" : "on disk, not tried yet"}`);
});
