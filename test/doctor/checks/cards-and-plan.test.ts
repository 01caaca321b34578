import { describe, expect, test } from "bun:test";
import type { OwnerFacts } from "../../../src/doctor/check.ts";
import gpu from "../../../src/doctor/checks/gpu.ts";
import onnxModel from "../../../src/doctor/checks/onnx-model.ts";
import { noEmbedder } from "../../support/search.ts";

const cardless = (readings: { hasCard?: boolean; hasCardLibrary?: boolean }) =>
  ({
    plan: { readings: { vramFreeMb: undefined, ...readings }, rerankerOnCard: false, card: undefined },
    reranker: { status: () => ({ state: "missing", reason: "none" }) },
  }) as unknown as OwnerFacts;

describe("a card", () => {
  test("without the runtime's library for it is a warning, and so is the library without a card", async () => {
    expect(await gpu.run(cardless({ hasCard: true }))).toMatchObject({
      status: "warn",
      detail: "a card is there, and no provider library beside the runtime: every model runs on the processor",
      hint: expect.stringContaining("models runtime --gpu"),
    });
    expect(await gpu.run(cardless({ hasCardLibrary: true }))).toMatchObject({
      status: "warn",
      detail: expect.stringContaining("no card answers"),
    });
  });

  test("that is not there, with no library either, is in order", async () => {
    expect(await gpu.run(cardless({}))).toMatchObject({
      status: "ok",
      detail: expect.stringContaining("every model runs on the processor"),
    });
  });
});

test("an embedding model that the plan switched off is not told to be downloaded", async () => {
  const off = { state: "missing", reason: "It does not fit.", isDisabledByPlan: true } as const;
  const facts = { embedder: { ...noEmbedder, status: () => off } } as unknown as OwnerFacts;
  expect(await onnxModel.run(facts)).toMatchObject({ status: "warn", hint: expect.stringContaining("restart") });
});
