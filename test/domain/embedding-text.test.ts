import { expect, test } from "bun:test";
import { contextualText, embeddingLabel } from "../../src/domain/embedding-text.ts";

test("the embedded text carries the entity's name and type in front of the content", () => {
  expect(contextualText("Postgres", "tool", "needs a restart")).toBe("Postgres (tool): needs a restart");
});

test("the stored label names the model and the form of the text", () => {
  expect(embeddingLabel("multilingual-e5-small")).toBe("multilingual-e5-small/name-type-1");
});
