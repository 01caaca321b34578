/** Known chat services: a convenience, not an allow-list; any address can be set by hand. */

export interface Provider {
  readonly id: string;
  readonly baseUrl: string;
  readonly model: string;
  /** Environment variables of the vendor that hold a key; read only for a provider that a person has chosen. */
  readonly keys: readonly string[];
}

/** Speaks its own form, not the OpenAI one: choosing it chooses the Anthropic rung. */
export const ANTHROPIC = "anthropic";

export const providers: readonly Provider[] = [
  { id: "ollama", baseUrl: "http://127.0.0.1:11434/v1", model: "llama3.2", keys: [] },
  { id: "lmstudio", baseUrl: "http://127.0.0.1:1234/v1", model: "local-model", keys: [] },
  { id: "vllm", baseUrl: "http://127.0.0.1:8000/v1", model: "default", keys: [] },
  { id: "openai", baseUrl: "https://api.openai.com/v1", model: "gpt-4o-mini", keys: ["OPENAI_API_KEY"] },
  { id: "deepseek", baseUrl: "https://api.deepseek.com/v1", model: "deepseek-chat", keys: ["DEEPSEEK_API_KEY"] },
  {
    id: "qwen",
    baseUrl: "https://dashscope.aliyuncs.com/compatible-mode/v1",
    model: "qwen-plus",
    keys: ["DASHSCOPE_API_KEY", "QWEN_API_KEY"],
  },
  { id: "moonshot", baseUrl: "https://api.moonshot.cn/v1", model: "moonshot-v1-8k", keys: ["MOONSHOT_API_KEY", "KIMI_API_KEY"] },
  { id: "zhipu", baseUrl: "https://open.bigmodel.cn/api/paas/v4", model: "glm-4-flash", keys: ["ZHIPU_API_KEY", "BIGMODEL_API_KEY"] },
  { id: "siliconflow", baseUrl: "https://api.siliconflow.cn/v1", model: "Qwen/Qwen2.5-7B-Instruct", keys: ["SILICONFLOW_API_KEY"] },
  { id: "yi", baseUrl: "https://api.lingyiwanwu.com/v1", model: "yi-lightning", keys: ["YI_API_KEY", "LINGYI_API_KEY"] },
  { id: "minimax", baseUrl: "https://api.minimax.chat/v1", model: "MiniMax-Text-01", keys: ["MINIMAX_API_KEY"] },
  {
    id: "doubao",
    baseUrl: "https://ark.cn-beijing.volces.com/api/v3",
    model: "doubao-pro-32k",
    keys: ["ARK_API_KEY", "DOUBAO_API_KEY", "VOLC_ACCESS_KEY"],
  },
  { id: "baichuan", baseUrl: "https://api.baichuan-ai.com/v1", model: "Baichuan4-Turbo", keys: ["BAICHUAN_API_KEY"] },
  { id: "openrouter", baseUrl: "https://openrouter.ai/api/v1", model: "openrouter/auto", keys: ["OPENROUTER_API_KEY"] },
  {
    id: "together",
    baseUrl: "https://api.together.xyz/v1",
    model: "meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo",
    keys: ["TOGETHER_API_KEY"],
  },
  { id: "groq", baseUrl: "https://api.groq.com/openai/v1", model: "llama-3.1-8b-instant", keys: ["GROQ_API_KEY"] },
  { id: ANTHROPIC, baseUrl: "https://api.anthropic.com", model: "claude-haiku-4-5", keys: ["ANTHROPIC_API_KEY"] },
];
