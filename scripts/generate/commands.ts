/** docs/commands.md and test/golden/help: the help of every command, word for word. */
import { commandHelp, overview } from "../../src/cli/help.ts";
import { commands } from "../../src/cli/registry.ts";
import { type GeneratedFile, markdownNote } from "./file.ts";

const block = (text: string) => ["```", text.trimEnd(), "```", ""];

export async function commandDocument(): Promise<GeneratedFile[]> {
  const shown = commands.filter((command) => command.internal !== true);
  const helps = await Promise.all(shown.map(async (command) => ({ name: command.name, help: await commandHelp(command) })));
  const sections = helps.map(({ name, help }) => [`## ${name}`, "", ...block(help)]);
  const content = [markdownNote, "# Commands", "", ...block(overview(commands)), ...sections.flat()].join("\n");
  return [
    { path: "docs/commands.md", content },
    { path: "test/golden/help/overview.txt", content: overview(commands) },
    ...helps.map(({ name, help }) => ({ path: `test/golden/help/${name}.txt`, content: help })),
  ];
}
