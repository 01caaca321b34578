import { entailedPairs } from "../../inference/models/golden.ts";
import { deadlineIn } from "../../kernel/deadline.ts";
import { ownerCheck } from "../check.ts";
import { pairModelVerdict } from "../pair-model.ts";

export default ownerCheck(
  "nli_entailment",
  async ({ entailment, goldenPairs, deep, deepMs, signal }) =>
    await pairModelVerdict({
      status: () => entailment.status(),
      install: "memory-industry models nli",
      variable: "CUBA_NLI_PATH",
      without: "cuba_faro mode=verify answers unknown where no other judge is chosen.",
      values: "probabilities",
      golden: goldenPairs.nli,
      ask: deep ? (pairs) => entailedPairs(entailment, { pairs }, { deadline: deadlineIn(deepMs), signal }) : undefined,
      probe: [["The service listens on port 8080.", "The service listens on port 8080."]],
    }),
);
