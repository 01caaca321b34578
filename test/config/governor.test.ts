import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { planResources, type Readings } from "../../src/config/governor.ts";

const places = {
  disabled: "/tmp/memory-industry-disabled-by-resource-plan",
  rerankerLight: "/cache/reranker-light",
  nliLight: "/cache/models-nli-light",
};
/** The quality models on disk, as published: e5-small INT8, bge-reranker INT8, mDeBERTa FP32. */
const quality = { embedder: 112, reranker: 544, rerankerLight: undefined, nli: 1_068, nliLight: undefined };
const machine = (readings: Partial<Readings>): Readings => ({
  totalMb: 16_000,
  availableMb: 8_000,
  cgroupLimitMb: undefined,
  logicalCores: 8,
  vramFreeMb: undefined,
  weights: quality,
  ...readings,
});
const plan = (readings: Partial<Readings>) => planResources(machine(readings), places);

describe("the reference machines", () => {
  test("4 GB laptop: 2,800 available, 4 cores", () => {
    const { budgetMb, level, variables } = plan({ availableMb: 2_800, logicalCores: 4 });
    expect([budgetMb, level]).toEqual([2_032, "lean"]);
    expect(variables).toMatchObject({ CUBA_OOD_FIT_LIMIT: "5000", CUBA_EMBED_INTRA_THREADS: "2" });
    expect(variables).toMatchObject({ CUBA_RERANKER_PATH: places.disabled, CUBA_NLI_PATH: places.disabled });
    expect(variables).not.toHaveProperty("ONNX_MODEL_PATH");
  });
  test("container: 12,000 available, cgroup 512", () => {
    const { budgetMb, level, committedMb, variables } = plan({ availableMb: 12_000, cgroupLimitMb: 512 });
    expect([budgetMb, level, committedMb]).toEqual([0, "minimal", 220]);
    expect(variables).toMatchObject({ CUBA_OOD_FIT_LIMIT: "500", CUBA_RERANK_CHUNK: "16" });
    expect(variables).toMatchObject({
      ONNX_MODEL_PATH: places.disabled,
      CUBA_RERANKER_PATH: places.disabled,
      CUBA_NLI_PATH: places.disabled,
    });
  });
  const desktop = { availableMb: 7_160, cgroupLimitMb: 4_500, logicalCores: 12, vramFreeMb: 5_900 };
  test("desktop: 7,160 available, cgroup 4,500, 12 cores, 5,900 on the card", () => {
    const { budgetMb, level, committedMb, variables } = plan(desktop);
    expect([budgetMb, level, committedMb]).toEqual([3_732, "full", 3_320]);
    expect(variables).toMatchObject({
      CUBA_EMBED_INTRA_THREADS: "4",
      CUBA_NLI_INTRA_THREADS: "4",
      CUBA_DB_MAX_CONNECTIONS: "4",
      CUBA_OOD_FIT_LIMIT: "5000",
      CUBA_RERANK_INTRA_THREADS: "2",
      CUBA_RERANK_DEVICE: "gpu",
    });
    expect(plan({ ...desktop, vramFreeMb: undefined }).variables).toMatchObject({
      CUBA_RERANK_INTRA_THREADS: "6",
      CUBA_RERANK_DEVICE: "cpu",
    });
  });
  test("the same with cgroup 3,400", () => {
    const { budgetMb, level, models } = plan({ ...desktop, cgroupLimitMb: 3_400 });
    expect([budgetMb, level, models.reranker.state, models.nli.state]).toEqual([2_632, "standard", "runs", "off"]);
  });
  test("server: 60,000 available, 32 cores", () => {
    const { budgetMb, level, variables } = plan({ availableMb: 60_000, logicalCores: 32 });
    expect([budgetMb, level]).toEqual([59_232, "full"]);
    expect(variables).toMatchObject({ CUBA_RERANK_INTRA_THREADS: "8", CUBA_RERANK_CHUNK: "4", CUBA_RERANK_DEVICE: "cpu" });
  });
  test("workstation: 6,200 available, 2,100 on the card, weights 1,100: the reranker stays on the processor", () => {
    const { budgetMb, level, rerankerOnCard, variables } = plan({
      availableMb: 6_200,
      vramFreeMb: 2_100,
      weights: { ...quality, reranker: 1_100 },
    });
    expect([budgetMb, level, rerankerOnCard]).toEqual([5_432, "full", false]);
    expect(variables).toMatchObject({ CUBA_RERANK_DEVICE: "cpu" });
    expect(variables).not.toHaveProperty("CUBA_GPU_MEM_LIMIT_MB");
  });
  test("weights 1,650, 5,900 on the card: chunk 16, cap 5,388, floor 2,583", () => {
    const { rerankerOnCard, card, variables, problems } = plan({ vramFreeMb: 5_900, weights: { ...quality, reranker: 1_650 } });
    expect([rerankerOnCard, card, problems]).toEqual([true, { capMb: 5_388, floorMb: 2_583 }, []]);
    expect(variables).toMatchObject({ CUBA_RERANK_CHUNK: "16", CUBA_GPU_MEM_LIMIT_MB: "5388", CUBA_RERANK_INTRA_THREADS: "2" });
  });
  test("a card that holds the narrow batch only", () => {
    expect(plan({ vramFreeMb: 3_200, weights: { ...quality, reranker: 1_650 } }).variables).toMatchObject({ CUBA_RERANK_CHUNK: "8" });
  });
});

describe("the operator", () => {
  const onCard = { vramFreeMb: 5_900, weights: { ...quality, reranker: 1_650 } };
  test("who caps the card under what the model needs is told, and the plan's cap stands", () => {
    const { card, problems } = plan({ ...onCard, wantedGpuCapMb: 512 });
    expect(card).toEqual({ capMb: 5_388, floorMb: 2_583 });
    expect(problems).toEqual([expect.stringContaining("CUBA_GPU_MEM_LIMIT_MB=512 is under the 2583 MiB")]);
  });
  test("whose cap is enough is obeyed", () => {
    expect(plan({ ...onCard, wantedGpuCapMb: 3_000 })).toMatchObject({ card: { capMb: 3_000 }, problems: [] });
  });
  test("whose cap holds the narrow batch only gets the narrow batch, and the cap", () => {
    expect(plan({ ...onCard, wantedGpuCapMb: 2_300 })).toMatchObject({
      card: { capMb: 2_300, floorMb: 2_199 },
      variables: { CUBA_RERANK_CHUNK: "8" },
      problems: [],
    });
  });
  test("who says cpu gets the processor", () => {
    expect(plan({ ...onCard, wantedDevice: "cpu" })).toMatchObject({ rerankerOnCard: false, variables: { CUBA_RERANK_DEVICE: "cpu" } });
  });
});

describe("what is on disk", () => {
  test("nothing is reserved for a model that is not there, and it is not called switched off", () => {
    const { level, committedMb, models, variables } = plan({ weights: { ...quality, nli: undefined, reranker: undefined } });
    expect([level, committedMb, models.nli.state]).toEqual(["lean", 1_120, "absent"]);
    expect(variables).not.toHaveProperty("CUBA_NLI_PATH");
  });
  test("no model at all is minimal, with nothing switched off", () => {
    const none = { embedder: undefined, reranker: undefined, rerankerLight: undefined, nli: undefined, nliLight: undefined };
    expect(plan({ weights: none })).toMatchObject({ level: "minimal", committedMb: 220, models: { embedder: { state: "absent" } } });
  });
  test("a small embedder runs where the constant would not fit", () => {
    expect(plan({ cgroupLimitMb: 1_400 })).toMatchObject({ budgetMb: 632, level: "lean", committedMb: 632 });
    expect(plan({ cgroupLimitMb: 1_229 })).toMatchObject({ budgetMb: 461, level: "minimal" });
    expect(plan({ cgroupLimitMb: 1_230 })).toMatchObject({ budgetMb: 462, level: "lean", committedMb: 462 });
  });
  test("an export of four gigabytes is weighed, not guessed", () => {
    const { models } = plan({ availableMb: 6_000, weights: { ...quality, reranker: 4_331 } });
    expect([models.reranker.state, models.nli.state]).toEqual(["off", "runs"]);
  });
  test("the light sibling runs where the quality model does not fit", () => {
    const weights = { ...quality, rerankerLight: 114, nliLight: 408 };
    const { level, models, variables } = plan({ availableMb: 2_800, weights });
    expect([level, models.reranker, models.nli.state]).toEqual([
      "full",
      { state: "light", costMb: 244, reason: "the light model, in place of the quality model, which does not fit: 244 of 1570 MiB" },
      "light",
    ]);
    expect(variables).toMatchObject({
      CUBA_RERANKER_PATH: "/cache/reranker-light",
      CUBA_NLI_PATH: "/cache/models-nli-light",
      CUBA_RERANK_CHUNK: "4",
    });
  });
  test("a light model that is the only one installed runs from its own place", () => {
    const { models, variables } = plan({ weights: { ...quality, reranker: undefined, rerankerLight: 114 } });
    expect(models.reranker.state).toBe("light");
    expect(variables).toMatchObject({ CUBA_RERANKER_PATH: "/cache/reranker-light" });
  });
});

test("whatever the machine: nothing is 0, the plan fits its budget, and more memory never costs the embedder or the reranker", () => {
  const weight = fc.option(fc.integer({ min: 20, max: 5_000 }), { nil: undefined });
  const any = fc.record({
    totalMb: fc.constant(64_000),
    availableMb: fc.integer({ min: 0, max: 64_000 }),
    cgroupLimitMb: fc.option(fc.integer({ min: 64, max: 64_000 }), { nil: undefined }),
    logicalCores: fc.integer({ min: 1, max: 256 }),
    vramFreeMb: fc.option(fc.integer({ min: 0, max: 24_000 }), { nil: undefined }),
    weights: fc.record({ embedder: weight, reranker: weight, rerankerLight: weight, nli: weight, nliLight: weight }),
  });
  const rank = ["off", "absent", "light", "runs"];
  fc.assert(
    fc.property(any, fc.integer({ min: 0, max: 10_000 }), (readings, more) => {
      const now = planResources(readings, places);
      expect(now.committedMb).toBeLessThanOrEqual(Math.max(now.budgetMb, 220));
      for (const [name, value] of Object.entries(now.variables))
        if (/^\d+$/.test(value)) expect([name, Number(value) > 0]).toEqual([name, true]);
      expect(Number(now.variables["CUBA_DB_MAX_CONNECTIONS"])).toBeLessThanOrEqual(4);
      expect(Number(now.variables["CUBA_RERANK_CHUNK"])).toBeLessThanOrEqual(16);
      const later = planResources({ ...readings, availableMb: readings.availableMb + more }, places);
      expect(rank.indexOf(later.level)).toBeGreaterThanOrEqual(rank.indexOf(now.level));
    }),
  );
});
