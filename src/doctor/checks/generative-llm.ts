import { ok, ownerCheck, warn } from "../check.ts";

/** Nothing is asked here: a question to a rented model costs its owner money. */
export default ownerCheck("generative_llm", async ({ judge }) => {
  const lying = judge.lying.length === 0 ? "" : ` There, and nobody's choice, so never used: ${judge.lying.join(", ")}.`;
  if (judge.problem !== undefined && judge.choice !== "mcp_sampling") return warn(`${judge.problem}${lying}`, "memory-industry llm status");
  if (judge.chosen.length === 0) {
    return ok(
      `none chosen: claims and conflicts that the local model does not decide go to a client that offers its own model, else stay unknown.${lying}`,
    );
  }
  return ok(`chosen, and its account pays: ${judge.chosen.join(", ")}.${lying}`);
});
