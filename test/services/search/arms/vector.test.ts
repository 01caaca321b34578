import { expect, test } from "bun:test";
import { embedQuestion } from "../../../../src/services/search/arms/vector.ts";
import { callContext, noEmbedder } from "../../../support/search.ts";

test("why there is no model stands as a sentence of its own", async () => {
  const embedder = { ...noEmbedder, status: () => ({ state: "missing", reason: "the model's directory is empty." }) as const };
  expect(await embedQuestion(callContext(), embedder, "port")).toEqual({
    lost: "Meaning was not searched, only words. The model's directory is empty.",
    isLoading: false,
  });
});
