import { describe, expect, test } from "bun:test";
import { z } from "zod";
import { action, defineTool } from "../../src/tools/define.ts";
import { flag, int, listOf, text } from "../../src/tools/fields.ts";
import { listed, listing, publicForm } from "../../src/tools/profiles.ts";
import { tools } from "../../src/tools/registry.ts";
import type { JsonSchema } from "../../src/tools/schema.ts";

/** Keys of the schema dialect that every client we know of accepts. */
const dialect = new Set([
  "type",
  "description",
  "enum",
  "default",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "format",
  "items",
  "properties",
  "required",
]);

function faults(schema: JsonSchema, path: string, depth: number): string[] {
  const found = Object.keys(schema).flatMap((key) => (dialect.has(key) ? [] : [`${path}: ${key}`]));
  if (typeof schema.type !== "string") found.push(`${path}: no type`);
  if (depth > 5) found.push(`${path}: deeper than 5`);
  if (schema.format !== undefined && !["uuid", "date-time"].includes(schema.format)) found.push(`${path}: format ${schema.format}`);
  if (schema.enum?.some((value) => typeof value !== "string" || value === "")) found.push(`${path}: enum`);
  if (schema.type === "array" && schema.items === undefined) found.push(`${path}: no items`);
  if (schema.items !== undefined) found.push(...faults(schema.items, `${path}[]`, depth + 1));
  for (const [name, property] of Object.entries(schema.properties ?? {})) found.push(...faults(property, `${path}.${name}`, depth + 1));
  return found;
}

describe("the catalogue", () => {
  test("names each tool once, in a form that every client takes, also behind a plugin's prefix", () => {
    const names = tools.map((tool) => tool.name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) {
      expect(name).toMatch(/^cuba_[a-z_]+$/);
      expect(`mcp__plugin_memory-industry_memory-industry__${name}`.length).toBeLessThanOrEqual(64);
      expect("memory-industry".length + name.length).toBeLessThanOrEqual(60);
    }
  });

  test("ends with the meta tools in full and lean, and has none of them in the profiles between", () => {
    for (const profile of ["full", "lean", "typo", undefined]) {
      expect(
        listed(tools, profile)
          .map((tool) => tool.name)
          .slice(-2),
      ).toEqual(["cuba_tools", "cuba_call"]);
    }
    for (const profile of ["agent", "standard"]) expect(listed(tools, profile).some((tool) => tool.profile === "meta")).toBe(false);
    expect(listed(tools, "typo")).toEqual(listed(tools, "full"));
  });

  test("each profile lists what the specification names", () => {
    const names = (profile: string) => listed(tools, profile).map((tool) => tool.name.replace("cuba_", ""));
    const lean = "faro expediente decreto jornada cronica ingesta alarma remedio receta pizarra whoami artefacto contexto".split(" ");
    const agent = [...lean, "alma", "puente", "proyecto", "pre_compact"];
    const standard = [...agent, "eco", "reflexion", "hipotesis", "contradiccion", "centinela", "calibrar"];
    expect(names("lean").sort()).toEqual([...lean, "tools", "call"].sort());
    expect(names("AGENT").sort()).toEqual(agent.sort());
    // What is not there yet cannot be listed; nothing else may be missing or added.
    const there = standard.filter((name) => tools.some((tool) => tool.name === `cuba_${name}`));
    expect(names("standard").sort()).toEqual(there.sort());
    expect(standard.filter((name) => !there.includes(name)).every((name) => name === "eco")).toBe(true);
  });

  test("costs at most what was agreed, and lean at most 51 % of full", () => {
    const bytes = (profile: string) => Buffer.byteLength(JSON.stringify({ tools: listing(tools, profile) }));
    expect(bytes("full")).toBeLessThanOrEqual(34_000);
    expect(bytes("lean")).toBeLessThanOrEqual(17_000);
    expect(bytes("lean") / bytes("full")).toBeLessThanOrEqual(0.51);
  });

  test("lean says of each tool what full says, but for titles and for lengths that a refusal names", () => {
    const full = new Map(listing(tools, "full").map((tool) => [tool.name, tool]));
    for (const { name, ...lean } of listing(tools, " Lean ")) {
      const { title, ...whole } = full.get(name) ?? {};
      expect(title).toBeString();
      expect(JSON.stringify({ name, ...lean })).toBe(
        JSON.stringify({ name, ...whole }, (key, value: unknown) =>
          key === "maxItems" || (key === "maxLength" && value !== 10_000) ? undefined : value,
        ),
      );
    }
  });

  test("a listing leaves out what tells a caller nothing, and keeps what does", () => {
    const tool = defineTool({
      name: "cuba_sample",
      group: "maintenance",
      profile: "full",
      title: "Sample",
      describe: "sample",
      hints: { readOnly: true, destructive: false, openWorld: false },
      only: action({
        input: z.object({
          note: text(0, 2_000, "a note").default(""),
          name: text(1, 200, "a name"),
          list: listOf(text(0, 5_000, "one"), 0, 50, "a list").default([]),
          count: int(0, 1_000_000, "how many").default(3),
          loud: flag("loud").default(false),
        }),
        run: async () => ({}),
      }),
    });
    expect(publicForm(tool).inputSchema).toEqual({
      type: "object",
      properties: {
        note: { type: "string", description: "a note" },
        name: { type: "string", description: "a name", maxLength: 200 },
        list: { type: "array", items: { type: "string" }, maxItems: 50, description: "a list" },
        count: { type: "integer", minimum: 0, description: "how many", default: 3 },
        loud: { type: "boolean", description: "loud" },
      },
      required: ["name"],
    });
  });

  for (const tool of tools) {
    test(`${tool.name} publishes a schema of the common dialect with a description for each parameter`, () => {
      expect(tool.inputSchema.type).toBe("object");
      expect(faults(tool.inputSchema, tool.name, 0)).toEqual([]);
      for (const [name, property] of Object.entries(tool.inputSchema.properties))
        expect([name, property.description ?? ""]).not.toEqual([name, ""]);
    });
    test(`${tool.name} declares and describes the switch of each gate it has`, () => {
      const gated = Object.values(tool.actions).some((action) => action.secretGate.length > 0 && "allow_secret" in action.input.shape);
      if (gated) expect(tool.inputSchema.properties.allow_secret?.description).toContain("verbatim, in clear");
    });
  }
});
