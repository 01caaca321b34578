import { scoredPairs } from "../../inference/models/golden.ts";
import { deadlineIn } from "../../kernel/deadline.ts";
import { ownerCheck } from "../check.ts";
import { pairModelVerdict } from "../pair-model.ts";

export default ownerCheck("reranker", async ({ reranker, rerank, goldenPairs, deep, deepMs, signal }) => {
  const use = rerank.byDefault ? "on by default" : "on request (mode completo or a card in use switches it on by default)";
  return await pairModelVerdict({
    status: () => reranker.status(),
    install: "memory-industry models reranker",
    variable: "CUBA_RERANKER_PATH",
    values: "scores",
    golden: goldenPairs.reranker,
    ask: deep ? (pairs) => scoredPairs(reranker, { pairs }, { deadline: deadlineIn(deepMs), signal }) : undefined,
    probe: [["doctor", "a passage to score"]],
    use: `${use}, depth ${rerank.depth}`,
  });
});
