/** What a person may name as the judge (`CUBA_JUDGE`, `tools-cognition.md` §3.1). */
export const judgeChoices = [
  "auto",
  "nli",
  "mcp_sampling",
  "openai_compat",
  "claude_cli",
  "gemini_cli",
  "anthropic_api",
  "heuristic",
] as const;
export type JudgeChoice = (typeof judgeChoices)[number];
