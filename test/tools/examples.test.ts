/** What an error shows of a wanted shape: an example that the schema itself takes, for every list and object of every tool. */
import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { MemoryError } from "../../src/kernel/errors.ts";
import { toEnd } from "../../src/kernel/steps.ts";
import { catalogueOf } from "../../src/tools/registry.ts";
import { exampleOf, expectation, jsonSchema } from "../../src/tools/schema.ts";

/** Longest of them, bytes: an error is read by a model that pays for it. */
const LONGEST_EXAMPLE = 160;

const shaped = catalogueOf({ docs: true }).flatMap((tool) =>
  Object.entries(tool.actions).flatMap(([name, action]) =>
    Object.entries(action.input.shape).flatMap(([field, type]) => {
      const schema = jsonSchema(z.object({ [field]: type as z.ZodType })).properties?.[field];
      return schema?.type === "array" || schema?.type === "object" ? [{ tool, name, field, schema, type: type as z.ZodType }] : [];
    }),
  ),
);

describe("an example in an error", () => {
  test("there are some to look at", () => {
    expect(shaped.length).toBeGreaterThan(10);
    expect(shaped.map(({ tool, field }) => `${tool.name} ${field}`)).toContain("cuba_receta steps");
  });

  test.each(shaped.map((each) => [`${each.tool.name} ${each.name} ${each.field}`, each] as const))(
    "%s: is short, fits, and stands in the answer to a wrong value",
    (_, { tool, name, field, schema, type }) => {
      const example = JSON.stringify(exampleOf(schema));
      expect(example.length).toBeLessThanOrEqual(LONGEST_EXAMPLE);
      expect(type.safeParse(JSON.parse(example)).success).toBe(true);
      // Of another kind than everything that is wanted, beside what else the action needs.
      const given = Object.fromEntries(
        (jsonSchema(tool.actions[name]?.input ?? z.object({})).required ?? []).map((key) => [
          key,
          exampleOf(tool.inputSchema.properties[key] ?? {}),
        ]),
      );
      const selector = Object.keys(tool.actions).length > 1 || name !== "" ? { [selectorOf(tool)]: name } : {};
      let said = "";
      try {
        toEnd(tool.parse({ ...given, ...selector, [field]: 5 }));
      } catch (error) {
        said = error instanceof MemoryError ? error.message : String(error);
      }
      expect(said).toContain(`${field} must be `);
      expect(said).toContain(`, like ${example}; got the number 5. Nothing was written.`);
    },
  );

  const selectorOf = (tool: (typeof shaped)[number]["tool"]) =>
    Object.entries(tool.inputSchema.properties).find(([, { enum: names }]) => names?.join() === Object.keys(tool.actions).join())?.[0] ??
    "action";

  test("the steps of a recipe, as a client sends them wrong", () => {
    const recipe = shaped.find(({ field }) => field === "steps")?.tool;
    const said = (steps: unknown) => {
      try {
        if (recipe !== undefined) toEnd(recipe.parse({ action: "add", name: "deploy", steps }));
        return "";
      } catch (error) {
        return error instanceof MemoryError ? error.message : String(error);
      }
    };
    expect(said(["build it"])).toBe(
      'steps[0] must be an object with do, optionally run, expect, like {"do":"…"}; got the text "build it". Nothing was written.',
    );
    expect(said("build it")).toBe(
      'steps must be an array of 1 to 100 items, like [{"do":"…"}]; got the text "build it". Nothing was written.',
    );
    expect(said(undefined)).toContain('steps is required (an array of 1 to 100 items, like [{"do":"…"}]).');
  });

  test("what is listed once, elsewhere, is shown in full here and costs the listing nothing", () => {
    const ingest = shaped.find(({ tool, field }) => tool.name === "cuba_ingesta" && field === "items");
    expect(JSON.stringify(ingest?.schema.items)).toBe('{"type":"object"}');
    expect(expectation(ingest?.schema ?? {})).toBe('an array of 1 to 200 items, like [{"entity_name":"…","content":"…"}]');
  });

  test("each kind of value has one", () => {
    const all = z.object({
      text: z.string(),
      count: z.int().min(3),
      share: z.number().gt(0),
      yes: z.boolean(),
      kind: z.enum(["a", "b"]),
      at: z.string().meta({ format: "date-time" }),
      id: z.uuid(),
      inner: z.object({ list: z.array(z.string()), left: z.string().optional() }),
    });
    expect(exampleOf(jsonSchema(all))).toEqual({
      text: "…",
      count: 3,
      share: 1,
      yes: true,
      kind: "a",
      at: "2026-03-29T10:00:00+02:00",
      id: "00000000-0000-4000-8000-000000000000",
      inner: { list: ["…"] },
    });
    expect(exampleOf(jsonSchema(z.object({ one: z.int().optional(), two: z.string().optional() })))).toEqual({ one: 1 });
    expect(exampleOf(jsonSchema(z.record(z.string(), z.unknown())))).toEqual({ key: "…" });
    expect(exampleOf(jsonSchema(z.record(z.string(), z.int().min(0))))).toEqual({ key: 0 });
  });
});
