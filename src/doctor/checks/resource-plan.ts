import { type ModelPlanFacts, ok, ownerCheck, type PlanFacts, warn } from "../check.ts";

const told = (name: string, { state, reason }: ModelPlanFacts) =>
  `${name} ${state === "off" ? "off" : state === "absent" ? "absent" : "runs"} (${reason})`;

const describe = ({ level, budgetMb, committedMb, readings, models }: PlanFacts) =>
  `${level}: ${committedMb} of ${budgetMb} MiB (available ${readings.availableMb}${readings.cgroupLimitMb === undefined ? "" : `, cgroup limit ${readings.cgroupLimitMb}`} at the start); ` +
  [told("embedder", models.embedder), told("reranker", models.reranker), told("entailment", models.nli)].join("; ");

export default ownerCheck("resource_plan", async ({ plan }) =>
  plan.models.embedder.state === "off"
    ? warn(
        `${describe(plan)}; search is lexical`,
        "raise the memory limit and restart: the plan is made once, at the start. An explicit ONNX_MODEL_PATH overrules it",
      )
    : ok(describe(plan)),
);
