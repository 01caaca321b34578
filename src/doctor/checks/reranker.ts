import { deadlineIn } from "../../kernel/deadline.ts";
import { fail, ok, ownerCheck, warn } from "../check.ts";

const INSTALL = "memory-industry models reranker";

export default ownerCheck("reranker", async ({ reranker, rerank, deep, deepMs, signal }) => {
  const use = rerank.byDefault ? "on by default" : "on request (mode completo or a card in use switches it on by default)";
  const before = reranker.status();
  if (before.state === "missing") {
    return before.isDisabledByPlan === true
      ? warn(before.reason, "only a restart with more memory, or an explicit CUBA_RERANKER_PATH, changes it")
      : warn(before.reason, INSTALL);
  }
  if (deep) {
    const answer = await reranker.score("doctor", ["a passage to score"], { deadline: deadlineIn(deepMs), signal });
    if (answer.kind === "none") return fail(`${before.model}: ${answer.reason}`, INSTALL);
  }
  const now = reranker.status();
  if (now.state === "failed") return fail(`${now.model} does not load: ${now.reason}`, INSTALL);
  return ok(`${before.model}, ${now.state === "ready" ? "loaded" : "on disk, not tried yet"}, ${use}, depth ${rerank.depth}`);
});
