/** What deletes in one call deletes nothing for whoever asks for a plan. */
import { expect, test } from "bun:test";
import { MemoryError } from "../../src/kernel/errors.ts";
import { toEnd } from "../../src/kernel/steps.ts";
import { catalogueOf } from "../../src/tools/registry.ts";

const ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
const calls = [
  ["cuba_cronica", { action: "delete", observation_id: ID }],
  ["cuba_puente", { action: "delete", from_entity: "A", to_entity: "B" }],
  ["cuba_receta", { action: "delete", name: "deploy" }],
  ["cuba_centinela", { action: "delete", trigger_id: ID }],
  ["cuba_pizarra", { action: "clear" }],
] as const;

const parse = (name: string, args: Record<string, unknown>) => {
  const tool = catalogueOf({ docs: true }).find((each) => each.name === name);
  try {
    const call = tool === undefined ? undefined : toEnd(tool.parse(args));
    return call?.kind === "run" ? call.warnings : undefined;
  } catch (error) {
    return error instanceof MemoryError ? { code: error.code, field: error.field, message: error.message } : error;
  }
};

test.each(calls)("%s %j is called without confirm or with true, and refused with anything else", (name, args) => {
  expect(parse(name, args)).toEqual([]);
  expect(parse(name, { ...args, confirm: true })).toEqual([]);
  for (const confirm of [false, "true", "false", null, 1])
    expect([confirm, parse(name, { ...args, confirm })]).toEqual([
      confirm,
      {
        code: "invalid",
        field: "confirm",
        message: `${name} ${args.action} has no plan to show: it deletes in one call. Nothing was deleted, because confirm came and was not true. Look first at what is there, then call it without confirm, or with confirm: true.`,
      },
    ]);
});

test("every action that deletes takes confirm or is one of these", () => {
  const deleting = catalogueOf({ docs: true }).flatMap((tool) =>
    Object.entries(tool.actions).flatMap(([name, action]) =>
      ["delete", "clear", "prune"].includes(name) && !("confirm" in action.input.shape) ? [`${tool.name} ${name}`] : [],
    ),
  );
  expect(deleting.sort()).toEqual(calls.map(([name, args]) => `${name} ${args.action}`).sort());
});

test("where nothing is deleted confirm is an unknown argument as before", () => {
  expect(parse("cuba_cronica", { action: "list", entity_name: "A", confirm: false })).toEqual(["unknown argument 'confirm' was ignored"]);
});
