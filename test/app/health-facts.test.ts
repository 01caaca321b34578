import { expect, test } from "bun:test";
import { modelsHealth, runtimeHealth } from "../../src/app/health-facts.ts";
import type { Models } from "../../src/app/models.ts";
import { planResources } from "../../src/config/governor.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { ModelState } from "../../src/inference/port.ts";

const places = { disabled: "/off", rerankerLight: "/light", nliLight: "/light" };
const card = { vramFreeMb: 5_900, hasCard: true, hasCardLibrary: true };

function models(reranker: ModelState, readings: object = {}, environment: Record<string, string> = {}): Models {
  const plan = planResources(
    {
      totalMb: 16_000,
      availableMb: 7_000,
      cgroupLimitMb: undefined,
      logicalCores: 4,
      vramFreeMb: undefined,
      weights: { embedder: 120, reranker: 1_100, rerankerLight: undefined, nli: undefined, nliLight: undefined },
      ...readings,
    },
    places,
  );
  const config = loadConfig({
    environment: { HOME: "/home/ana", PATH: "", ...environment },
    machine: { platform: "linux", workingDirectory: "/" },
  });
  const embedder: ModelState = { state: "idle", model: "e5" };
  const entailment: ModelState = { state: "missing", reason: "No entailment model is installed." };
  const status = (state: ModelState) => ({ status: () => state });
  // What health reads of the models; nothing else is touched.
  return { config, plan, embedder: status(embedder), reranker: status(reranker), entailment: status(entailment) } as unknown as Models;
}

test("states, devices and reasons of the three models, with the tier of the plan and without a path or a key", () => {
  const given = models({ state: "ready", model: "m", trouble: "It was too slow." }, {}, { CUBA_MODE: "completo" });
  expect(modelsHealth(given)).toEqual({
    embedder: { state: "not_loaded", device: "cpu" },
    reranker: { state: "ready", device: "cpu", reason: "It was too slow." },
    nli: { state: "missing", device: "cpu", reason: "No entailment model is installed." },
  });
  expect(runtimeHealth(given)).toMatchObject({
    mode: "completo",
    resource_tier: "standard",
    gpu: { degraded: false, placement: { embedder: "cpu", reranker: "cpu", nli: "cpu" } },
    llm: { configured: false, backend: null, model: null, base_url: null },
  });
});

test("the reranker is on the card where it was placed and stayed there; what keeps it off is said", () => {
  const gpu = (state: ModelState, readings: object) => Reflect.get(runtimeHealth(models(state, readings)), "gpu");
  expect(gpu({ state: "idle", model: "m" }, card)).toMatchObject({ degraded: false, placement: { reranker: "gpu" } });
  expect(gpu({ state: "ready", model: "m", displaced: "no CUDA" }, card)).toMatchObject({
    degraded: true,
    reason: "no CUDA",
    placement: { reranker: "cpu" },
  });
  expect(gpu({ state: "idle", model: "m" }, { hasCard: true })).toMatchObject({
    degraded: true,
    reason: "a card is there, and no provider library beside the runtime: every model runs on the processor",
  });
});

test("a chat service that was set is named by its bare address", () => {
  const given = models(
    { state: "idle", model: "m" },
    {},
    { CUBA_LLM_BASE_URL: "http://ana:secret@127.0.0.1:11434/v1?key=secret", CUBA_LLM_API_KEY: "secret-key", CUBA_JUEZ_MODEL: "llama" },
  );
  expect(runtimeHealth(given)).toMatchObject({
    llm: { configured: true, backend: "openai_compat", base_url: "http://127.0.0.1:11434/v1" },
  });
  expect(JSON.stringify(runtimeHealth(given))).not.toContain("secret");
});
