import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { relevantRecipes } from "../../../src/domain/retrieval/recipes.ts";

const recipe = (id: string, text: string, cosine?: number) => ({ id, text, cosine });
const ids = (found: readonly { id: string }[]) => found.map(({ id }) => id);

describe("the recipes a question means", () => {
  test("by words: those that have at least half as many of them as the best", () => {
    const recipes = [
      recipe("a", "deploy api to production"),
      recipe("b", "rollback when production breaks"),
      recipe("c", "deploy the docs"),
      recipe("d", "water the plants"),
    ];
    expect(ids(relevantRecipes("how do I deploy the api to production", recipes, []))).toEqual(["a"]);
    expect(ids(relevantRecipes("production", recipes, []))).toEqual(["a", "b"]);
    expect(ids(relevantRecipes("deploy something", recipes, []))).toEqual(["a", "c"]);
    expect(relevantRecipes("bake a cake", recipes, [])).toEqual([]);
  });

  test("by meaning: nearer than anything unrelated, and at least halfway to the best", () => {
    const recipes = [recipe("a", "x", 0.89), recipe("b", "x", 0.83), recipe("c", "x", 0.8), recipe("d", "x")];
    expect(relevantRecipes("q", recipes, [0.75, 0.78])).toEqual([{ id: "a", likeness: 1 }]);
    expect(ids(relevantRecipes("q", recipes, [0.7]))).toEqual(["a", "b", "c"]);
    expect(relevantRecipes("q", recipes, [0.9])).toEqual([]);
    expect(relevantRecipes("q", recipes, [])).toEqual([]);
  });

  test("many recipes tell themselves what unrelated looks like", () => {
    const recipes = [0.85, 0.846, 0.82, 0.81, 0.81, 0.8, 0.8, 0.79].map((cosine, at) => recipe(String(at), "x", cosine));
    expect(ids(relevantRecipes("q", recipes, [0.74]))).toEqual(["0", "1"]);
    const alike = ["0", "1", "2", "3"].map((id) => recipe(id, "x", 0.8));
    expect(ids(relevantRecipes("q", alike, [0.74]))).toEqual(["0", "1", "2", "3"]);
  });

  test("likeness is between a half and one, best first, and the best is one", () => {
    const cosine = fc.double({ min: -1, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.array(cosine, { maxLength: 12 }), fc.array(cosine, { minLength: 1, maxLength: 8 }), (cosines, unrelated) => {
        const found = relevantRecipes(
          "q",
          cosines.map((each, at) => recipe(String(at), "x", each)),
          unrelated,
        );
        for (const [at, { likeness }] of found.entries()) {
          expect(likeness).toBeGreaterThanOrEqual(0.5);
          expect(likeness).toBeLessThanOrEqual(found[at - 1]?.likeness ?? 1);
        }
        if (found.length > 0) expect(found[0]?.likeness).toBe(1);
        expect(found.length > 0).toBe(Math.max(-2, ...cosines) > Math.max(...unrelated));
      }),
    );
  });
});
