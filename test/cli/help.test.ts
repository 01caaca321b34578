import { expect, test } from "bun:test";
import { commandHelp } from "../../src/cli/help.ts";
import { commands } from "../../src/cli/registry.ts";

const helpOf = async (name: string) => {
  const found = commands.find((command) => command.name === name);
  if (found === undefined) throw new Error(`no command ${name}`);
  return await commandHelp(found);
};

test("words stand at the left, explanations in one column; a long word does not push the others away", async () => {
  expect((await helpOf("save")).split("\n").slice(4)).toEqual([
    "ARGUMENTS",
    "",
    "  ENTITY                what it is about (Required)",
    "  CONTENT               the memory; - reads it from standard input (Required)",
    "",
    "OPTIONS",
    "",
    "  -t, --type=<fact|decision|lesson|preference|context|tool_usage|error|solution>",
    "                        kind of memory (Default: fact)",
    "  -p, --project=<NAME>  project to save it in",
    "  --allow-secret        keep text that looks like a credential, in clear; else it is refused",
    "",
  ]);
});
