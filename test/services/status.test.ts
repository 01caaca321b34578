import { expect, test } from "bun:test";
import { createStatus, type StatusParts } from "../../src/services/status.ts";
import type { Services } from "../../src/tools/services.ts";
import whoami from "../../src/tools/whoami.ts";
import { judgeWith } from "../support/judge.ts";
import { noDatabase } from "../support/no-database.ts";
import { callContext, noEmbedder } from "../support/search.ts";

const ask = async (given: Partial<StatusParts> = {}) => {
  const status = createStatus({
    db: noDatabase,
    identity: { active: () => undefined } as unknown as StatusParts["identity"],
    embedder: noEmbedder,
    judge: judgeWith(),
    llm: () => ({ configured: false, provider: null, lying: [] }),
    servesHttp: false,
    availableMemoryMb: () => 1_000,
    ...given,
  });
  const parsed = whoami.parse({});
  if (parsed.kind !== "run") throw new Error("the call was forwarded");
  return await parsed.run(callContext(), { status } as unknown as Services);
};

test("who can judge is told; what merely lies there is named as unused and makes nobody available", async () => {
  const none = await ask({ llm: () => ({ configured: false, provider: null, lying: ["claude on PATH"] }) });
  expect(none.llm).toMatchObject({ configured: false, provider: null, judge_available: false });
  expect(none.llm).toMatchObject({ hint: expect.stringContaining("There but not chosen, so never used: claude on PATH.") });
  const chat = { backend: "openai_compat", model: "ollama:x", complete: async () => "" } as const;
  const some = await ask({
    judge: judgeWith({ ladder: () => ({ chats: [chat], problem: undefined }) }),
    llm: () => ({ configured: true, provider: "ollama", lying: [] }),
  });
  expect(some.llm).toEqual({
    configured: true,
    provider: "ollama",
    judge_available: true,
    hint: "cuba_faro mode=verify asks openai_compat first.",
  });
  const named = await ask({
    judge: judgeWith({ choice: "mcp_sampling", ladder: () => ({ chats: [], problem: "This client does not offer it." }) }),
  });
  expect(named.llm).toMatchObject({ judge_available: false, hint: "This client does not offer it." });
});

test("without a database every part that needs it is null, and nothing fails", async () => {
  expect(await ask()).toMatchObject({ node_id: null, rls_enforced: false, project_id: null, session_id: null, scope: "full" });
  expect(await ask()).not.toHaveProperty("mcp_endpoint");
  expect(await ask({ servesHttp: true })).toMatchObject({ mcp_endpoint: "/mcp", events: "/events" });
});
