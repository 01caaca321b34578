/** Other words for a judge (`tools-cognition.md` §3.1). */
import type { JudgeChoice } from "../kernel/judge-choice.ts";

/** Other spellings, and the providers by name: each of them is the chat endpoint. */
export const judgeAliases: Readonly<Record<string, JudgeChoice>> = {
  nli_local: "nli",
  local: "nli",
  sampling: "mcp_sampling",
  openai: "openai_compat",
  ollama: "openai_compat",
  local_llm: "openai_compat",
  http: "openai_compat",
  ...Object.fromEntries(
    [
      "lmstudio",
      "vllm",
      "deepseek",
      "qwen",
      "moonshot",
      "zhipu",
      "siliconflow",
      "yi",
      "minimax",
      "doubao",
      "baichuan",
      "openrouter",
      "together",
      "groq",
    ].map((id) => [id, "openai_compat" as const]),
  ),
  cli: "claude_cli",
  gemini: "gemini_cli",
  anthropic: "anthropic_api",
};
