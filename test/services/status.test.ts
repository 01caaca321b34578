import { expect, test } from "bun:test";
import { toEnd } from "../../src/kernel/steps.ts";
import { createStatus, type StatusParts } from "../../src/services/status.ts";
import type { Services } from "../../src/tools/services.ts";
import whoami from "../../src/tools/whoami.ts";
import { judgeWith } from "../support/judge.ts";
import { noDatabase } from "../support/no-database.ts";
import { callContext, noEmbedder } from "../support/search.ts";

type PlanStates = Partial<Record<"embedder" | "reranker" | "nli", "runs" | "light" | "off" | "absent">>;
const planned = (states: PlanStates, level: StatusParts["plan"]["level"] = "minimal", vramFreeMb?: number): StatusParts["plan"] => ({
  level,
  models: {
    embedder: { state: states.embedder ?? "absent" },
    reranker: { state: states.reranker ?? "absent" },
    nli: { state: states.nli ?? "absent" },
  },
  readings: { vramFreeMb },
});

const ask = async (given: Partial<StatusParts> = {}) => {
  const status = createStatus({
    db: noDatabase,
    identity: { active: () => undefined } as unknown as StatusParts["identity"],
    embedder: noEmbedder,
    judge: judgeWith(),
    llm: () => ({ configured: false, provider: null, lying: [] }),
    servesHttp: false,
    plan: planned({}),
    availableMemoryMb: () => 1_000,
    ...given,
  });
  const parsed = toEnd(whoami.parse({}));
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

test("resources are those of the memory plan; a model that came after the start is counted", async () => {
  expect((await ask()).resources).toEqual({
    tier: "minimal",
    describe: "no model: search by words alone",
    ram_available_mb: 1_000,
    vram_free_mb: null,
  });
  const ready = { ...noEmbedder, status: () => ({ state: "ready", model: "x" }) as const };
  const full = planned({ embedder: "runs", reranker: "light", nli: "runs" }, "full", 5_900);
  expect((await ask({ plan: full, embedder: ready })).resources).toMatchObject({
    tier: "full",
    describe: "embedding model, reranker, entailment model: search by words and by meaning",
    vram_free_mb: 5_900,
  });
  const small = planned({ embedder: "off", reranker: "off" }, "minimal");
  expect((await ask({ plan: small })).resources).toMatchObject({
    tier: "minimal",
    describe: "no model: search by words alone; not enough memory for the embedding model and the reranker",
  });
  const late = { ...noEmbedder, status: () => ({ state: "idle", model: "x" }) as const };
  expect((await ask({ embedder: late })).resources).toMatchObject({
    tier: "lean",
    describe: "embedding model: search by words and by meaning",
  });
  expect((await ask({ embedder: late, plan: small })).resources).toMatchObject({
    tier: "lean",
    describe: "embedding model: search by words and by meaning; not enough memory for the reranker",
  });
});
